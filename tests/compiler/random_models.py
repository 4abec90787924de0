"""Random models as JSON Schema, of the words that msgspec and pydantic use, and random JSON that fits them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any, cast

from hypothesis import strategies as st

Json = Any
Schema = dict[str, Any]

NAMES = ("A", "B", "C", "list", "events")
KEYS = st.sampled_from(
    (
        "a",
        "b",
        "class",
        "int",
        "json",
        "model_dump",
        "a-b",
        "a_b",
        "_x",
        "1",
        "datetime",
        "größe",
        "it's",
    )
)
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)

_DEEPEST = 4
_NESTED = st.just(cast("Json", {"a": [1, {}]}))

_PATTERNS = {"^a+$": ("a", "aa"), "[0-9]": ("7", "x1y"), "^(?=.*b)[a-z]*$": ("b", "abc")}

_FORMATS: dict[str, st.SearchStrategy[str]] = {
    "date-time": st.datetimes(timezones=st.just(UTC)).map(lambda at: at.isoformat().replace("+00:00", "Z")),
    "date": st.dates().map(lambda day: day.isoformat()),
    "time": st.times().map(lambda hour: hour.isoformat()),
    "duration": st.integers(1, 10**6).map(lambda days: f"P{days}D"),
    "uuid": st.uuids().map(str),
    "decimal": st.decimals(allow_nan=False, allow_infinity=False, places=2).map(str),
}  # fmt: skip


def scalars() -> st.SearchStrategy[Schema]:
    whole = st.tuples(st.integers(-5, 5), st.integers(0, 9), st.sampled_from((None, 2, 3)))
    lengths = st.tuples(st.integers(0, 2), st.integers(2, 6))
    return st.one_of(
        st.sampled_from([{"type": kind} for kind in ("string", "integer", "number", "boolean", "null")]),
        st.sampled_from([{"type": "string", "format": each} for each in _FORMATS]),
        st.sampled_from([{"type": "string", "pattern": each} for each in _PATTERNS]),
        whole.map(
            lambda it: {"type": "integer", "minimum": it[0], "exclusiveMaximum": it[0] + it[1] + 6}
            | ({"multipleOf": it[2]} if it[2] else {})
        ),
        whole.map(lambda it: {"type": "number", "exclusiveMinimum": it[0], "maximum": it[0] + it[1] + 1}),
        lengths.map(lambda it: {"type": "string", "minLength": it[0], "maxLength": it[1]}),
        st.just({"type": "string", "contentEncoding": "base64"}),
        st.just({}),
        st.lists(TEXTS, min_size=1, max_size=3, unique=True).map(lambda some: {"enum": some}),
        st.lists(st.integers(), min_size=1, max_size=3, unique=True).map(lambda some: {"enum": some}),
        st.sampled_from([{"const": "x"}, {"enum": ["a", 1, None]}, {"enum": [True, "a"]}, {"enum": [0.5, "a"]}]),
    )  # fmt: skip


def fields(names: Sequence[str]) -> st.SearchStrategy[Schema]:
    """The schemas of fields: scalars, references to models of these names, and what is made of them."""
    references = [st.just({"$ref": f"#/schemas/{name}"}) for name in names]
    return st.recursive(
        st.one_of(scalars(), *references),
        lambda inner: st.one_of(
            inner.map(lambda items: {"type": "array", "items": items}),
            inner.map(lambda items: {"type": "array", "items": items, "minItems": 1, "maxItems": 2}),
            st.lists(inner, min_size=1, max_size=2).map(
                lambda items: {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
            ),
            inner.map(lambda values: {"type": "object", "additionalProperties": values}),
            st.lists(inner, min_size=2, max_size=3).map(lambda members: {"anyOf": members}),
            inner.map(lambda member: {"anyOf": [member, {"type": "null"}]}),
        ),
        max_leaves=4,
    )  # fmt: skip


# Required fields lead to later models only, so that there is JSON that fits.
_ANY_FIELD = fields(NAMES)
_LATER_FIELD = {name: fields(NAMES[number + 1 :]) for number, name in enumerate(NAMES)}


@st.composite
def models(draw: st.DrawFn) -> dict[str, Schema]:
    """Models by name; `A` is an object, and so are most others."""
    found: dict[str, Schema] = {}
    for name in NAMES:
        if name != "A" and draw(st.integers(0, 4)) == 0:
            found[name] = draw(scalars())
            continue
        required = draw(st.dictionaries(KEYS, _LATER_FIELD[name], max_size=2))
        optional = draw(st.dictionaries(KEYS, _ANY_FIELD, max_size=2))
        tag = {"kind": {"const": name}} if draw(st.booleans()) else {}
        found[name] = {
            "type": "object",
            "properties": {**tag, **optional, **required},
            "required": [*tag, *required],
        } | ({"additionalProperties": False} if draw(st.booleans()) else {})
    return found


@st.composite
def instances(draw: st.DrawFn, schema: Json, models: Mapping[str, Schema]) -> Json:
    """JSON that fits a schema of these models, without keys that it does not name."""
    return _Drawing(draw, models).of(schema, 0)


class _Drawing:
    def __init__(self, draw: st.DrawFn, models: Mapping[str, Schema]) -> None:
        self._draw = draw
        self._models = models

    def of(self, schema: Json, depth: int) -> Json:
        if (reference := schema.get("$ref")) is not None:
            return self.of(self._models[str(reference).removeprefix("#/schemas/")], depth)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._draw(st.sampled_from(schema["enum"]))
        if "anyOf" in schema:
            return self.of(self._draw(st.sampled_from(schema["anyOf"])), depth)
        match schema.get("type"):
            case "array":
                if "prefixItems" in schema:
                    return [self.of(item, depth + 1) for item in schema["prefixItems"]]
                least = schema.get("minItems", 0)
                count = self._draw(st.integers(least, max(least, 2 - depth)))
                return [self.of(schema["items"], depth + 1) for _ in range(count)]
            case "object":
                return self._object(schema, depth + 1)
            case _:
                return self._draw(_scalar(schema))

    def _object(self, schema: Schema, depth: int) -> Json:
        if "properties" not in schema:
            keys = self._draw(st.lists(TEXTS, max_size=1, unique=True))
            return {key: self.of(schema["additionalProperties"], depth) for key in keys}
        return {
            key: self.of(each, depth)
            for key, each in schema["properties"].items()
            if key in schema["required"] or (depth < _DEEPEST and self._draw(st.booleans()))
        }


def _scalar(schema: Schema) -> st.SearchStrategy[Json]:
    match schema.get("type"):
        case "string":
            return _texts(schema)
        case "integer":
            low, high = schema.get("minimum", -(2**70)), schema.get("exclusiveMaximum", 2**70) - 1
            step = schema.get("multipleOf", 1)
            return st.integers(math.ceil(low / step), high // step).map(lambda count: count * step)
        case "number":
            low, high = schema.get("exclusiveMinimum", -1e6), schema.get("maximum", 1e6)
            return st.floats(low, high, exclude_min=True, allow_nan=False)
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case _:
            return st.one_of(st.none(), st.booleans(), st.integers(), TEXTS, _NESTED)


def _texts(schema: Schema) -> st.SearchStrategy[str]:
    if "format" in schema:
        return _FORMATS[schema["format"]]
    if "pattern" in schema:
        return st.sampled_from(_PATTERNS[schema["pattern"]])
    if "contentEncoding" in schema:
        return st.sampled_from(("", "aGVsbG8=", "+/+/"))
    characters = st.characters(codec="utf-8", exclude_characters="\0")
    return st.text(
        characters, min_size=schema.get("minLength", 0), max_size=schema.get("maxLength", 6)
    )


_JUNK: st.SearchStrategy[Json] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 2**65), st.sampled_from(("string", "#/schemas/B", "(", "é"))),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(("a", "type")), inner, max_size=2),
    max_leaves=3,
)  # fmt: skip


def odd_schemas(depth: int = 2) -> st.SearchStrategy[Schema]:
    """What may stand in a graph file as the schema of a model that nothing uses: JSON Schema, and what is none."""
    if depth == 0:
        return st.dictionaries(
            st.sampled_from(("type", "const", "$ref", "title")), _JUNK, max_size=2
        )
    inner = odd_schemas(depth - 1)
    names = st.sampled_from(("a", "class", "__x", "json", "ª", "x-y", 'q"', ""))
    kinds = st.sampled_from(("string", "integer", "number", "array", "object", ["string", "null"]))
    return st.fixed_dictionaries(
        {},
        optional={
            "type": kinds | _JUNK,
            "properties": st.dictionaries(names, inner, max_size=3) | _JUNK,
            "items": inner | _JUNK,
            "prefixItems": st.lists(inner, max_size=2) | _JUNK,
            "anyOf": st.lists(inner, max_size=3) | _JUNK,
            "additionalProperties": inner | _JUNK,
            "patternProperties": st.dictionaries(names, inner, max_size=2) | _JUNK,
            "propertyNames": inner | _JUNK,
            **dict.fromkeys(
                (
                    *("required", "minItems", "uniqueItems", "default", "description", "enum"),
                    *("pattern", "minimum", "multipleOf", "minLength", "format", "allOf"),
                ),
                _JUNK,
            ),
        },
    )
