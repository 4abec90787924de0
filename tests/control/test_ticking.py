"""The clock goes on: past a tick that fails, and past a token whose command is refused; and it sleeps as long as it may."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest
from structlog.testing import capture_logs

from stateous.control import ticking
from stateous.control.clocks import SystemClock
from stateous.control.lane import TokenLane
from stateous.control.ticking import Ticker
from stateous.engine.commands import Start
from stateous.engine.family import ItemKey
from stateous.store.store import Store
from tests.control.scripted import ScriptedStore

NOW = datetime(2030, 1, 1, tzinfo=UTC)


class FailingStore(ScriptedStore):
    """Its first look for leases fails. Then it finds a task that is gone, and the timeout of a token."""

    def __init__(self) -> None:
        super().__init__()
        self.ticks = 0
        self.looked = asyncio.Event()

    async def leases_over(self, now: datetime, *, limit: int) -> list[tuple[int, str, str]]:
        self.ticks += 1
        if self.ticks == 1:
            raise RuntimeError("the database is away")
        return [(999, "gone", "box")]

    async def clock_try(self) -> bool:
        return True

    async def lease_next(self) -> datetime | None:
        return NOW - timedelta(seconds=1)

    async def timer_next(self) -> datetime | None:
        return NOW

    async def timers_due(self, now: datetime, *, limit: int) -> list[tuple[int, str, str]]:
        self.looked.set()
        return []

    async def locks_over(self, now: datetime, *, limit: int) -> list[tuple[int, str, int]]:
        return []

    async def items_due(self, now: datetime, *, limit: int) -> list[ItemKey]:
        return []


async def test_a_tick_that_fails_is_logged_and_the_next_one_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ticking, "TICK_EVERY", 0.0)
    store = FailingStore()
    lane = TokenLane(
        cast("Store", store),
        store.world.rules,
        rest_for=lambda _: 0.001,
        ready=store.told.append,
    )
    await lane.submit(Start("T", {"title": "a title"}))
    ticker = Ticker(cast("Store", store), lane, clock=lambda: NOW, lease_for=timedelta(minutes=2))
    with capture_logs() as logs:
        running = asyncio.create_task(ticker.run())
        # The second tick got as far as the timers, past a lease whose command was refused.
        await asyncio.wait_for(store.looked.wait(), 10)
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
    events = [log["event"] for log in logs]
    assert events[0].startswith("the clock's tick failed")
    assert "clock.command_refused" in events
    assert {log.get("code") for log in logs if log["event"] == "clock.command_refused"} == {
        "task_not_found"
    }


class Clockwork(ScriptedStore):
    """A store that has the clock or not, and writes down what is asked of it and told."""

    def __init__(self, *, is_ours: bool = True) -> None:
        super().__init__()
        self.is_ours = is_ours
        self.lease: datetime | None = None
        self.timer: datetime | None = None
        self.asked: list[str] = []
        self.said: list[tuple[Mapping[str, int] | None, datetime | None]] = []
        self.planned = asyncio.Semaphore(0)
        self.fired = asyncio.Event()

    def notify(
        self,
        ready: Mapping[str, int] | None,
        *,
        due: datetime | None = None,
        gone: frozenset[str] = frozenset(),
    ) -> None:
        self.said.append((ready, due))

    async def clock_try(self) -> bool:
        if not self.is_ours:
            self.planned.release()
        return self.is_ours

    async def lease_next(self) -> datetime | None:
        self.asked.append("lease_next")
        return self.lease

    async def timer_next(self) -> datetime | None:
        self.asked.append("timer_next")
        self.planned.release()
        return self.timer

    async def leases_over(self, now: datetime, *, limit: int) -> list[tuple[int, str, str]]:
        self.asked.append("leases_over")
        return []

    async def timers_due(self, now: datetime, *, limit: int) -> list[tuple[int, str, str]]:
        self.asked.append("timers_due")
        self.timer = None
        self.fired.set()
        return []


@asynccontextmanager
async def running(store: Clockwork) -> AsyncGenerator[Ticker]:
    """A clock that has made its first plan, and sleeps."""
    as_store = cast("Store", store)
    lane = TokenLane(as_store, store.world.rules, rest_for=lambda _: 0.001, ready=store.told.append)
    ticker = Ticker(as_store, lane, clock=SystemClock(), lease_for=timedelta(minutes=2))
    run = asyncio.create_task(ticker.run())
    await asyncio.wait_for(store.planned.acquire(), 10)
    await asyncio.sleep(0)
    try:
        yield ticker
    finally:
        run.cancel()
        with suppress(asyncio.CancelledError):
            await run


async def test_it_sleeps_until_something_is_due_and_asks_for_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ticking, "TICK_EVERY", 3600.0)
    store = Clockwork()
    store.timer = SystemClock()() + timedelta(milliseconds=200)
    async with running(store):
        await asyncio.wait_for(store.fired.wait(), 10)
    assert store.asked[:3] == ["lease_next", "timer_next", "timers_due"]
    assert "leases_over" not in store.asked


async def test_a_timer_that_is_set_meanwhile_is_not_slept_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ticking, "TICK_EVERY", 3600.0)
    store = Clockwork()
    async with running(store) as ticker:
        ticker.expect(SystemClock()() + timedelta(hours=2))
        assert store.asked == ["lease_next", "timer_next"]
        store.timer = SystemClock()() + timedelta(milliseconds=50)
        ticker.expect(store.timer)
        await asyncio.wait_for(store.fired.wait(), 10)
    assert store.said == [(None, None)]


async def test_who_does_not_run_the_clock_tells_of_timers_that_it_could_miss() -> None:
    store = Clockwork(is_ours=False)
    async with running(store) as ticker:
        soon = SystemClock()() + timedelta(seconds=1)
        ticker.expect(soon)
        ticker.expect(soon + timedelta(hours=1))
    assert store.said == [({}, soon)]
    assert store.asked == []
