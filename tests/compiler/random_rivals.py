"""Random rivals: guards over typed fields, and scopes in which these fields have values of their types."""

from __future__ import annotations

import os
from typing import Any

import msgspec
from hypothesis import strategies as st

from stateous.compiler.proof.domains import Domain, Strings
from stateous.compiler.proof.rivals import (
    JOIN_PAYLOAD,
    NO_PAYLOAD,
    Documents,
    Ending,
    Reading,
    Rivals,
    Route,
)
from stateous.compiler.proof.schema_domains import Domains
from stateous.model.guards import Scope, parse_guard
from stateous.model.names import JOINED
from stateous.model.schemas import Models
from tests.model.random_guards import (
    EVENTS,
    KEYS,
    LITERALS,
    OBJECTS,
    SCALARS,
    VALUES,
    Tree,
    literal,
    spelt,
    trees,
)

Json = Any
Schema = dict[str, Json]

WHOLE = st.integers(-2, 3) | st.sampled_from([2**53, 2**53 + 1, 10**30, -(10**400), 1.0])
NUMBERS = WHOLE | st.sampled_from([0.0, -0.0, 0.5, 2.0, float(2**53), 1e30, 1.7e308])
TEXTS = st.sampled_from(
    ["", "a", "b", "ab", "ba", "aab", "c", "é", "\uffff", "😀", "it's", "a\x01"]
)

