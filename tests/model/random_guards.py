"""Random guards, and values for what they read: few of each, so that comparisons often meet."""

from __future__ import annotations

import json
from typing import Any, cast

from hypothesis import strategies as st

Json = Any
Tree = tuple[Any, ...]

KEYS = ["a", "b", "c"]
EVENTS = ["sent", "seen"]
NUMBERS = st.one_of(
    st.integers(-2, 3),
    st.sampled_from([2**53, 2**53 + 1, 10**30, -(10**400)]),
    st.sampled_from([0.0, -0.0, 0.5, 1.0, 2.0, float(2**53), 1e30, 1.7e308]),
    st.booleans(),
)
SCALARS = st.one_of(
    st.none(), NUMBERS, st.sampled_from(["", "a", "b", "ab", "é", "\uffff", "😀", "it's"])
)
LITERALS = st.recursive(SCALARS, lambda items: st.lists(items, max_size=3), max_leaves=4)
VALUES = st.recursive(
    SCALARS,
    lambda items: (
        st.lists(items, max_size=3) | st.dictionaries(st.sampled_from(KEYS), items, max_size=2)
    ),
    max_leaves=5,
)
OBJECTS = st.dictionaries(st.sampled_from(KEYS), VALUES)
# The trees: ("value", v) ("field", place, name) ("count", e) ("branches", which, t) ("not", t) ("and", …)
# ("or", …) ("compare", first, [(sign, t), …])


def trees(*, in_branch: bool) -> st.SearchStrategy[Tree]:
    payload = st.tuples(st.just("field"), st.just("payload"), st.sampled_from(KEYS))
    if in_branch:
        own = st.tuples(
            st.just("field"), st.just("branch"), st.sampled_from(["workflow", "status", "final"])
        )
        containers = payload
    else:
        own = st.tuples(st.just("field"), st.just("ctx"), st.sampled_from(KEYS))
        count = st.tuples(st.just("count"), st.sampled_from(EVENTS))
        containers = payload | own | count
    containers |= st.tuples(st.just("value"), st.lists(LITERALS, max_size=3))
    leaves = st.tuples(st.just("value"), LITERALS) | own | containers

    def inner(items: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        ordered = st.tuples(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), items)
        held = st.tuples(st.sampled_from(["in", "not in"]), containers)
        links = st.lists(ordered | held, min_size=1, max_size=3)
        many = st.lists(items, min_size=2, max_size=3)
        return st.one_of(
            st.tuples(st.just("not"), items),
            st.tuples(st.sampled_from(["and", "or"]), many),
            st.tuples(st.just("compare"), items, links),
        )

    found = st.recursive(leaves, inner, max_leaves=6)
    if in_branch:
        return found
    nested = st.tuples(st.just("branches"), st.sampled_from(["all", "any"]), trees(in_branch=True))
    return st.recursive(leaves | nested, inner, max_leaves=6)


def spelt(tree: Tree) -> str:
    match tree:
        case ("value", value):
            return literal(value)
        case ("field", "ctx", name):
            return f"ctx[{name!r}]"
        case ("field", "payload", name):
            return f"payload.{name}"
        case ("field", _, name):
            return name
        case ("count", event):
            return f"count('{event}')"
        case ("branches", which, item):
            return f"branches.{which}({spelt(item)})"
        case ("not", item):
            return f"(not {spelt(item)})"
        case ("and" | "or" as word, items):
            return "(" + f" {word} ".join(map(spelt, items)) + ")"
        case ("compare", first, links):
            return (
                f"({spelt(first)}" + "".join(f" {sign} {spelt(item)}" for sign, item in links) + ")"
            )
        case _:
            raise AssertionError(tree)


def literal(value: Json) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, cast("list[Json]", value))) + "]"
    return repr(value) if isinstance(value, str) else json.dumps(value)
