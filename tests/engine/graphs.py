"""Graphs that the engine's tests run on, written as graph files are."""

from __future__ import annotations

from typing import Any

REVIEW: dict[str, Any] = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "note": {"type": "string", "default": ""}},
    "required": ["approved"],
}

ORDERS: dict[str, Any] = {
    "stateous": 1,
    "workflow": "orders",
    "context": "Order",
    "states": {
        "draft": {"emits": ["submitted"]},
        "review": {"emits": ["reviewed"], "retries": 1, "timeout": "6h"},
    },
    "events": {"submitted": {}, "reviewed": {"payload": "Review"}, "nudge": {}},
    "transitions": [
        {"from": "__start__", "to": "draft"},
        {"from": "draft", "to": "review", "on": "submitted"},
        {"from": "review", "to": "__end__", "on": "reviewed", "when": "payload.approved"},
        {"from": "review", "to": "draft", "on": "reviewed", "otherwise": True},
        {"from": "review", "to": "draft", "on": "error"},
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


def parallel(*, join: str = "all", nested: bool = False) -> dict[str, Any]:
    """A graph whose `reviews` state runs two children, the second of which may nest a third."""
    child: dict[str, Any] = {
        "states": {"look": {"emits": ["passed", "refused"]}},
        "events": {"passed": {"payload": "Review"}, "refused": {}},
        "transitions": [
            {"from": "__start__", "to": "look"},
            {"from": "look", "to": "__end__", "on": "passed"},
        ],
    }
    outer: dict[str, Any] = {
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
