"""From JSON Schema to the Python types of contract.py."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, cast

from stateous.model.schemas import REFERENCE

Schema = Mapping[str, Any]

ANY: Final = "typing.Any"
_LITERAL: Final = "typing.Literal["

_SIMPLE: Final = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
}
_DEEPEST: Final = 20


class Types:
    """Says the Python type of a schema. A model with fields is its class; all else is written out.

    msgspec tells the members of a union apart by their kind of JSON, so a union with two of one kind,
    such as two models, is `typing.Any`: the control plane checks it all the same.
    """

    def __init__(self, schemas: Mapping[str, Schema], classes: Mapping[str, str]) -> None:
        self._schemas = schemas
        self._classes = classes

    def of(self, schema: object) -> str:
        """The type of a schema, as it is written in an annotation."""
        return self._written(schema, 0)

    def _written(self, schema: object, depth: int) -> str:
        parts = self._parts(schema, depth)
        kinds = [kind for part in parts for kind in _kinds(part)]
        alike = len(set(kinds)) < len(kinds)
        return ANY if not parts or ANY in parts or alike else " | ".join(parts)

    def _parts(self, schema: object, depth: int) -> list[str]:
        """The members of the union that a schema is; one for most."""
        if not isinstance(schema, Mapping) or depth > _DEEPEST:
            return [ANY]
        schema = cast("Schema", schema)
        if isinstance(reference := schema.get("$ref"), str):
            name = reference.removeprefix(REFERENCE)
            known = self._classes.get(name)
            return [known] if known else self._parts(self._schemas.get(name), depth + 1)
        if "const" in schema:
            return _literal([schema["const"]])
        if isinstance(options := schema.get("enum"), list):
            return _literal(cast("list[Any]", options))
        for union in ("anyOf", "oneOf", "allOf"):
            if isinstance(given := schema.get(union), list):
                members = cast("list[object]", given)
                if union == "allOf" and len(members) != 1:
                    return [ANY]
                found = [part for member in members for part in self._parts(member, depth + 1)]
                return list(dict.fromkeys(found))
        return self._typed(schema, depth)

    def _typed(self, schema: Schema, depth: int) -> list[str]:
        kinds = schema.get("type")
        if isinstance(kinds, list):
            each = [
                self._typed({**schema, "type": kind}, depth) for kind in cast("list[object]", kinds)
            ]
            return [part for parts in each for part in parts]
        match kinds:
            case "array":
                items = (
                    ANY
                    if "prefixItems" in schema
                    else self._written(schema.get("items"), depth + 1)
                )
                return [f"list[{items}]"]
            case "object":
                values = schema.get("additionalProperties")
                value = ANY if values is True else self._written(values, depth + 1)
                return [f"dict[str, {value}]"]
            case str() if kinds in _SIMPLE:
                return [_SIMPLE[kinds]]
            case _:
                return [ANY]


def _kinds(part: str) -> list[str]:
    """The kinds of JSON that a written type takes, as far as msgspec must tell them apart."""
    if part.startswith(_LITERAL):
        return ["str"] if part[len(_LITERAL)] in "'\"" else ["int"]
    if part in _SIMPLE.values():
        return [part]
    return ["array"] if part.startswith("list[") else ["object"]


def _literal(options: list[Any]) -> list[str]:
    """`typing.Literal` of strings, or of whole numbers: msgspec takes no others, and not both."""
    rest = [option for option in options if option is not None]
    nothing = ["None"] if len(rest) < len(options) else []
    if not rest:
        return nothing or [ANY]
    if {type(option) for option in rest} not in ({str}, {int}):
        return [ANY]
    return [f"{_LITERAL}{', '.join(map(written_value, rest))}]", *nothing]


def written_value(value: object) -> str:
    """A decoded JSON value as Python writes it, in ASCII and with double quotes where that is plain."""
    match value:
        case str():
            plain = ascii(value)
            return (
                f'"{plain[1:-1]}"'
                if plain[0] == "'" and '"' not in plain and "\\'" not in plain
                else plain
            )
        case list():
            return f"[{', '.join(written_value(item) for item in cast('list[object]', value))}]"
        case dict():
            items = cast("dict[str, object]", value).items()
            return (
                "{"
                + ", ".join(f"{written_value(key)}: {written_value(item)}" for key, item in items)
                + "}"
            )
        case float() if not math.isfinite(value):
            return "None"
        case _:
            return repr(value)
