"""Wires a control plane by hand: the one place that knows all its parts."""

from __future__ import annotations

import os
import random
import secrets
import socket
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

from stateous.control.clocks import ManualClock, SystemClock
from stateous.control.plane import Plane
from stateous.engine.rules import Rules
from stateous.model.graph import Graph
from stateous.model.refusals import Refusal
from stateous.store.serving import Candidate, Mode
from stateous.store.store import CannotOpen
from stateous.store.urls import open_store

LEASE_FOR = timedelta(seconds=120)
FIRST_REST = 0.002
LONGEST_REST = 0.05


async def open_plane(  # noqa: PLR0913 - all that one may be made with
    *,
    graph: Graph,
    db: str,
    schema: str = "stateous",
    lease_for: timedelta = LEASE_FOR,
    serving: str | None = None,
    clock: Callable[[], datetime] | None = None,
    mode: Mode = "alone",
    migrates: bool = True,
    hold_for: timedelta | None = None,
    tenant: str = "default",
    app: str = "default",
) -> Plane:
    """Open the database, check the graph against the one on record, and start the lanes and the clock.

    With the mode `standby` this takes as long as another control plane serves the database. `hold_for` is how
    long the database is kept for this one when it gives no sign of life. A ManualClock begins at the later of
    real time and the last time that the database knows of; a SystemClock is set by the database's.
    `tenant` and `app` are those whose business items its state logs keep. Without `migrates` no table is made or altered.
    Raises CannotOpen with one sentence. `Plane.stop` closes everything again.
    """
    clock = clock or SystemClock()
    store = open_store(db, schema=schema, clock=clock, hold_for=hold_for)
    await store.open(mode=mode, candidate=_candidate(graph, serving or _name()), migrates=migrates)
    plane = Plane(
        rules=Rules(graph=graph, lease_for=lease_for, tenant=tenant, app=app),
        store=store,
        clock=clock,
        rest_for=_rest_for,
        correlations=_correlation,
    )
    try:
        if isinstance(clock, ManualClock) and (last := await store.clock_read()) is not None:
            clock.move_to(last)
        await plane.start()
    except BaseException as error:
        await plane.stop()
        if isinstance(error, Refusal):
            raise CannotOpen(str(error)) from None
        raise
    return plane


def _correlation() -> str:
    """128 random bits: whoever knows them may answer."""
    return secrets.token_hex(16)


def _candidate(graph: Graph, name: str) -> Candidate:
    return Candidate(
        workflow=graph.workflow,
        structure=graph.structure,
        checksum=graph.checksum,
        graph=msgspec.json.encode(graph.document).decode(),
        name=name,
    )


def _name() -> str:
    """Who serves, for people who look at the database: host:pid:id."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"


def _rest_for(times: int) -> float:
    """How long a command rests that was put off: 2 ms, doubling to 50 ms, with jitter."""
    longest = min(FIRST_REST * 2 ** (times - 1), LONGEST_REST)
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - jitter is no secret
