"""A clock that is moved by hand: what a move decides, that it is kept, and what happens when it goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import psycopg
import pytest

from stateous.control import advancing, ticking
from stateous.control.advancing import Advancer
from stateous.control.clocks import ManualClock
from stateous.control.compose import open_plane
from stateous.control.plane import Plane
from stateous.control.ticking import Ticker
from stateous.engine.clockwork import LATEST
from stateous.engine.commands import Beat, Claim, Fire, Report, Start
from stateous.engine.family import Schedule
from stateous.model.graph import parse_graph
from stateous.model.refusals import DatabaseBusy, InvalidArgument, NotServing, Unexpected
from stateous.store.store import NotCommitted, Store
from tests.databases import Clock, Database
from tests.engine.graphs import ORDERS
from tests.store.opened import raw

LEASE = timedelta(seconds=120)
INSTANT = timedelta(microseconds=1)
HOUR = timedelta(hours=1)
ROUND_AND_ROUND: dict[str, Any] = {
    "stateous": 1,
    "workflow": "rounds",
    "states": {"s": {"emits": [], "timeout": "1h"}},
    "events": {},
    "transitions": [
        {"from": "__start__", "to": "s"},
        {"from": "s", "to": "s", "on": "timeout"},
    ],
    "schemas": {},
}


@asynccontextmanager
async def by_hand(
    database: Database, document: dict[str, Any] = ORDERS
) -> AsyncGenerator[tuple[Plane, Advancer]]:
    """A control plane with a manual clock, and what moves it."""
    plane = await open_plane(
        graph=parse_graph(document), db=database.url, lease_for=LEASE, clock=ManualClock()
    )
    try:
        assert plane.advancer is not None
        yield plane, plane.advancer
    finally:
        await plane.stop()


async def in_review(plane: Plane, token: str) -> None:
    await plane.submit(Start(token, {"title": "a title"}))
    await plane.submit(Fire(token, "submitted"))


async def claimed(plane: Plane) -> int:
    """The task of `review` that `box` holds now."""
    granted = await plane.claim(Claim(supervisor="box", states=("review",)))
    return granted.grants[0].task


async def kinds(plane: Plane, token: str) -> list[str]:
    return [entry.kind for entry in await plane.history(token)]


async def test_a_timeout_of_six_hours_takes_no_time(database: Database) -> None:
    async with by_hand(database) as (plane, advancer):
        await in_review(plane, "T")
        entered_at = (await plane.token("T")).entered_at
        assert await advancer.advance(6 * HOUR - INSTANT) == entered_at + 6 * HOUR - INSTANT
        assert "timer_fired" not in await kinds(plane, "T")
        now = await advancer.advance(INSTANT)
        assert (await plane.token("T")).status == "failed"
        entries = await plane.history("T")
        assert [entry.kind for entry in entries[-3:]] == ["timer_fired", "task_cancelled", "failed"]
        assert {entry.at for entry in entries[-3:]} == {now} == {entered_at + 6 * HOUR}


async def test_a_lease_ends_strictly_after_its_time(database: Database) -> None:
    async with by_hand(database) as (plane, advancer):
        await in_review(plane, "T")
        task = await claimed(plane)
        await advancer.advance(LEASE)
        assert (await kinds(plane, "T"))[-1] == "task_claimed"
        assert await plane.beat(Beat("box", (task,))) == ()
        await advancer.advance(LEASE)
        assert (await kinds(plane, "T"))[-1] == "task_claimed"
        await advancer.advance(INSTANT)
        assert (await kinds(plane, "T"))[-2:] == ["task_failed", "task_retrying"]
        assert await plane.beat(Beat("box", (task,))) == (task,)


async def test_leases_end_before_timers_fire_and_timers_fire_in_order(database: Database) -> None:
    async with by_hand(database) as (plane, advancer):
        await in_review(plane, "WAITS")
        await in_review(plane, "HELD")
        schedules = tuple(
            Schedule(event, None, after)
            for event, after in (("leave", "2h"), ("nudge", "1h"), ("submitted", "1h"))
        )
        task = await claimed(plane)
        await plane.submit(
            Report(task=task, kind="waiting", schedules=schedules, supervisor="box", attempt=1)
        )
        await claimed(plane)
        await advancer.advance(6 * HOUR)
        fired = [
            entry.data["event"]
            for entry in await plane.history("WAITS")
            if entry.kind == "timer_fired"
        ]
        assert fired == ["nudge", "submitted", "leave", "timeout"]
        assert (await kinds(plane, "HELD"))[-5:] == [
            "task_failed",
            "task_retrying",
            "timer_fired",
            "task_cancelled",
            "failed",
        ]


async def test_a_state_that_was_entered_in_a_move_waits_for_a_later_one(database: Database) -> None:
    async with by_hand(database, ROUND_AND_ROUND) as (plane, advancer):
        await plane.submit(Start("T", {}))
        now = await advancer.advance(10 * HOUR)
        token = await plane.token("T")
        assert (token.visit, token.entered_at) == (2, now)
        await advancer.advance(timedelta())
        assert (await plane.token("T")).visit == 2
        await advancer.advance(1 * HOUR)
        assert (await plane.token("T")).visit == 3


async def test_nothing_ticks_by_itself(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ticking, "TICK_EVERY", 0.0)
    ticks: list[Ticker] = []

    async def tick(ticker: Ticker) -> None:
        ticks.append(ticker)

    monkeypatch.setattr(Ticker, "tick", tick)
    async with by_hand(database) as (plane, advancer):
        for n in range(5):
            await plane.submit(Start(f"T{n}", {"title": "a title"}))
        assert ticks == []
        await advancer.advance(timedelta())
        assert ticks == [plane.ticker]


async def test_a_plane_on_another_clock_has_nothing_to_move(
    database: Database, clock: Clock
) -> None:
    plane = await open_plane(graph=parse_graph(ORDERS), db=database.url, clock=clock)
    assert plane.advancer is None
    await plane.stop()


async def test_the_clock_begins_at_real_time_and_a_restart_never_takes_it_back(
    database: Database,
) -> None:
    before = datetime.now(UTC)
    async with by_hand(database) as (_, advancer):
        began_at = advancer.now
        assert before <= began_at <= datetime.now(UTC)
        moved_to = await advancer.advance(100 * HOUR)
    async with by_hand(database) as (plane, advancer):
        assert advancer.now == moved_to == began_at + 100 * HOUR
        await in_review(plane, "T")
        assert (await plane.token("T")).entered_at == moved_to


async def test_the_clock_begins_at_the_last_decision_when_nothing_else_is_later(
    database: Database, clock: Clock
) -> None:
    clock.now = datetime(2300, 1, 1, tzinfo=UTC)
    plane = await open_plane(graph=parse_graph(ORDERS), db=database.url, clock=clock)
    await plane.submit(Start("T", {"title": "a title"}))
    await plane.stop()
    async with by_hand(database) as (_, advancer):
        assert advancer.now == clock.now


async def test_who_serves_is_told_in_real_time(database: Database) -> None:
    async with by_hand(database) as (_, advancer):
        await advancer.advance(100_000 * HOUR)
    async with by_hand(database):
        ((since,),) = await raw(database, "select since from control_plane")
        assert str(since)[:4] < str(advancer.now.year)


async def test_moves_that_come_together_are_made_one_after_the_other(database: Database) -> None:
    async with by_hand(database, ROUND_AND_ROUND) as (plane, advancer):
        await plane.submit(Start("T", {}))
        began_at = advancer.now
        times = await asyncio.gather(*(advancer.advance(HOUR) for _ in range(8)))
        assert times == [began_at + n * HOUR for n in range(1, 9)]
        assert (await plane.token("T")).visit == 9


async def test_a_clock_is_not_moved_beyond_what_a_time_can_say(database: Database) -> None:
    async with by_hand(database) as (plane, advancer):
        began_at = advancer.now
        with pytest.raises(InvalidArgument, match="the year 9000"):
            await advancer.advance(LATEST - began_at + INSTANT)
        assert advancer.now == began_at
        assert await advancer.advance(LATEST - began_at) == LATEST
        # Whatever is set at the end of time can still be due later.
        await in_review(plane, "T")
        await claimed(plane)


async def test_a_control_plane_that_was_replaced_moves_nothing(database: Database) -> None:
    async with by_hand(database) as (_, advancer):
        await advancer.advance(HOUR)
        kept = await raw(database, "select clock from control_plane")
        now = advancer.now
        await raw(database, "update control_plane set epoch = epoch + 1")
        for _ in range(2):
            with pytest.raises(NotServing):
                await advancer.advance(HOUR)
        assert advancer.now == now
        assert await raw(database, "select clock from control_plane") == kept


async def test_a_token_that_is_locked_elsewhere_does_not_hold_a_move_up(
    postgres: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ticking, "PATIENCE", 0.2)
    async with by_hand(postgres) as (plane, advancer):
        await in_review(plane, "LOCKED")
        await in_review(plane, "FREE")
        async with await psycopg.AsyncConnection.connect(postgres.url) as locker:
            await locker.execute(
                "select 1 from stateous.tokens where token = 'LOCKED' for no key update"
            )
            await asyncio.wait_for(advancer.advance(6 * HOUR), 5)
            assert (await plane.token("FREE")).status == "failed"
            await asyncio.wait_for(advancer.advance(HOUR), 5)
            assert (await plane.token("LOCKED")).status == "active"
        await advancer.advance(timedelta())
    async with by_hand(postgres) as (plane, _):
        assert (await kinds(plane, "LOCKED")).count("timer_fired") == 1


# -- a store whose faults a test dictates -------------------------------------------------------------


class FaultyStore:
    """Refuses so many writes of the clock, and notes the others."""

    def __init__(self, refusals: int) -> None:
        self.refusals = refusals
        self.kept: list[datetime] = []

    async def clock_write(self, now: datetime) -> None:
        if self.refusals:
            self.refusals -= 1
            raise NotCommitted("the connection was cut", alone=False)
        self.kept.append(now)


class Ticks:
    """Counts ticks; each ends in this fault, if there is one."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.fault = fault
        self.count = 0

    async def tick(self) -> None:
        self.count += 1
        if self.fault is not None:
            raise self.fault


