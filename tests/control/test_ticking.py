"""The clock goes on: past a tick that fails, and past a token whose command is refused."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest
from structlog.testing import capture_logs

from stateous.control import ticking
from stateous.control.lane import TokenLane
from stateous.control.ticking import Ticker
from stateous.engine.commands import Start
from stateous.store.store import Store
from tests.control.scripted import ScriptedStore

NOW = datetime(2030, 1, 1, tzinfo=UTC)


class FailingStore(ScriptedStore):
    """Its first look for leases fails. Then it finds a task that is gone, and the timeout of a token."""

    def __init__(self) -> None:
        super().__init__()
        self.ticks = 0
        self.looked = asyncio.Event()

    async def leases_over(self, now: datetime, *, limit: int) -> list[tuple[int, str]]:
        self.ticks += 1
        if self.ticks == 1:
            raise RuntimeError("the database is away")
        return [(999, "gone")]

    async def clock_try(self) -> bool:
        return True

    async def lease_next(self) -> datetime | None:
        return NOW - timedelta(seconds=1)

    async def timer_next(self) -> datetime | None:
        return NOW

    async def timers_due(self, now: datetime, *, limit: int) -> list[tuple[int, str, str]]:
        self.looked.set()
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
