"""A whole control plane on a real database: its lanes, its clock, and the graph that it puts on record."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from stateous.control import ticking
from stateous.control.compose import open_plane
from stateous.control.plane import Plane
from stateous.engine.answers import Started
from stateous.engine.commands import Beat, Claim, Fire, Report, Start
from stateous.model.graph import parse_graph
from stateous.model.refusals import EventNotAllowed, TokenNotFound
from stateous.store.store import CannotOpen
from tests.databases import Clock, Database
from tests.engine.graphs import ORDERS, parallel


@asynccontextmanager
async def plane_on(
    database: Database, clock: Clock, document: dict[str, Any] = ORDERS
) -> AsyncGenerator[Plane]:
    plane = await open_plane(
        graph=parse_graph(document),
        db=database.url,
        lease_for=timedelta(seconds=120),
        clock=clock,
    )
    try:
        yield plane
    finally:
        await plane.stop()


@pytest.fixture
async def plane(database: Database, clock: Clock) -> AsyncGenerator[Plane]:
    async with plane_on(database, clock) as opened:
        yield opened


def order(token: str) -> Start:
    return Start(token, {"title": "a title"})


async def kinds(plane: Plane, token: str) -> list[str]:
    return [entry.kind for entry in await plane.history(token)]


async def test_fifty_starts_of_one_id_make_one_token(plane: Plane) -> None:
    answers = await asyncio.gather(*(plane.submit(order("ONE")) for _ in range(50)))
    created = [answer.created for answer in answers if isinstance(answer, Started)]
    assert len(created) == 50
    assert sum(created) == 1
    assert (await kinds(plane, "ONE")).count("started") == 1


async def test_claims_that_come_together_get_different_tasks(plane: Plane) -> None:
    await asyncio.gather(*(plane.submit(order(f"T{n}")) for n in range(30)))
    grants = await asyncio.gather(
        *(plane.claim(Claim(supervisor=f"box-{n}", states=("draft",))) for n in range(40))
    )
    tasks = [grant.task for granted in grants for grant in granted.grants]
    assert len(tasks) == len(set(tasks)) == 30


async def test_a_repeated_claim_gets_the_same_grant(plane: Plane) -> None:
    await plane.submit(order("T"))
    claim = Claim(supervisor="box", states=("draft",), request="r1")
    first, second = await plane.claim(claim), await plane.claim(claim)
    assert first == second
    assert (await kinds(plane, "T")).count("task_claimed") == 1


async def test_heartbeats_keep_a_lease_and_tell_what_is_lost(plane: Plane, clock: Clock) -> None:
    await plane.submit(order("T"))
    granted = await plane.claim(Claim(supervisor="box", states=("draft",)))
    task = granted.grants[0].task
    clock.forward(seconds=100)
    assert await plane.beat(Beat("box", (task, 999_999, task))) == (999_999,)
    clock.forward(seconds=100)
    await plane.ticker.tick()
    assert "task_failed" not in await kinds(plane, "T")
    assert await plane.beat(Beat("another box", (task,))) == (task,)


async def test_the_tick_ends_leases_and_then_fires_timers(plane: Plane, clock: Clock) -> None:
    await plane.submit(order("T"))
    await plane.submit(Fire("T", "submitted"))
    await plane.claim(Claim(supervisor="box", states=("review",)))
    clock.forward(seconds=121)
    await plane.ticker.tick()
    assert (await kinds(plane, "T"))[-2:] == ["task_failed", "task_retrying"]
    entries = await plane.history("T")
    assert entries[-2].data["error"] == "box stopped answering: no heartbeat for 2 minutes"
    clock.forward(hours=6)
    await plane.ticker.tick()
    assert (await kinds(plane, "T"))[-3:] == ["timer_fired", "task_cancelled", "failed"]
    assert (await plane.token("T")).status == "failed"


async def test_a_tick_that_finds_thousands_decides_them_all(
    database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy computer a tick of the clock's own would have begun, and a batch takes longer than its patience.
    monkeypatch.setattr(ticking, "TICK_EVERY", 3600.0)
    monkeypatch.setattr(ticking, "PATIENCE", 60.0)
    async with plane_on(database, clock) as plane:
        names = [f"T{n}" for n in range(1200)]
        await asyncio.gather(*(plane.submit(order(name)) for name in names))
        await plane.claim(Claim(supervisor="box", states=("draft",), max=1000))
        clock.forward(seconds=121)
        await plane.ticker.tick()
        failed = await plane.tokens(status="failed", limit=1000)
        assert len(failed) == 1000


async def test_a_token_that_is_locked_does_not_stop_the_clock(
    postgres: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ticking, "PATIENCE", 0.2)
    claim = Claim(supervisor="box", states=("draft",), max=2)
    async with plane_on(postgres, clock) as plane:
        await plane.submit(order("LOCKED"))
        await plane.submit(order("FREE"))
        await plane.claim(claim)
        async with await psycopg.AsyncConnection.connect(postgres.url) as locker:
            await locker.execute(
                "select 1 from stateous.tokens where token = 'LOCKED' for no key update"
            )
            clock.forward(seconds=121)
            await plane.ticker.tick()
            assert "task_failed" in await kinds(plane, "FREE")
            await plane.submit(order("LATER"))
            await plane.claim(claim)
            clock.forward(seconds=121)
            await plane.ticker.tick()
            assert "task_failed" in await kinds(plane, "LATER")
            assert "task_failed" not in await kinds(plane, "LOCKED")
    async with plane_on(postgres, clock) as plane:
        # The stop answered what was on its way, once.
        assert (await kinds(plane, "LOCKED")).count("task_failed") == 1


async def test_a_stop_answers_what_was_submitted(database: Database, clock: Clock) -> None:
    async with plane_on(database, clock) as plane:
        waiting = [asyncio.ensure_future(plane.submit(order(f"T{n}"))) for n in range(300)]
        await asyncio.sleep(0)
    answers = await asyncio.gather(*waiting)
    assert all(isinstance(answer, Started) for answer in answers)


async def test_an_unknown_token_has_no_history(plane: Plane) -> None:
    with pytest.raises(TokenNotFound):
        await plane.history("T")
    with pytest.raises(TokenNotFound):
        await plane.token("T")


async def test_another_structure_is_refused_while_tokens_live(
    database: Database, clock: Clock
) -> None:
    async with plane_on(database, clock) as plane:
        await plane.submit(order("T"))
    changed = copy.deepcopy(ORDERS)
    changed["states"]["extra"] = {"emits": []}
    with pytest.raises(CannotOpen, match="tokens are active or paused"):
        await open_plane(graph=parse_graph(changed), db=database.url, clock=clock)
    # The refusal changed nothing: the old graph is still served.
    async with plane_on(database, clock) as plane:
        await plane.submit(Fire("T", "submitted"))
        await plane.submit(Fire("T", "reviewed", {"approved": True}))
    async with plane_on(database, clock, changed) as plane:
        assert (await plane.token("T")).status == "completed"


async def test_another_timeout_or_retries_is_served_while_tokens_live(
    database: Database, clock: Clock
) -> None:
    async with plane_on(database, clock) as plane:
        await plane.submit(order("T"))
    changed = copy.deepcopy(ORDERS)
    changed["states"]["draft"].update(timeout="1h", retries=7)
    async with plane_on(database, clock, changed) as plane:
        assert plane.graph.flows["orders"].states["draft"].retries == 7


async def test_a_report_waits_for_a_lock_that_somebody_else_holds(
    postgres: Database, clock: Clock
) -> None:
    async with plane_on(postgres, clock) as plane:
        await plane.submit(order("T"))
        granted = await plane.claim(Claim(supervisor="box", states=("draft",)))
        report = Report(task=granted.grants[0].task, kind="event", event="submitted")
        async with await psycopg.AsyncConnection.connect(postgres.url) as locker:
            await locker.execute(
                "select 1 from stateous.tokens where token = 'T' for no key update"
            )
            reporting = asyncio.ensure_future(plane.submit(report))
            # Others go on meanwhile, however often the locked one is skipped.
            for n in range(20):
                await plane.submit(order(f"U{n}"))
            assert not reporting.done()
            await locker.rollback()
        await asyncio.wait_for(reporting, 10)
        assert (await plane.token("T")).state == "review"


@pytest.mark.parametrize("they_commit", [True, False])
async def test_a_child_id_that_another_start_takes_meanwhile_is_met_at_the_save(
    *, they_commit: bool, postgres: Database, clock: Clock
) -> None:
    async with plane_on(postgres, clock, parallel()) as plane:
        await plane.submit(order("P"))
        async with await psycopg.AsyncConnection.connect(postgres.url) as other:
            await other.execute(
                "insert into stateous.tokens select (json_populate_record(t, "
                """'{"token": "p.REVIEWS.1.style", "root": "p.REVIEWS.1.style"}')).* """
                "from stateous.tokens t where t.token = 'P'"
            )
            moving = asyncio.ensure_future(plane.submit(Fire("P", "ready")))
            await lock_waited_for(postgres)
            if they_commit:
                await other.commit()
            else:
                await other.rollback()
        if they_commit:
            with pytest.raises(EventNotAllowed, match="taken"):
                await moving
            assert (await plane.token("P")).state == "work"
        else:
            await moving
            assert (await plane.token("P.reviews.1.style")).state == "look"


async def lock_waited_for(database: Database) -> None:
    """Return when a session of the database waits for another one's lock."""
    async with await psycopg.AsyncConnection.connect(database.url, autocommit=True) as watcher:
        while True:
            found = await watcher.execute(
                "select 1 from pg_stat_activity where wait_event_type = 'Lock' "
                "and datname = current_database()"
            )
            if await found.fetchone():
                return
