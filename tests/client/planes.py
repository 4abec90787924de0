"""A real control plane of the workflow `orders` over HTTP, for clients and supervisors to speak with."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from stateous.control.compose import LEASE_FOR, open_plane
from stateous.model.graph import parse_graph
from tests.api.serving import served
from tests.databases import Database

GRAPH: dict[str, Any] = {
    "stateous": 1,
    "workflow": "orders",
    "context": "Order",
    "states": {
        "draft": {"emits": ["submitted"], "retries": 1},
        "review": {"emits": ["reviewed", "skipped"]},
    },
    "events": {"submitted": {}, "reviewed": {"payload": "Review"}, "skipped": {}, "nudged": {}},
    "transitions": [
        {"from": "__start__", "to": "draft"},
        {"from": "draft", "to": "review", "on": "submitted"},
        {"from": "review", "to": "__end__", "on": "reviewed", "when": "payload.approved"},
        {"from": "review", "to": "draft", "on": "reviewed", "otherwise": True},
        {"from": "review", "to": "draft", "on": "nudged"},
    ],
    "schemas": {
        "Order": {"type": "object", "properties": {"title": {"type": "string"}}},
        "Review": {
            "type": "object",
            "properties": {"approved": {"type": "boolean"}},
            "required": ["approved"],
        },
    },
}


@asynccontextmanager
async def serving(
    database: Database, *, graph: dict[str, Any] | None = None, lease_for: timedelta = LEASE_FOR
) -> AsyncGenerator[str]:
    """The URL of a control plane on this database; it is gone when the block ends."""
    plane = await open_plane(
        graph=parse_graph(graph or GRAPH), db=database.url, lease_for=lease_for
    )
    try:
        async with served(plane) as caller:
            yield f"http://{caller.host}:{caller.port}"
    finally:
        await plane.stop()
