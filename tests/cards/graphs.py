"""The graph that most of these tests walk: work, retries, timeouts, and a parallel state whose child nests another."""

from __future__ import annotations

import copy
from typing import Any

Json = dict[str, Any]

TICKET: Json = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "size": {"type": "integer"},
        "tags": {"type": "array", "default": []},
    },
    "required": ["title"],
}
REVIEW: Json = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "note": {"type": "string"}},
    "required": ["approved"],
}
AUDIT: Json = {
    "type": "object",
    "properties": {"title": {"type": "string", "maxLength": 8}, "level": {"default": 3}},
    "required": ["title"],
}

SECURITY: Json = {
    "context": "Audit",
    "states": {
        "scan": {"emits": ["scanned"]},
        "judge": {"emits": ["judged", "skipped"], "timeout": "1h"},
    },
    "events": {"scanned": {"payload": "Review"}, "judged": {}, "skipped": {}},
    "transitions": [
        {"from": "__start__", "to": "scan"},
        {"from": "scan", "to": "judge", "on": "scanned"},
        {"from": "judge", "to": "__end__", "on": "judged"},
    ],
}
OUTER: Json = {
    "states": {"inner": {"parallel": ["style"], "inputs": ["title"]}},
    "events": {"enough": {}},
    "transitions": [
        {"from": "__start__", "to": "inner"},
        {"from": "inner", "to": "__end__", "on": "joined"},
        {"from": "inner", "to": "__end__", "on": "enough"},
    ],
}
STYLE: Json = {
    "states": {"read": {"emits": ["liked"], "retries": 1}},
    "events": {"liked": {}},
    "transitions": [
        {"from": "__start__", "to": "read"},
        {"from": "read", "to": "__end__", "on": "liked"},
    ],
}


def sdlc(*, join: str = "all", joins: bool = True, more: tuple[Json, ...] = ()) -> Json:
    """The graph, with more transitions; those on `joined` out of `reviews` only if it `joins`."""
    ways: list[Json] = [
        {"from": "__start__", "to": "coding", "when": "ctx['size'] == null"},
        {"from": "__start__", "to": "triage", "when": "ctx['size'] > 0"},
        {"from": "__start__", "to": "reviews", "when": "ctx['size'] > 99"},
        {"from": "__start__", "to": "reviews", "when": "ctx['size'] == 0"},
        {"from": "triage", "to": "coding", "on": "sorted"},
        {"from": "triage", "to": "triage", "on": "counted", "when": "count('counted') < 2"},
        {"from": "triage", "to": "coding", "on": "counted", "when": "count('counted') == 2"},
        {"from": "coding", "to": "testing", "on": "coded"},
        {"from": "coding", "to": "triage", "on": "stuck", "when": "ctx['size'] > 1"},
        {"from": "coding", "to": "reviews", "on": "split"},
        {"from": "coding", "to": "coding", "on": "again"},
        {"from": "coding", "to": "testing", "on": "torn", "when": "payload.approved"},
        {"from": "coding", "to": "triage", "on": "torn", "when": "payload.note == 'both'"},
        {"from": "testing", "to": "__end__", "on": "checked", "when": "payload.approved"},
        {"from": "testing", "to": "coding", "on": "checked", "otherwise": True},
        {"from": "testing", "to": "triage", "on": "error"},
        {"from": "testing", "to": "triage", "on": "timeout"},
        {"from": "reviews", "to": "coding", "on": "leave"},
        {
            "from": "reviews",
            "to": "__end__",
            "on": "joined",
            "when": "branches.all(status == 'completed')",
        },
        {"from": "reviews", "to": "testing", "on": "joined", "otherwise": True},
    ]
    if not joins:
        ways = [way for way in ways if way.get("on") != "joined"]
    return {
        "stateous": 1,
        "workflow": "sdlc",
        "context": "Ticket",
        "states": {
            "triage": {"emits": ["sorted"]},
            "coding": {"emits": ["coded", "stuck", "again", "torn", "split"], "timeout": "6h"},
            "testing": {"emits": ["checked"], "retries": 1, "timeout": "2h"},
            "reviews": {"parallel": ["security", "outer"], "join": join, "inputs": ["title"]},
        },
        "events": {
            "sorted": {},
            "counted": {},
            "coded": {},
            "stuck": {},
            "split": {},
            "again": {},
            "torn": {"payload": "Review"},
            "checked": {"payload": "Review"},
            "leave": {},
        },
        "transitions": [*ways, *more],
        "schemas": {"Ticket": TICKET, "Review": REVIEW, "Audit": AUDIT},
        "workflows": copy.deepcopy({"security": SECURITY, "outer": OUTER, "style": STYLE}),
    }


SDLC = sdlc()
FILLED: Json = {"title": "a", "tags": []}
"""The context of a token that was started with the title `a`."""
FAMILY = ("T", "T.reviews.1.security", "T.reviews.1.outer", "T.reviews.1.outer.inner.1.style")
"""A token in `reviews`, its children, and the child of the second one."""