def faulty(store: FaultyStore, ticks: Ticks) -> Advancer:
    return Advancer(cast("Store", store), cast("Ticker", ticks), clock=ManualClock())


async def test_a_time_that_cannot_be_kept_at_once_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(advancing, "REST_AFTER_FAULT", 0.0)
    store, ticks = FaultyStore(3), Ticks()
    advancer = faulty(store, ticks)
    now = await advancer.advance(HOUR)
    assert store.kept == [now]
    assert ticks.count == 1


async def test_a_time_that_cannot_be_kept_is_not_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advancing, "DEADLINE_FOR", 0.0)
    store, ticks = FaultyStore(1), Ticks()
    advancer = faulty(store, ticks)
    began_at = advancer.now
    with pytest.raises(DatabaseBusy):
        await advancer.advance(HOUR)
    assert advancer.now == began_at
    assert ticks.count == 0
    assert await advancer.advance(HOUR) == began_at + HOUR


async def test_a_tick_that_fails_asks_nobody_to_move_the_clock_again() -> None:
    store, ticks = FaultyStore(0), Ticks(DatabaseBusy("the database did not answer a read"))
    advancer = faulty(store, ticks)
    began_at = advancer.now
    with pytest.raises(Unexpected):
        await advancer.advance(HOUR)
    assert store.kept == [advancer.now] == [began_at + HOUR]
    ticks.fault = None
    assert await advancer.advance(timedelta()) == began_at + HOUR


def test_a_manual_clock_stands_still_and_never_runs_backwards() -> None:
    clock = ManualClock()
    began_at = clock()
    clock.move_to(began_at - HOUR)
    assert clock() == began_at
    clock.move_to(began_at + HOUR)
    assert clock() == began_at + HOUR
