"""Wires a control plane by hand: the one place that knows all its parts."""

from __future__ import annotations

import os
import random
import socket
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

from stateous.control.clocks import ManualClock, SystemClock
from stateous.control.plane import Plane
from stateous.engine.rules import Rules
from stateous.model.graph import Graph
from stateous.store.store import CannotOpen, Store
from stateous.store.urls import open_store

LEASE_FOR = timedelta(seconds=120)
FIRST_REST = 0.002
LONGEST_REST = 0.05


async def open_plane(
    *,
    graph: Graph,
    db: str,
    schema: str = "stateous",
    lease_for: timedelta = LEASE_FOR,
    serving: str | None = None,
    clock: Callable[[], datetime] | None = None,
) -> Plane:
    """Open the database, check the graph against the one on record, and start the lanes and the clock.

    A ManualClock begins at the later of real time and the last time that the database knows of.
    Raises CannotOpen with one sentence. `Plane.stop` closes everything again.
    """
    clock = clock or SystemClock()
    store = open_store(db, schema=schema, clock=clock)
    await store.open()
    try:
        await _take_graph(store, graph, serving or _name())
        if isinstance(clock, ManualClock) and (last := await store.clock_read()) is not None:
            clock.move_to(last)
    except BaseException:
        await store.close()
        raise
    plane = Plane(
        rules=Rules(graph=graph, lease_for=lease_for), store=store, clock=clock, rest_for=_rest_for
    )
    await plane.start()
    return plane


async def _take_graph(store: Store, graph: Graph, serving: str) -> None:
    on_record = await store.graph_on_record()
    if on_record.structure and on_record.structure != graph.structure and on_record.live_tokens:
        msg = (
            f"this graph of '{graph.workflow}' has another structure than the one on record, and tokens "
            "are active or paused: serve the graph they started with until they have ended, or cancel them"
        )
        raise CannotOpen(msg)
    document = msgspec.json.encode(graph.document).decode()
    await store.graph_record(
        structure=graph.structure, checksum=graph.checksum, graph=document, serving=serving
    )


def _name() -> str:
    """Who serves, for people who look at the database: host:pid:id."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"


def _rest_for(times: int) -> float:
    """How long a command rests that was put off: 2 ms, doubling to 50 ms, with jitter."""
    longest = min(FIRST_REST * 2 ** (times - 1), LONGEST_REST)
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - jitter is no secret
