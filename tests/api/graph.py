"""The graph that the API is tested with: a loop, guards, a parallel state, and a model that forbids."""

from __future__ import annotations

from typing import Any

GRAPH: dict[str, Any] = {
    "stateous": 1,
    "workflow": "orders",
    "context": "Order",
    "states": {
        "draft": {"emits": ["submitted"]},
        "review": {"emits": ["reviewed"], "retries": 1},
        "checks": {"parallel": ["check"], "join": "all", "inputs": ["title"]},
    },
    "events": {
        "submitted": {},
        "reviewed": {"payload": "Review"},
        "split": {},
        "torn": {},
    },
    "transitions": [
        {"from": "__start__", "to": "draft"},
        {"from": "draft", "to": "review", "on": "submitted"},
        {"from": "draft", "to": "checks", "on": "split"},
        {"from": "draft", "to": "review", "on": "torn", "when": "ctx['size'] > 1"},
        {"from": "draft", "to": "checks", "on": "torn", "when": "ctx['size'] > 2"},
        {"from": "review", "to": "__end__", "on": "reviewed", "when": "payload.approved"},
        {"from": "review", "to": "draft", "on": "reviewed", "otherwise": True},
        {"from": "checks", "to": "review", "on": "joined", "otherwise": True},
    ],
    "schemas": {
        "Order": {
            "type": "object",
            "properties": {"title": {"type": "string"}, "size": {"type": "integer", "default": 1}},
            "required": ["title"],
        },
        "Review": {
            "type": "object",
            "properties": {
                "approved": {"type": "boolean"},
                "note": {"type": "string", "default": ""},
            },
            "required": ["approved"],
        },
    },
    "workflows": {
        "check": {
            "states": {"look": {"emits": ["looked"]}},
            "events": {"looked": {}},
            "transitions": [
                {"from": "__start__", "to": "look"},
                {"from": "look", "to": "__end__", "on": "looked"},
            ],
        }
    },
}
