"""Whatever a graph file holds at any place, it is served or refused with one sentence, and nothing else happens."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, cast

import pytest

from stateous.model.graph import InvalidGraph, parse_graph

Json = Any
Path = tuple[str | int, ...]


def deep(levels: int) -> Json:
    whole: Json = []
    for _ in range(levels):
        whole = [whole]
    return whole


REVIEW: Json = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean", "default": False},
        "score": {"anyOf": [{"type": "integer", "minimum": 0}, {"enum": ["none", None]}]},
        "order": {"$ref": "#/schemas/Order"},
    },
    "required": ["approved"],
    "additionalProperties": False,
}
GRAPH: Json = {
    "stateous": 1,
    "workflow": "orders",
    "context": "Order",
    "states": {
        "draft": {"emits": ["done"], "timeout": "6h", "retries": 2},
        "checks": {"parallel": ["scan"], "join": "any", "inputs": ["title"]},
    },
    "events": {"done": {"payload": "Review"}},
    "transitions": [
        {"from": "__start__", "to": "draft", "when": "ctx['title']"},
        {"from": "draft", "to": "checks", "on": "done", "otherwise": True},
        {"from": "checks", "to": "__end__", "on": "joined"},
    ],
    "workflows": {"scan": {"states": {}, "events": {}, "transitions": []}},
    "schemas": {
        "Order": {"type": "object", "properties": {"title": {"type": "string", "pattern": "^a"}}},
        "Review": REVIEW,
    },
}
VALUES: list[Json] = [
    None,
    True,
    0,
    -1.5,
    10**400,
    10**5000,
    "",
    "__start__",
    "timeout",
    "\ud800",
    "x" * 1000,
    [],
    [None],
    {},
    {"$ref": "#/schemas/Nothing"},
    {"type": "nothing", "pattern": "("},
    deep(3000),
]


NAMES = ["", "\n", "\ud800", "x" * 200, "a/b", "__end__", "error"]


def places(value: Json, path: Path = ()) -> Iterator[Path]:
    if path:
        yield path
    match value:
        case dict():
            keys: list[Json] = list(cast("dict[str, Json]", value))
        case list():
            keys = list(range(len(cast("list[Json]", value))))
        case _:
            keys = []
    for key in keys:
        yield from places(value[key], (*path, key))


def damaged(path: Path) -> Iterator[Json]:
    """The graph with another value at a place, with none, and with what stands there under another key."""
    for value in VALUES:
        whole, holder = spoilt(path)
        holder[path[-1]] = value
        yield whole
    whole, holder = spoilt(path)
    del holder[path[-1]]
    yield whole
    for name in NAMES if isinstance(path[-1], str) else []:
        whole, holder = spoilt(path)
        holder[name] = holder.pop(path[-1])
        yield whole


def spoilt(path: Path) -> tuple[Json, Json]:
    """A copy of the graph, and within it what holds the place."""
    whole = holder = copy.deepcopy(GRAPH)
    for key in path[:-1]:
        holder = holder[key]
    return whole, holder


def said_of(graph: Json) -> str | None:
    """Why the graph is refused; None when it is served."""
    try:
        parse_graph(graph)
    except InvalidGraph as refused:
        return str(refused)
    return None


def test_the_graph_is_right_before_it_is_damaged() -> None:
    assert said_of(GRAPH) is None


@pytest.mark.parametrize("path", [*places(GRAPH)], ids=lambda path: ".".join(map(str, path)))
def test_damage_at_any_place_is_served_or_refused_with_one_sentence(path: Path) -> None:
    for graph in damaged(path):
        said = said_of(graph)
        assert said is None or (0 < len(said) < 500 and "\n" not in said)


def test_what_is_no_graph_at_all_is_refused() -> None:
    assert all(said_of(graph) for graph in VALUES)