# The schema of a field, and values that it allows.
FIELDS: list[tuple[Schema, st.SearchStrategy[Json]]] = [
    ({"type": "integer"}, WHOLE),
    ({"type": "integer", "minimum": 0, "maximum": 3}, st.integers(0, 3)),
    ({"type": "integer", "multipleOf": 3}, st.integers(-2, 2).map(lambda it: it * 3)),
    # What the domain does not know is minded by the witnesses.
    ({"type": "integer", "not": {"enum": [0, 1]}}, WHOLE.filter(lambda it: it not in (0, 1))),
    ({"type": "number"}, NUMBERS),
    (
        {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        st.sampled_from([0.5, 1, 1.0, 5e-324, 0.1]),
    ),
    ({"type": "boolean"}, st.booleans()),
    ({"type": ["boolean", "integer"]}, st.booleans() | WHOLE),
    ({"type": "string"}, TEXTS),
    (
        {"type": "string", "minLength": 1, "maxLength": 2},
        TEXTS.filter(lambda it: 1 <= len(it) <= 2),
    ),
    ({"type": "string", "pattern": "^[ab]+$"}, st.sampled_from(["a", "b", "ab", "ba", "aab"])),
    ({"enum": ["a", "b", "ab"]}, st.sampled_from(["a", "b", "ab"])),
    ({"enum": [1, "a", None, True, 0.5]}, st.sampled_from([1, "a", None, True, 0.5])),
    ({"const": "b"}, st.just("b")),
    ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, WHOLE | st.none()),
    ({"anyOf": [{"type": "string"}, {"type": "number"}]}, TEXTS | NUMBERS),
    ({"type": "array", "items": {"type": "integer"}}, st.lists(WHOLE, max_size=3)),
    (
        {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
        st.lists(st.sampled_from(["a", "b"]), max_size=2),
    ),
    ({"type": "array", "minItems": 1}, st.lists(SCALARS, min_size=1, max_size=3)),
    (
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        st.dictionaries(st.sampled_from(["b", "c"]), SCALARS, max_size=1).map(
            lambda it: {**it, "a": 1}
        ),
    ),
    ({"type": "object"}, st.dictionaries(st.sampled_from(KEYS), SCALARS, max_size=2)),
    ({}, VALUES),
]


def examples(number: int) -> int:
    """How many examples a property looks at; many more with STATEOUS_DEEP."""
    return number * 10 if "STATEOUS_DEEP" in os.environ else number


# Made once: hypothesis takes longer to make strategies than to draw from them.
_TREES = trees(in_branch=False)
_GUARDS = {most: st.lists(_TREES, min_size=1, max_size=most) for most in (1, 2, 3, 4)}
_KEYS = st.sets(st.sampled_from(KEYS), min_size=2)
_FIELDS = st.sampled_from(FIELDS)
_YES_OR_NO = st.booleans()
_COUNTS = st.integers(0, 3)
_NUMBERS_OF_ENDINGS = st.lists(st.integers(1, 3), min_size=1, max_size=2)
_WORKFLOWS = st.sampled_from(["a", "b"])
_STATUSES = st.sampled_from(["completed", "failed"])
_FINALS = st.sampled_from(["a", "end"])
_CONTEXTS = st.sampled_from([None, "Ctx", "Ctx"])


@st.composite
def models(draw: st.DrawFn) -> tuple[Schema, st.SearchStrategy[dict[str, Json]]]:
    """A model with some of the keys, and its documents."""
    properties: Schema = {}
    always: dict[str, st.SearchStrategy[Json]] = {}
    sometimes: dict[str, st.SearchStrategy[Json]] = {}
    for key in draw(_KEYS):
        schema, values = draw(_FIELDS)
        properties[key] = schema
        (always if draw(_YES_OR_NO) else sometimes)[key] = values
    schema: Schema = {"type": "object", "properties": properties, "required": sorted(always)}
    documents = st.fixed_dictionaries(always, optional=sometimes)
    if draw(_YES_OR_NO):
        schema["additionalProperties"] = False
    return schema, documents


class World(msgspec.Struct, frozen=True):
    """Rivals, and scopes that their guards may find."""

    rivals: Rivals
    scopes: list[Scope]
    schemas: dict[str, Schema]

    def __repr__(self) -> str:
        guards = [route.guard and route.guard.text for route in self.rivals.routes]
        return f"World({guards}, {self.schemas}, {self.scopes})"


@st.composite
def worlds(draw: st.DrawFn, *, most_guards: int = 3, scopes: int = 8) -> World:
    """Rivals on an event with a payload, or on a join, with a context of any model or of none."""
    schemas: dict[str, Schema] = {}
    documents: dict[str | None, st.SearchStrategy[dict[str, Json]]] = {None: OBJECTS}
    for name in ("Ctx", "Payload", "Ended"):
        schemas[name], documents[name] = draw(models())
    domains = Domains(schemas)
    context = draw(_CONTEXTS)
    brought = Documents(domains.of_model("Ended"), "Ended")
    endings: list[list[Ending]] = []
    if draw(_YES_OR_NO):
        numbers = draw(_NUMBERS_OF_ENDINGS)
        endings = [[_ending(draw, brought) for _ in range(number)] for number in numbers]
    payload = Documents(domains.of_model("Payload"), "Payload")
    reading = Reading(
        source="review",
        on=JOINED if endings else "sent",
        context=Documents(domains.of_context(context), context),
        payload=Documents(JOIN_PAYLOAD) if endings else payload,
        counted=frozenset(EVENTS),
        branches=tuple(map(tuple, endings)),
    )
    first, *others = draw(_GUARDS[most_guards])
    # Guards that were drawn each for itself mostly overlap: some are made to be none's rival.
    apart = [("and", [("not", first), it]) if draw(_YES_OR_NO) else it for it in others]
    guards: list[Tree] = [first, *apart]
    routes = [Route("next", parse_guard(spelt(tree), joined=True)) for tree in guards]
    if draw(_YES_OR_NO):
        routes.append(Route("else", None))
    rivals = Rivals(
        workflow="flow",
        source=reading.source,
        on=reading.on,
        routes=tuple(routes),
        reading=reading,
        models=Models(schemas),
    )
    found = [_scope(draw, reading, documents) for _ in range(scopes)]
    return World(rivals, found, schemas)


def _ending(draw: st.DrawFn, brought: Documents) -> Ending:
    return Ending(
        workflow=draw(_WORKFLOWS),
        token=Domain(kinds=frozenset({"string"}), strings=Strings(shortest=1)),
        status=draw(_STATUSES),
        final=draw(_FINALS),
        payload=brought if draw(_YES_OR_NO) else NO_PAYLOAD,
    )


def _scope(
    draw: st.DrawFn,
    reading: Reading,
    documents: dict[str | None, st.SearchStrategy[dict[str, Json]]],
) -> Scope:
    branches: list[dict[str, Json]] = []
    for endings in reading.branches:
        ending = draw(st.sampled_from(endings))
        payload = None if ending.payload is NO_PAYLOAD else draw(documents[ending.payload.model])
        branches.append(
            {
                "workflow": ending.workflow,
                "token": f"T.review.1.{ending.workflow}",
                "status": ending.status,
                "final": ending.final,
                "payload": payload,
            }
        )
    joined: dict[str, Json] = {"branches": branches}
    return Scope(
        ctx=draw(documents[reading.context.model]),
        payload=joined if branches else draw(documents[reading.payload.model]),
        counts={"sent": draw(_COUNTS) + 1, "seen": draw(_COUNTS)},
        branches=branches or None,
    )


_SIGNS = st.sampled_from(["<", "<=", ">", ">=", "==", "!=", "in", "not in"])
_LITERALS = st.lists(LITERALS, min_size=3, max_size=3)


@st.composite
def comparisons(draw: st.DrawFn) -> World:
    """Comparisons of a field with literals and with another field, and values of the fields."""
    (one, ones), (other, others) = draw(_FIELDS), draw(_FIELDS)
    schema = {"type": "object", "properties": {"a": one, "b": other}, "required": ["a"]}
    documents = st.fixed_dictionaries({"a": ones}, optional={"b": others})
    guards = [f"payload.a {draw(_SIGNS)} payload.b"]
    for value in draw(_LITERALS):
        sign = draw(_SIGNS)
        if sign in ("in", "not in") and not isinstance(value, list):
            guards.append(f"{literal(value)} {sign} payload.a")
        else:
            guards.append(f"payload.a {sign} {literal(value)}")
    rivals = Rivals(
        workflow="flow",
        source="review",
        on="sent",
        routes=tuple(Route("next", parse_guard(guard, joined=False)) for guard in guards),
        reading=Reading(
            source="review",
            on="sent",
            context=Documents(Domains({}).of_model(None)),
            payload=Documents(Domains({"P": schema}).of_model("P"), "P"),
            counted=frozenset(EVENTS),
        ),
        models=Models({"P": schema}),
    )
    scopes = [Scope(ctx={}, payload=draw(documents), counts={"sent": 1}) for _ in range(6)]
    return World(rivals, scopes, {"P": schema})
