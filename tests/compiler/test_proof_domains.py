"""Domains: never smaller than what the schema allows, and as small as its plain keywords say."""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from stateous.compiler.proof.domain_algebra import joined, listed, met
from stateous.compiler.proof.domains import ANYTHING, NOTHING, NULL, Bound, Domain
from stateous.compiler.proof.schema_domains import Domains, read_of
from tests.compiler.random_rivals import examples
from tests.model.random_guards import SCALARS, VALUES

Json = Any
Schema = dict[str, Any]


def domain_of(schema: Json, **schemas: Json) -> Domain:
    return Domains(schemas).of(schema)


def kinds(domain: Domain) -> set[str]:
    return set(domain.kinds)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Node(msgspec.Struct):
    value: int
    children: list[Node] = []


class Review(msgspec.Struct, forbid_unknown_fields=True):
    score: Annotated[int, msgspec.Meta(ge=0, lt=10)]
    share: float
    colour: Colour
    mark: Literal["a", "b", 1] | None
    pair: tuple[int, str]
    node: Node
    note: str | None = None
    tags: list[str] = []
    good: bool = False


def test_the_fields_of_a_struct() -> None:
    _, schemas = msgspec.json.schema_components([Review], ref_template="#/schemas/{name}")
    review = Domains(schemas).of_model("Review")
    fields = {name: read_of(review, name) for name in Review.__struct_fields__}
    assert {name: kinds(field) for name, field in fields.items()} == {
        "score": {"number"},
        "share": {"number"},
        "colour": {"string"},
        "mark": {"string", "number", "null"},
        "pair": {"list"},
        "node": {"object"},
        "note": {"string", "null"},
        "tags": {"list", "null"},
        "good": {"boolean", "null"},
    }
    score = fields["score"].numbers
    assert (score.least, score.most) == (Bound(Fraction(0)), Bound(Fraction(10), open=True))
    assert fields["score"].integral
    assert not fields["share"].integral
    assert fields["colour"].options == ("blue", "red")
    assert fields["mark"].options == (None, 1, "a", "b")
    assert kinds(fields["pair"].lists.at(1)) == {"string"}
    assert read_of(review, "gone") == NULL


def test_in_a_context_a_field_with_a_default_is_never_missing() -> None:
    _, schemas = msgspec.json.schema_components([Review], ref_template="#/schemas/{name}")
    context = Domains({**schemas, "Alias": {"$ref": "#/schemas/Review"}})
    for name in ("Review", "Alias"):
        assert kinds(read_of(context.of_context(name), "good")) == {"boolean"}
        assert kinds(read_of(context.of_context(name), "note")) == {"string", "null"}


def test_without_a_model_a_key_can_be_anything() -> None:
    domains = Domains({})
    assert read_of(domains.of_model(None), "key") == ANYTHING
    assert domains.of_model("unknown").kinds == {"object"}


SCHEMAS: list[tuple[Schema | bool, set[str]]] = [
    (True, set(ANYTHING.kinds)),
    (False, set()),
    ({}, set(ANYTHING.kinds)),
    ({"type": ["string", "null"]}, {"string", "null"}),
    ({"type": "integer", "minimum": 3, "maximum": 2}, set()),
    ({"type": "string", "minLength": 3, "maxLength": 2}, set()),
    ({"type": "string", "enum": [1, 2]}, set()),
    ({"type": "integer", "enum": [1, 2.5, "x", True]}, {"number"}),
    ({"const": None}, {"null"}),
    ({"allOf": [{"type": ["string", "integer"]}, {"type": ["integer", "null"]}]}, {"number"}),
    ({"oneOf": [{"type": "string"}, {"const": 1}]}, {"string", "number"}),
    ({"$ref": "#/schemas/Text", "maxLength": 3}, {"string"}),
    ({"$ref": "#/schemas/Text/properties/gone"}, set(ANYTHING.kinds)),
    ({"$ref": "https://example.org/x"}, set(ANYTHING.kinds)),
    ({"$ref": "#/schemas/Loop"}, set(ANYTHING.kinds)),
    ({"type": "object", "properties": {"a": False}, "required": ["a"]}, set()),
]


