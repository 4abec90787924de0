"""From the JSON Schemas of a graph to the kinds of values that contract.py speaks of.

A kind may allow more than its schema, where Python has no narrower type: the control plane checks it all the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, cast

from stateous.compiler.contract.kinds import (
    ANYTHING,
    TEXT,
    Alias,
    Anything,
    Either,
    Kind,
    Listing,
    Model,
    Name,
    Options,
    Row,
    Scalar,
    Table,
    either,
    seen_through,
)
from stateous.compiler.contract.rules import length_rules, number_rules, text_rules
from stateous.model.schemas import REFERENCE, reference_to

Schema = Mapping[str, Any]

_FORMATS: Final[Mapping[str, Name]] = {
    "date-time": "date-time",
    "date": "date",
    "time": "time",
    "duration": "duration",
    "decimal": "decimal",
    "base64": "base64",
    "binary": "binary",
    "uuid": "uuid",
    **{f"uuid{version}": "uuid" for version in range(1, 9)},
}


class Reader:
    """Reads schemas as kinds. Models in `classes` are classes of the contract, all others are aliases.

    `aliases` gathers what was read of them: each stands behind those that it is made of.
    """

    def __init__(self, schemas: Mapping[str, object], classes: Collection[str]) -> None:
        self.aliases: dict[str, Kind] = {}
        self._schemas = schemas
        self._classes = classes
        self._reading: set[str] = set()
        self._names = {REFERENCE + name: name for name in schemas}
        self._names |= {reference_to(name): name for name in schemas}

    def model(self, name: str) -> Kind:
        """What a model is. One that is met within itself, and is no class, is anything there."""
        if name in self._classes:
            return Model(name)
        if name not in self.aliases:
            if name in self._reading:
                return ANYTHING
            self._reading.add(name)
            self.aliases[name] = self._named_row(name) or self.kind(self._schemas[name])
            self._reading.discard(name)
        kind = self.aliases[name]
        # These are shorter than any name for them, and Python takes no name for None.
        return (
            kind if isinstance(kind, Anything | Scalar) and not _ruled(kind) else Alias(name, kind)
        )

    def kind(self, schema: object) -> Kind:
        """What a value of this schema can be."""
        if not isinstance(schema, Mapping):
            return ANYTHING
        schema = cast("Schema", schema)
        if isinstance(reference := schema.get("$ref"), str):
            name = self._names.get(reference)
            return ANYTHING if name is None else self.model(name)
        if "const" in schema:
            return _options([schema["const"]])
        if isinstance(options := schema.get("enum"), list):
            return _options(cast("list[object]", options))
        if (kinds := schema.get("type")) is not None:
            each = cast("list[object]", kinds) if isinstance(kinds, list) else [kinds]
            return either([self._typed(schema, kind) for kind in each])
        for union in ("anyOf", "oneOf"):
            if isinstance(members := schema.get(union), list):
                return either([self.kind(member) for member in cast("list[object]", members)])
        parts = schema.get("allOf")
        alone = isinstance(parts, list) and len(cast("list[object]", parts)) == 1
        return self.kind(cast("list[object]", parts)[0]) if alone else ANYTHING

    def _typed(self, schema: Schema, kind: object) -> Kind:
        match kind:
            case "null":
                return Scalar("None")
            case "boolean":
                return Scalar("bool")
            case "integer":
                return Scalar("int", number_rules(schema, whole=True))
            case "number":
                return Scalar("float", number_rules(schema, whole=False))
            case "string":
                return _text(schema)
            case "array":
                return self._array(schema)
            case "object":
                return self._table(schema)
            case _:
                return ANYTHING

    def _array(self, schema: Schema) -> Kind:
        row = self._row(schema)
        if row is not None and row.least == len(row.items):
            return row
        items = ANYTHING if "prefixItems" in schema else self.kind(schema.get("items"))
        unique = schema.get("uniqueItems") is True and _has_hash(items)
        return Listing(items, unique, length_rules(schema, "minItems", "maxItems"))

    def _row(self, schema: Schema) -> Row | None:
        first = schema.get("prefixItems")
        if not isinstance(first, list) or isinstance(schema.get("items"), Mapping):
            return None
        items = tuple(self.kind(item) for item in cast("list[object]", first))
        least = schema.get("minItems", 0)
        return Row(items, least if least in range(len(items)) else len(items))

    def _named_row(self, name: str) -> Kind | None:
        """A row some of whose values may be missing has a class, which knows their defaults."""
        schema = self._schemas[name]
        if not isinstance(schema, Mapping) or cast("Schema", schema).get("type") != "array":
            return None
        row = self._row(cast("Schema", schema))
        if row is None or row.least == len(row.items):
            return None
        last = cast("list[object]", schema["prefixItems"])[row.least :]
        known = all(isinstance(item, Mapping) and "default" in item for item in last)
        return row if known else None

    def _table(self, schema: Schema) -> Kind:
        rules = length_rules(schema, "minProperties", "maxProperties")
        if "properties" in schema:
            return Table(TEXT, ANYTHING, rules)
        patterns, others = schema.get("patternProperties"), schema.get("additionalProperties")
        if isinstance(patterns, Mapping):
            found = list(cast("Mapping[str, object]", patterns).items())
            if len(found) == 1 and others in (None, False):
                keys = Scalar("str", text_rules({"pattern": found[0][0]}))
                return Table(keys, self.kind(found[0][1]), rules)
            return Table(TEXT, ANYTHING, rules)
        return Table(self._keys(schema.get("propertyNames")), self.kind(others), rules)

    def _keys(self, schema: object) -> Kind:
        if not isinstance(schema, Mapping):
            return TEXT
        schema = cast("Schema", schema)
        named = "$ref" in schema or "enum" in schema or "const" in schema
        keys = self.kind(schema if named else {**schema, "type": "string"})
        match seen_through(keys):
            case Options(values) if all(isinstance(value, str) for value in values):
                return keys
            case Scalar("str" | "uuid" | "date"):
                return keys
            case _:
                return TEXT


def _text(schema: Schema) -> Scalar:
    if schema.get("contentEncoding") == "base64":
        return Scalar("base64")
    if isinstance(spelled := schema.get("format"), str) and spelled in _FORMATS:
        return Scalar(_FORMATS[spelled])
    return Scalar("str", text_rules(schema))


def _options(values: list[object]) -> Kind:
    """Values that Python has no literals for are of their kind."""
    literal = tuple(value for value in values if isinstance(value, str | int))
    kinds: list[Kind] = [Options(literal)] if literal else []
    for value in values:
        match value:
            case None:
                kinds.append(Scalar("None"))
            case float():
                kinds.append(Scalar("float"))
            case list():
                kinds.append(Listing(ANYTHING))
            case dict():
                kinds.append(Table(TEXT, ANYTHING))
            case _:
                pass
    return either(kinds)


def _ruled(kind: Kind) -> bool:
    return isinstance(kind, Scalar) and bool(kind.rules)


def _has_hash(kind: Kind) -> bool:
    """Whether Python can keep values of the kind in a set."""
    match seen_through(kind):
        case Scalar() | Options():
            return True
        case Either(members):
            return all(map(_has_hash, members))
        case _:
            return False
