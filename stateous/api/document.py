"""How an operation is described: helpers that turn our words into Litestar's OpenAPI objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import msgspec
from litestar import Request
from litestar.openapi.plugins import OpenAPIRenderPlugin
from litestar.openapi.spec import (
    OpenAPIHeader,
    OpenAPIMediaType,
    OpenAPIResponse,
    OpenAPIType,
    Operation,
    Parameter,
    Reference,
    RequestBody,
    Schema,
)

from stateous.api.refusals import RETRY_AFTER, STATUS
from stateous.api.shapes import components, reference
from stateous.model.refusals import BadRequest, Refusal, Unexpected

Shape = type[msgspec.Struct]

ANYWHERE: Final[tuple[type[Refusal], ...]] = (BadRequest, Unexpected)
"""Any request may be malformed as HTTP, and any may meet a bug."""


@dataclass(frozen=True)
class Told:
    """One good answer: what it means, and its body if it has one."""

    meaning: str
    body: Schema | Reference | None = None


def one(shape: Shape) -> Reference:
    return Reference(ref=reference(shape))


def one_of(*shapes: Shape) -> Schema:
    return Schema(one_of=[one(shape) for shape in shapes])


def many(shape: Shape) -> Schema:
    return Schema(type=OpenAPIType.ARRAY, items=one(shape))


def parameter(where: str, name: str, meaning: str, schema: Schema) -> Parameter:
    return Parameter(name=name, param_in=where, description=meaning, schema=schema)


def in_path(name: str, meaning: str, schema: Schema, *, example: str | int) -> Parameter:
    return Parameter(
        name=name,
        param_in="path",
        description=meaning,
        schema=schema,
        required=True,
        example=example,
    )


def described(
    name: str,
    summary: str,
    *,
    answers: Mapping[int, Told],
    refusals: Sequence[type[Refusal]],
    body: Shape | None = None,
    body_required: bool = True,
    parameters: Sequence[Parameter] = (),
) -> type[Operation]:
    """The operation class that Litestar fills for a route; what is said here stands instead."""

    @dataclass
    class Described(Operation):
        def __post_init__(self) -> None:
            self.operation_id = name
            self.summary = summary
            self.parameters = list(parameters) or None
            self.request_body = None if body is None else _request(body, required=body_required)
            self.responses = {
                **{str(status): _answer(told) for status, told in answers.items()},
                **_refused((*refusals, *ANYWHERE)),
            }

    return Described


class OpenAPIDocument(OpenAPIRenderPlugin):
    """Serves the document that Litestar made of the operations, with the shapes they refer to."""

    def __init__(self, shapes: Sequence[Shape]) -> None:
        super().__init__(path="/", media_type="application/json")  # pyright: ignore[reportArgumentType]
        self._shapes = shapes
        self._rendered: bytes | None = None

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:  # noqa: ARG002 - Litestar names it
        if self._rendered is None:
            document = {**openapi_schema, "components": {"schemas": components(self._shapes)}}
            self._rendered = msgspec.json.encode(document)
        return self._rendered


def _request(body: Shape, *, required: bool) -> RequestBody:
    return RequestBody(
        content={"application/json": OpenAPIMediaType(schema=one(body))}, required=required
    )


def _answer(told: Told) -> OpenAPIResponse:
    if told.body is None:
        return OpenAPIResponse(description=told.meaning)
    return OpenAPIResponse(
        description=told.meaning, content={"application/json": OpenAPIMediaType(schema=told.body)}
    )


def _refused(refusals: Iterable[type[Refusal]]) -> dict[str, OpenAPIResponse]:
    """The refusals by their status: the answer has one of their codes."""
    by_status: dict[int, list[type[Refusal]]] = {}
    for refusal in refusals:
        by_status.setdefault(STATUS[refusal], []).append(refusal)
    return {str(status): _refusal(status, kinds) for status, kinds in sorted(by_status.items())}


def _refusal(status: int, kinds: Sequence[type[Refusal]]) -> OpenAPIResponse:
    codes = sorted({kind.code for kind in kinds})
    waits = [RETRY_AFTER[kind] for kind in kinds if kind in RETRY_AFTER]
    schema = Schema(
        type=OpenAPIType.OBJECT,
        required=["error", "code"],
        properties={
            "error": Schema(type=OpenAPIType.STRING, description="One sentence for a person."),
            "code": Schema(type=OpenAPIType.STRING, enum=codes),
        },
    )
    meanings = dict.fromkeys(f"`{kind.code}`: {_meaning(kind)}" for kind in kinds)
    return OpenAPIResponse(
        description=f"{HTTPStatus(status).phrase}. " + " ".join(meanings),
        content={"application/json": OpenAPIMediaType(schema=schema)},
        headers={"Retry-After": _RETRY_AFTER} if waits else None,
    )


def _meaning(kind: type[Refusal]) -> str:
    return (kind.__doc__ or "").split("\n", maxsplit=1)[0]


_RETRY_AFTER: Final = OpenAPIHeader(
    description="Seconds, with `database_busy`.", schema=Schema(type=OpenAPIType.INTEGER)
)