@pytest.mark.parametrize(("schema", "expected"), SCHEMAS)
def test_the_kinds_of_a_schema(schema: Schema | bool, expected: set[str]) -> None:  # noqa: FBT001
    found = domain_of(schema, Text={"type": "string"}, Loop={"$ref": "#/schemas/Loop"})
    assert kinds(found) == expected


def test_a_schema_that_goes_round_in_circles_comes_to_an_end() -> None:
    wide: Schema = {
        "anyOf": [{"$ref": "#/schemas/A"}] * 30,
        "properties": {"x": {"$ref": "#/schemas/A"}},
    }
    assert domain_of({"$ref": "#/schemas/A"}, A=wide).kinds == ANYTHING.kinds
    deep: Schema = {}
    for _ in range(200):
        deep = {"type": "array", "items": deep}
    assert kinds(domain_of(deep)) == {"list"}


# Schemas made of plain keywords, to compare domains with a validator.
_LEAVES: list[Json] = [
    {"type": "integer"},
    {"type": "number", "minimum": 0.5},
    {"type": "number", "exclusiveMaximum": 2},
    {"type": "integer", "multipleOf": 2},
    {"type": "boolean"},
    {"type": "null"},
    {"type": "string", "minLength": 1},
    {"type": "string", "maxLength": 1, "pattern": "a"},
    {"enum": ["a", 1, None, True]},
    {"enum": [0.5, 2, "ab"]},
    {"const": []},
    {"const": {"a": 1}},
    True,
    False,
]


def _object_schema(a: Json, others: Json, required: list[str]) -> Schema:
    properties = {"a": a}
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": others,
        "required": required,
    }


def _nested(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    some = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        some.map(lambda it: {"anyOf": it}),
        some.map(lambda it: {"oneOf": it}),
        some.map(lambda it: {"allOf": it}),
        inner.map(lambda it: {"type": "array", "items": it}),
        st.tuples(some, inner).map(
            lambda it: {"type": "array", "prefixItems": it[0], "items": it[1]}
        ),
        st.builds(_object_schema, inner, inner, st.sampled_from([[], ["a"]])),
        st.tuples(inner, inner).map(lambda it: {"if": it[0], "then": it[1]}),
        inner.map(lambda it: {"not": it}),
    )


_SCHEMAS = st.recursive(st.sampled_from(_LEAVES), _nested, max_leaves=5)


@given(schema=_SCHEMAS, values=st.lists(VALUES, min_size=10, max_size=10))
@settings(max_examples=examples(100))
def test_what_a_schema_allows_lies_in_its_domain(schema: Json, values: list[Json]) -> None:
    validator, domain = Draft202012Validator(schema), domain_of(schema)
    for value in values:
        if validator.is_valid(value):
            assert domain.has(value)


@given(schemas=st.lists(_SCHEMAS, min_size=1, max_size=3), value=VALUES)
@settings(max_examples=examples(100))
def test_what_is_met_and_joined_has_what_it_is_made_of(schemas: list[Json], value: Json) -> None:
    domains = [domain_of(schema) for schema in schemas]
    has = [domain.has(value) for domain in domains]
    whole = ANYTHING
    for domain in domains:
        whole = met(whole, domain)
    assert whole.has(value) or not all(has)
    assert joined(domains).has(value) or not any(has)
    assert met(domains[0], NOTHING).kinds == frozenset()


@given(values=st.lists(SCALARS, max_size=4), other=SCALARS)
def test_listed_values_are_those_and_no_others(values: list[Json], other: Json) -> None:
    domain = listed(values)
    assert all(domain.has(value) for value in values)
    same = [
        value
        for value in values
        if value == other and isinstance(value, bool) == isinstance(other, bool)
    ]
    assert domain.has(other) == bool(same)
