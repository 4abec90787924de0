"""The ASGI application: every route, and what becomes of what no route takes."""

from __future__ import annotations

from importlib.metadata import version

from litestar import Litestar, MediaType, Response
from litestar.datastructures import State
from litestar.exceptions import ClientException, MethodNotAllowedException, NotFoundException
from litestar.openapi import OpenAPIConfig
from litestar.types import ASGIApp

from stateous.api import about, flows, items, shapes, tasks, testing, tokens
from stateous.api.document import OpenAPIDocument
from stateous.api.gate import Gate, no_such_path
from stateous.api.plane import ManualTime, Plane
from stateous.api.refusals import Asked, log_unexpected, refused
from stateous.model.refusals import BadRequest, MethodNotAllowed, Refusal, Unexpected


def build_app(plane: Plane, *, time: ManualTime | None = None) -> ASGIApp:
    """The HTTP API of this control plane; it neither starts nor stops it.

    Only with the `time` of a manual clock are there routes that move it.
    """
    for_tests = testing.ROUTES if time is not None else ()
    told = shapes.SHAPES if time is None else (*shapes.SHAPES, *shapes.FOR_TESTS)
    return Gate(
        Litestar(
            [
                *tokens.ROUTES,
                *tasks.ROUTES,
                *flows.ROUTES,
                *items.ROUTES,
                *about.ROUTES,
                *for_tests,
            ],
            state=State({"plane": plane, "time": time}),
            exception_handlers={Exception: _not_routed},
            logging_config=None,
            openapi_config=OpenAPIConfig(
                title="Stateous",
                version=version("stateous"),
                description=_ABOUT,
                path="/openapi.json",
                render_plugins=[OpenAPIDocument(told)],
            ),
        )
    )


_ABOUT = (
    "Runs a process as a graph of states and keeps every run of it, a token, durable. A refusal has one "
    "sentence for people and a stable code. Another method on a path below is 405 `method_not_allowed`, "
    "another path 404 `not_found`; HEAD is answered wherever GET is."
)


def _not_routed(request: Asked, fault: Exception) -> Response[bytes]:
    """The answer to a request that reached none of our handlers: Litestar raised instead."""
    refusal, headers = _refusal_for(request, fault)
    answer = refused(refusal)
    return Response(
        answer.body, status_code=answer.status, headers=headers, media_type=MediaType.JSON
    )


def _refusal_for(request: Asked, fault: Exception) -> tuple[Refusal, dict[str, str]]:
    path = request.scope["path"]
    match fault:
        case MethodNotAllowedException():
            if _names_no_task(path):
                return no_such_path(path), {}
            allowed = (fault.headers or {}).get("allow", "").split(", ")
            return MethodNotAllowed("this path does not take this method"), {
                "allow": ", ".join(sorted(set(allowed) - {"OPTIONS", ""}))
            }
        case NotFoundException():
            return no_such_path(path), {}
        case ClientException():
            return BadRequest(f"the request cannot be read: {fault.detail}"), {}
        case _:
            log_unexpected(request, fault)
            return Unexpected("a handler was not reached"), {}


def _names_no_task(path: str) -> bool:
    """Whether the path has a route's form, but something else than digits where a task's number stands."""
    parts = path.split("/")
    return (
        len(parts) == 4 and parts[1] == "tasks" and not (parts[2].isascii() and parts[2].isdigit())
    )
