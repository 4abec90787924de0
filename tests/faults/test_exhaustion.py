"""More is asked than the database gets to, and clients hang up: whoever is refused is told when to ask again, and all is whole afterwards."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from psycopg import AsyncConnection

from stateous.control import claims, heartbeats, lane
from stateous.control.compose import open_plane
from stateous.model.graph import parse_graph
from stateous.store.postgres import reads, session
from tests.api.caller import Caller
from tests.api.serving import served
from tests.databases import Database
from tests.engine.graphs import ORDERS

CLIENTS = 500
HANGS_UP_AFTER = 0.05
LASTS = 60.0 if "STATEOUS_SOAK" in os.environ else 3.0
MOST_CONNECTIONS = 15
LONG = 30.0
SOON = 0.5

SESSIONS = """
select count(*), count(*) filter (where state <> 'idle') from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
"""


@asynccontextmanager
async def calling(database: Database) -> AsyncGenerator[Caller]:
    """A caller of a control plane on this database, with some tokens in it."""
    plane = await open_plane(graph=parse_graph(ORDERS), db=database.url)
    try:
        async with served(plane) as caller:
            for n in range(5):
                assert (await caller.post("/tokens", start(f"T-{n}"))).status == 201
            yield caller
    finally:
        await plane.stop()


def start(token: str) -> dict[str, Any]:
    return {"token": token, "context": {"title": "Chair"}}


CLAIM = {"supervisor": "box", "states": ["draft"]}
ASKED: list[tuple[Any, ...]] = [
    ("POST", "/tokens", start("NEW")),
    ("POST", "/tokens/T-1/events/leave", {}),
    ("POST", "/tasks/claim", CLAIM),
    ("POST", "/tasks/claim", {**CLAIM, "wait": 5}),
    ("POST", "/tasks/heartbeat", {"supervisor": "box", "tasks": [1, 2]}),
    ("POST", "/tasks/1/report", {"kind": "event", "event": "submitted", "attempt": 1}),
    ("GET", "/tokens/T-1"),
    ("GET", "/tokens?limit=3"),
    ("GET", "/tokens/T-1/history"),
]
"""One of each kind that needs the database."""


async def whole(database: Database, caller: Caller) -> None:
    """Each kind of request is answered at once, and no session is left in the middle of anything."""
    async with asyncio.timeout(LONG):
        for n in range(5):
            assert (await caller.post("/tokens", start(f"AFTER-{n}"))).status in (200, 201)
        assert (await caller.get("/tokens/T-1")).status == 200
        granted = await caller.post("/tasks/claim", {**CLAIM, "supervisor": "another"})
        assert granted.status == 200, granted
        beaten = {"supervisor": "another", "tasks": [granted.json["task"]]}
        assert (await caller.post("/tasks/heartbeat", beaten)).json == {"lost": []}
        async with await AsyncConnection.connect(database.url, autocommit=True) as watching:
            while True:
                cursor = await watching.execute(SESSIONS)
                sessions, busy = await cursor.fetchone() or (0, 0)
                assert sessions <= MOST_CONNECTIONS
                if not busy:
                    return


async def test_what_the_database_does_not_get_to_is_refused_in_time_and_nothing_leaks(
    postgres: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in (lane, claims, heartbeats, reads):
        monkeypatch.setattr(each, "DEADLINE_FOR", SOON)
    monkeypatch.setitem(session.SETTINGS, "lock_timeout", f"{SOON}s")
    async with calling(postgres) as caller:
        async with await AsyncConnection.connect(postgres.url) as locking:
            await locking.execute("lock table stateous.tokens, stateous.tasks, stateous.ledger")
            began = time.monotonic()
            replies = await asyncio.gather(*(caller.send(*each) for each in ASKED * 20))
            # What is in a batch has the batch's answer, which may come a deadline later.
            assert time.monotonic() - began < 6 * SOON
            assert {reply.refusal for reply in replies} == {(503, "database_busy")}
            assert {reply.headers["retry-after"] for reply in replies} == {"1"}
        await whole(postgres, caller)


async def test_clients_that_hang_up_leave_nothing_behind(postgres: Database) -> None:
    async with calling(postgres) as caller:
        until = time.monotonic() + LASTS
        sent: Counter[int] = Counter()
        hung_up: Counter[int] = Counter()

        async def hang_up(number: int) -> None:
            while time.monotonic() < until:
                asked = ASKED[(number + sent[number]) % len(ASKED)]
                sent[number] += 1
                try:
                    async with asyncio.timeout(HANGS_UP_AFTER):
                        await caller.send(*asked)
                except TimeoutError:
                    hung_up[number] += 1

        await asyncio.gather(*(hang_up(number) for number in range(CLIENTS)))
        assert len(hung_up) == CLIENTS
        await whole(postgres, caller)
