"""Domains of schemas: what a JSON Schema of a graph says about values, through references and unions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, TypeGuard, cast
from urllib.parse import unquote

import msgspec

from stateous.compiler.proof.domain_algebra import joined, listed, met, tidied
from stateous.compiler.proof.domains import (
    ANYTHING,
    KINDS,
    NOTHING,
    NULL,
    Bound,
    Domain,
    Kind,
    Lists,
    Numbers,
    Objects,
    Strings,
)
from stateous.model.schemas import reference_to

Json = Any
Schema = Mapping[str, Json]

_TYPES: Final[Mapping[str, Kind]] = {
    "null": "null",
    "boolean": "boolean",
    "integer": "number",
    "number": "number",
    "string": "string",
    "array": "list",
    "object": "object",
}
_DEEPEST: Final = 6
_MOST_PARTS: Final = 10_000


class Domains:
    """The domains of one graph's schemas.

    Keywords that it does not know are passed over, and what lies deeper than 6 levels, goes round in circles,
    or has too many parts, may be anything: a domain is never too small.
    """

    def __init__(self, schemas: Mapping[str, Json]) -> None:
        self._root: Json = {"schemas": schemas}
        self._referred: dict[tuple[str, int], Domain] = {}
        self._parts = 0

    def of_model(self, name: str | None) -> Domain:
        """The documents of a model; every object, without one."""
        self._parts = 0
        objects = Domain(kinds=frozenset({"object"}))
        return objects if name is None else met(objects, self._of_reference(reference_to(name), 0))

    def of_context(self, name: str | None) -> Domain:
        """The contexts of a model: as tokens start with the defaults, these keys are always there."""
        model = self.of_model(name)
        fields = self._properties(name)
        filled = {
            key for key, schema in fields.items() if _is_schema(schema) and "default" in schema
        }
        objects = msgspec.structs.replace(model.objects, required=model.objects.required | filled)
        return msgspec.structs.replace(model, objects=objects)

    def of(self, schema: Json, depth: int = 0) -> Domain:
        """The values that a schema allows, or some more."""
        self._parts += 1
        if not _is_schema(schema):
            return NOTHING if schema is False else ANYTHING
        if depth > _DEEPEST or self._parts > _MOST_PARTS:
            return ANYTHING
        domain = self._own(schema, depth)
        if isinstance(reference := schema.get("$ref"), str):
            domain = met(domain, self._of_reference(reference, depth))
        for each in _schemas(schema.get("allOf")):
            domain = met(domain, self.of(each, depth))
        for union in ("anyOf", "oneOf"):
            if branches := _schemas(schema.get(union)):
                domain = met(domain, joined(self.of(each, depth) for each in branches))
        if isinstance(options := schema.get("enum"), list):
            domain = met(domain, listed(cast("list[Json]", options)))
        if "const" in schema:
            domain = met(domain, listed([schema["const"]]))
        return domain

    def _of_reference(self, reference: str, depth: int) -> Domain:
        at = (reference, depth)
        found = self._referred.get(at)
        if found is None:
            self._referred[at] = ANYTHING  # for a reference that leads back to itself
            found = self._referred[at] = self.of(self._pointed(reference), depth)
        return found

    def _pointed(self, reference: str) -> Json:
        """The schema that a reference points to; True, which allows anything, if it is not known here."""
        if not reference.startswith("#/"):
            return True
        place: Json = self._root
        for part in reference.removeprefix("#/").split("/"):
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if not isinstance(place, Mapping) or key not in place:
                return True
            place = cast("Schema", place)[key]
        return place

    def _properties(self, name: str | None) -> Schema:
        """The top-level properties; a model that is nothing but a reference has those of the other."""
        seen: set[str] = set()
        reference = None if name is None else reference_to(name)
        while reference is not None and reference not in seen:
            seen.add(reference)
            schema = self._pointed(reference)
            if not _is_schema(schema):
                break
            if _is_schema(properties := schema.get("properties")):
                return properties
            aliased = schema.get("$ref")
            reference = aliased if isinstance(aliased, str) else None
        return {}

    def _own(self, schema: Schema, depth: int) -> Domain:
        """What the schema says itself, without those that it refers to."""
        given = schema.get("type")
        types = cast("list[str]", given) if isinstance(given, list) else [given]
        named: frozenset[Kind] = frozenset(_TYPES[each] for each in types if each in _TYPES)
        kinds = KINDS if given is None else named
        domain = Domain(
            kinds=kinds,
            numbers=_numbers(schema, integral="integer" in types and "number" not in types),
            strings=_strings(schema),
            lists=self._lists(schema, depth) if "list" in kinds else Lists(),
            objects=self._objects(schema, depth) if "object" in kinds else Objects(),
        )
        return tidied(domain)

    def _lists(self, schema: Schema, depth: int) -> Lists:
        items = schema.get("items")
        return Lists(
            fewest=_length(schema.get("minItems")) or 0,
            most=_length(schema.get("maxItems")),
            prefix=tuple(self.of(each, depth + 1) for each in _schemas(schema.get("prefixItems"))),
            items=None if items is None else self.of(items, depth + 1),
        )

    def _objects(self, schema: Schema, depth: int) -> Objects:
        given = schema.get("properties")
        properties: Schema = given if _is_schema(given) else {}
        required = schema.get("required")
        others = schema.get("additionalProperties")
        if others is None or schema.get("patternProperties"):
            others = True
        return Objects(
            fields={name: self.of(each, depth + 1) for name, each in properties.items()},
            required=frozenset(cast("list[str]", required) if isinstance(required, list) else ()),
            others=self.of(others, depth + 1),
            fewest=_length(schema.get("minProperties")) or 0,
        )


def read_of(objects: Domain, name: str) -> Domain:
    """The domain of what a guard reads from such objects: null when the key is missing."""
    found = objects.objects.field(name)
    return found if name in objects.objects.required else joined((found, NULL))


def _is_schema(schema: Json) -> TypeGuard[Schema]:
    return isinstance(schema, Mapping)


def _schemas(given: Json) -> Sequence[Json]:
    return cast("list[Json]", given) if isinstance(given, list) else ()


def _length(given: Json) -> int | None:
    return int(given) if isinstance(given, int | float) and given >= 0 else None


def _exact(given: Json) -> Fraction | None:
    return Fraction(given) if isinstance(given, int | float) else None


def _numbers(schema: Schema, *, integral: bool) -> Numbers:
    step = _exact(schema.get("multipleOf"))
    whole = step is not None and step > 0 and step.denominator == 1
    return Numbers(
        least=_bound(schema, "minimum", "exclusiveMinimum"),
        most=_bound(schema, "maximum", "exclusiveMaximum"),
        integral=integral or whole,
        step=int(step) if whole and step is not None else None,
    )


def _bound(schema: Schema, closed: str, opened: str) -> Bound | None:
    """The tighter of two bounds; at the same value the open one is."""
    to, before = _exact(schema.get(closed)), _exact(schema.get(opened))
    if before is None:
        return None if to is None else Bound(to)
    lower = closed == "minimum"
    if to is not None and (to > before if lower else to < before):
        return Bound(to)
    return Bound(before, open=True)


def _strings(schema: Schema) -> Strings:
    pattern = schema.get("pattern")
    return Strings(
        shortest=_length(schema.get("minLength")) or 0,
        longest=_length(schema.get("maxLength")),
        patterns=(pattern,) if isinstance(pattern, str) else (),
    )
