"""Graphs that the engine's tests run on, written as graph files are."""

from __future__ import annotations

from typing import Any

from tests.engine.world import World

Json = dict[str, Any]

REVIEW: Json = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "note": {"type": "string", "default": ""}},
    "required": ["approved"],
}

ORDERS: Json = {
    "stateous": 1,
    "workflow": "orders",
    "context": "Order",
    "states": {
        "draft": {"emits": ["submitted"]},
        "review": {"emits": ["reviewed"], "retries": 1, "timeout": "6h"},
    },
    "events": {"submitted": {}, "reviewed": {"payload": "Review"}, "nudge": {}, "leave": {}},
    "transitions": [
        {"from": "__start__", "to": "draft"},
        {"from": "draft", "to": "review", "on": "submitted"},
        {"from": "review", "to": "__end__", "on": "reviewed", "when": "payload.approved"},
        {"from": "review", "to": "draft", "on": "reviewed", "otherwise": True},
        {"from": "review", "to": "draft", "on": "error"},
        {"from": "draft", "to": "draft", "on": "leave"},
    ],
    "schemas": {
        "Order": {
            "type": "object",
            "properties": {
                "title": {"type": "string"},
                "size": {"type": "integer", "default": 1},
                "tags": {"type": "array", "default": []},
            },
            "required": ["title"],
        },
        "Review": REVIEW,
    },
}


def parallel(*, join: str = "all", nested: bool = False) -> Json:
    """A graph whose `reviews` state runs two children, the second of which may nest a third."""
    child: Json = {
        "states": {"look": {"emits": ["passed", "refused"]}},
        "events": {"passed": {"payload": "Review"}, "refused": {}},
        "transitions": [
            {"from": "__start__", "to": "look"},
            {"from": "look", "to": "__end__", "on": "passed"},
        ],
    }
    outer: Json = {
        "states": {"inner": {"parallel": ["style"], "join": "all"}},
        "events": {},
        "transitions": [
            {"from": "__start__", "to": "inner"},
            {"from": "inner", "to": "__end__", "on": "joined", "otherwise": True},
        ],
    }
    second = "outer" if nested else "style"
    return {
        "stateous": 1,
        "workflow": "changes",
        "states": {
            "work": {"emits": ["ready"]},
            "reviews": {"parallel": ["security", second], "join": join, "inputs": ["title"]},
            "ship": {"emits": ["shipped"]},
        },
        "events": {"ready": {}, "shipped": {}, "leave": {}},
        "transitions": [
            {"from": "__start__", "to": "work"},
            {"from": "work", "to": "reviews", "on": "ready"},
            {
                "from": "reviews",
                "to": "ship",
                "on": "joined",
                "when": "branches.all(status == 'completed')",
            },
            {"from": "reviews", "to": "work", "on": "joined", "otherwise": True},
            {"from": "reviews", "to": "work", "on": "leave"},
            {"from": "ship", "to": "__end__", "on": "shipped"},
        ],
        "schemas": {"Review": REVIEW},
        "workflows": {
            "security": child,
            "style": child,
            **({"outer": outer} if nested else {}),
        },
    }


Way = tuple[Any, ...]
"""A transition in short: from, to, then on, then when; None is left out."""


def main(
    states: Json,
    ways: list[Way],
    *,
    events: Json | list[str] | None = None,
    context: str | None = None,
    schemas: Json | None = None,
    children: Json | None = None,
) -> Json:
    """A whole graph `m` in a few words."""
    return {
        "stateous": 1,
        "workflow": "m",
        **flow(states, ways, events=events, context=context),
        "schemas": schemas or {},
        "workflows": children or {},
    }


def flow(
    states: Json,
    ways: list[Way],
    *,
    events: Json | list[str] | None = None,
    context: str | None = None,
) -> Json:
    """One workflow of a graph; events without a payload may be given as a list."""
    declared: Json = {event: {} for event in events} if isinstance(events, list) else events or {}
    whole: Json = {
        "states": states,
        "events": declared,
        "transitions": [way(*each) for each in ways],
    }
    return whole if context is None else {**whole, "context": context}


def way(source: str, target: str, on: str | None = None, when: str | None = None) -> Json:
    """A transition as a graph file writes it."""
    short = {"from": source, "to": target, "on": on, "when": when}
    return {key: value for key, value in short.items() if value is not None}


def working(start: Way = ("__start__", "do")) -> Json:
    """A child with one state of work that ends on `done`, is left to itself on `again`, and can fail."""
    ways = [start, ("do", "__end__", "done"), ("do", "do", "again")]
    return flow({"do": {"emits": ["done"]}}, ways, events=["done", "again"])


def ending_at_once() -> Json:
    """A child that ends as it starts."""
    return flow({}, [("__start__", "__end__")])


OPEN: Json = {"s": {"emits": ["go"]}, "t": {"emits": []}}
"""Two states of work, the first of which emits `go`."""


def gate(*ways: Way, events: Json | None = None) -> World:
    """A world with a token `T` in `s`, and these ways out of it."""
    schemas = {"Review": REVIEW}
    graph = main(OPEN, [("__start__", "s"), *ways], events=events or {"go": {}}, schemas=schemas)
    world = World(graph)
    world.start("T")
    return world
