"""Writes the models of a graph: classes for those that have fields, then names for all others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, cast

from stateous.compiler.contract.fields import Field, fields_of
from stateous.compiler.contract.kinds import Kind, Row
from stateous.compiler.contract.literals import docstring
from stateous.compiler.contract.names import model_names
from stateous.compiler.contract.pydantic_models import ATTRIBUTES, written_model
from stateous.compiler.contract.pydantic_types import PydanticTypes
from stateous.compiler.contract.reading import Reader
from stateous.compiler.contract.spelling import ANY, Spelling
from stateous.compiler.contract.struct_types import StructTypes
from stateous.compiler.contract.structs import written_struct
from stateous.compiler.contract.tags import Tag, tags_of
from stateous.model.graph import Graph
from stateous.model.schemas import SchemaError

Schema = Mapping[str, Any]
Library = Literal["msgspec", "pydantic"]

STRUCTS: Final[Library] = "msgspec"

_UNNAMED: Final = re.compile(r'["\\\x00-\x1f]')
"""What no field of a Struct has in its name on the wire."""


def written_models(graph: Graph, library: Library) -> list[str]:
    """The text of each class and each name. Raises CannotName."""
    return list(_Writing(graph, library).texts())


class _Writing:
    def __init__(self, graph: Graph, library: Library) -> None:
        self._graph = graph
        self._schemas = cast("Mapping[str, Schema]", graph.document["schemas"])
        self._names = model_names(graph)
        self._library = library
        self._classes = sorted(
            name for name, schema in self._schemas.items() if _is_class(schema, library)
        )
        self._reader = Reader(self._schemas, frozenset(self._classes))
        self._kinds = {name: self._kinds_of(name) for name in self._classes}
        for name in sorted(self._schemas):
            self._reader.model(name)

    def texts(self) -> Iterator[str]:
        kinds = [kind for each in self._kinds.values() for kind in each.values()]
        kinds += self._reader.aliases.values()
        tags = tags_of(kinds, self._schemas) if self._library == STRUCTS else {}
        types = (
            StructTypes(self._names, tags)
            if self._library == STRUCTS
            else PydanticTypes(self._names)
        )
        for name in self._classes:
            yield self._class(name, types, tags.get(name))
        for name, kind in self._reader.aliases.items():
            yield self._alias(name, kind, types)

    def _kinds_of(self, model: str) -> dict[str, Kind]:
        properties = cast("Mapping[str, object]", self._schemas[model]["properties"])
        return {key: self._reader.kind(schema) for key, schema in properties.items()}

    def _class(self, model: str, types: Spelling, tag: Tag | None) -> str:
        schema = self._schemas[model]
        kinds = {
            key: kind for key, kind in self._kinds[model].items() if tag is None or key != tag.key
        }
        taken = ATTRIBUTES if self._library != STRUCTS else ()
        fields = fields_of(schema, kinds, spelling=types, fits=self._fits, taken=taken)
        name, description = self._names[model], _description(schema)
        others = schema.get("additionalProperties")
        closed = others is False
        if self._library == STRUCTS:
            return written_struct(name, fields, description=description, closed=closed, tag=tag)
        kept = None if others is None or closed else types.of(self._reader.kind(others))
        return written_model(name, fields, description=description, closed=closed, others=kept)

    def _alias(self, model: str, kind: Kind, types: Spelling) -> str:
        if isinstance(kind, Row) and kind.least < len(kind.items):
            return self._row(model, kind, types)
        return f"{self._names[model]} = {types.of(kind)}"

    def _row(self, model: str, row: Row, types: Spelling) -> str:
        """A class for values in a row: those at the end have the defaults that the schema says."""
        schema = self._schemas[model]
        keys = [f"item_{number}" for number in range(1, len(row.items) + 1)]
        fields = fields_of(
            {"properties": dict(zip(keys, schema["prefixItems"], strict=True))},
            dict(zip(keys, row.items, strict=True)),
            spelling=types,
            fits=self._fits,
        )
        lines = [f"class {self._names[model]}(typing.NamedTuple):"]
        lines += [docstring(text)] if (text := _description(schema)) else []
        lines += [f"{field.name}: {field.type}" for field in fields[: row.least]]
        lines += [_with_default(field) for field in fields[row.least :]]
        return "\n    ".join(lines)

    def _fits(self, model: str, value: Any) -> bool:
        try:
            return self._graph.models.problem(model, value) is None
        except SchemaError:
            return False


def _is_class(schema: object, library: Library) -> bool:
    """Whether a model is an object with fields, and the library can have a class for it.

    A Struct keeps no other keys than its own, and some characters are in none of them.
    """
    if not isinstance(schema, Mapping):
        return False
    schema = cast("Schema", schema)
    if (
        not isinstance(schema.get("properties"), Mapping)
        or schema.get("type", "object") != "object"
    ):
        return False
    if "patternProperties" in schema:
        return False
    named = not any(map(_UNNAMED.search, schema["properties"]))
    return library != STRUCTS or (named and schema.get("additionalProperties") in (None, False))


def _with_default(field: Field) -> str:
    """A field of a row. Python wants a default there, so one that is of another kind makes it anything."""
    if field.default is None:
        return f"{field.name}: {ANY} = None"
    return f"{field.name}: {field.type} = {field.default.written}"


def _description(schema: object) -> str:
    found = cast("Schema", schema).get("description") if isinstance(schema, Mapping) else None
    return found.strip() if isinstance(found, str) else ""
