"""The JSON Schema of what may be answered for a state: one of its events, with the payload of that event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast
from urllib.parse import unquote

from stateous.model.schemas import REFERENCE, reference_to

Schema = Mapping[str, Any]

HERE: Final = "#/$defs/"

_DATA: Final = frozenset({"const", "enum", "default", "examples"})
"""Keywords that hold data, and no schemas."""

_BY_NAME: Final = frozenset({"properties", "patternProperties", "$defs", "dependentSchemas"})
"""Keywords that hold schemas by names."""

_PLAIN: Final = frozenset(
    {"properties", "items", "prefixItems", "additionalProperties", "anyOf", "$ref"}
)
"""Keywords under which a narrower schema makes the whole narrower: what is closed there takes nothing new."""

_SAYS_MORE: Final = frozenset(
    {
        *("additionalProperties", "patternProperties", "unevaluatedProperties", "dependentSchemas"),
        *("anyOf", "oneOf", "allOf", "$ref", "if"),
    }
)
"""Keywords beside which `properties` are not all that is known of an object's keys."""


def outcome_schema(
    payloads: Mapping[str, str | None], schemas: Mapping[str, Any], *, within: str | None = None
) -> dict[str, Any]:
    """The schema of `{"event": …, "payload": …}` for events and the models of their payloads, at least one.

    It refers to nothing outside. Objects that say nothing of unknown keys have none, so that it is a part of
    what the control plane takes. With `within`, the answer is an object with this one key.
    """
    forms = [_form(event, model) for event, model in payloads.items()]
    answer = forms[0] if len(forms) == 1 else {"type": "object", "anyOf": forms}
    if within is not None:
        inner = forms[0] if len(forms) == 1 else {"anyOf": forms}
        answer = _closed({within: inner})
    known = reached_from((model for model in payloads.values() if model is not None), schemas)
    if not known:
        return answer
    open_ones = _open_models(known)
    models = {
        name: _rewritten(known[name], closing=name not in open_ones) for name in sorted(known)
    }
    return {**answer, "$defs": models}


def reached_from(models: Iterable[str], schemas: Mapping[str, Any]) -> dict[str, Any]:
    """The schemas of models, and of all that they refer to."""
    found: dict[str, Any] = {}
    left = list(models)
    while left:
        name = left.pop()
        if name not in found and name in schemas:
            found[name] = schemas[name]
            named = (_model(reference) for reference, _ in _references(schemas[name]))
            left += [model for model in named if model is not None]
    return found


def _form(event: str, model: str | None) -> dict[str, Any]:
    properties: dict[str, Any] = {"event": {"type": "string", "const": event}}
    if model is not None:
        properties["payload"] = {"$ref": _moved(reference_to(model))}
    return _closed(properties)


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _rewritten(schema: Any, *, closing: bool) -> Any:
    """The schema as it is within the answer's. `closing`: objects that say nothing of unknown keys get none."""
    if not isinstance(schema, Mapping):
        return schema
    schema = cast("Schema", schema)
    written: dict[str, Any] = {}
    for keyword, value in schema.items():
        inner = closing and _is_plain(schema, keyword)
        match keyword, value:
            case "$ref", str():
                written[keyword] = _moved(value)
            case "discriminator", _:
                pass  # a remark that refers to the models where they are in the graph
            case "oneOf", list() if "discriminator" in schema:
                written["anyOf"] = _each(
                    cast("list[Any]", value), closing=inner
                )  # no two of them ever fit
            case _, dict() if keyword in _BY_NAME:
                named = cast("Mapping[str, Any]", value).items()
                written[keyword] = {key: _rewritten(each, closing=inner) for key, each in named}
            case _, dict() if keyword not in _DATA:
                written[keyword] = _rewritten(value, closing=inner)
            case _, list() if keyword not in _DATA:
                written[keyword] = _each(cast("list[Any]", value), closing=inner)
            case _:
                written[keyword] = value
    if closing and isinstance(schema.get("properties"), Mapping) and not _SAYS_MORE & schema.keys():
        written["additionalProperties"] = False
    return written


def _each(schemas: list[Any], *, closing: bool) -> list[Any]:
    return [_rewritten(schema, closing=closing) for schema in schemas]


def _is_plain(schema: Schema, keyword: str) -> bool:
    """Whether what stands under the keyword may be closed."""
    if keyword == "oneOf":
        return "discriminator" in schema and "properties" not in schema
    beside = keyword in {"anyOf", "$ref"} and "properties" in schema
    return keyword in _PLAIN and not beside


def _open_models(schemas: Mapping[str, Any]) -> frozenset[str]:
    """The models that cannot be closed, for something refers to them where this would mean another thing."""
    found: set[str] = set()
    while True:
        new = {
            model
            for name, schema in schemas.items()
            for reference, closing in _references(schema, closing=name not in found)
            if not closing and (model := _model(reference)) is not None
        }
        if new <= found:
            return frozenset(found)
        found |= new


def _references(schema: Any, *, closing: bool = True) -> Iterator[tuple[str, bool]]:
    """Each reference in a schema, and whether it stands where a model may be closed."""
    if not isinstance(schema, Mapping):
        return
    schema = cast("Schema", schema)
    for keyword, value in schema.items():
        inner = closing and _is_plain(schema, keyword)
        match value:
            case str() if keyword == "$ref":
                yield value, inner
            case dict() if keyword in _BY_NAME:
                for each in cast("Mapping[str, Any]", value).values():
                    yield from _references(each, closing=inner)
            case dict() if keyword not in _DATA:
                yield from _references(value, closing=inner)
            case list() if keyword not in _DATA:
                for each in cast("list[Any]", value):
                    yield from _references(each, closing=inner)
            case _:
                pass


def _model(reference: str) -> str | None:
    """The model that a reference leads to, or into."""
    if not reference.startswith(REFERENCE):
        return None
    name = reference.removeprefix(REFERENCE).partition("/")[0]
    return unquote(name).replace("~1", "/").replace("~0", "~")


def _moved(reference: str) -> str:
    return (
        HERE + reference.removeprefix(REFERENCE) if reference.startswith(REFERENCE) else reference
    )
