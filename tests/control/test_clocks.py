"""Time is the database's: control planes whose computers have wrong clocks decide as any other."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest
from structlog.testing import capture_logs

from stateous.control import ticking, timekeeping
from stateous.control.clocks import ManualClock, SystemClock, since_1970_ns
from stateous.control.compose import open_plane
from stateous.control.plane import Plane
from stateous.control.timekeeping import Sample, Timekeeper, best_of
from stateous.engine.commands import Beat, Claim, Fire, Start
from stateous.model.graph import parse_graph
from stateous.model.refusals import DatabaseBusy
from stateous.store.store import Store
from tests.databases import Database
from tests.engine.graphs import ORDERS
from tests.store.opened import raw

SECOND = 1_000_000_000
MINUTES = (-10, 0, 10)
CLAIM = Claim(supervisor="box", states=("draft", "review"))


def wrong_by(minutes: float) -> SystemClock:
    """The clock of a computer that is so many minutes ahead."""
    return SystemClock(wall_ns=lambda: time.time_ns() + round(minutes * 60 * SECOND))


@asynccontextmanager
async def served(database: Database, clock: SystemClock) -> AsyncGenerator[Plane]:
    plane = await open_plane(graph=parse_graph(ORDERS), db=database.url, clock=clock)
    try:
        yield plane
    finally:
        await plane.stop()


@pytest.fixture(autouse=True)
def only_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ticking, "TICK_EVERY", 3600.0)


async def now_of(database: Database) -> datetime:
    found = await raw(database, "select clock_timestamp()")
    return found[0][0]


@pytest.mark.parametrize("minutes", MINUTES)
async def test_a_wrong_clock_tells_the_databases_time(postgres: Database, minutes: float) -> None:
    clock = wrong_by(minutes)
    first = await now_of(postgres)
    async with served(postgres, clock):
        before = await now_of(postgres)
        told = clock()
        after = await now_of(postgres)
        ((since,),) = await raw(postgres, "select since from control_plane")
    assert first < since < before
    assert before - timedelta(seconds=1) < told < after + timedelta(seconds=1)


@pytest.mark.parametrize("first", MINUTES)
@pytest.mark.parametrize("second", MINUTES)
async def test_a_lease_and_a_timeout_are_as_long_whoever_serves(
    postgres: Database, first: float, second: float
) -> None:
    began = await now_of(postgres)
    async with served(postgres, wrong_by(first)) as plane:
        await plane.submit(Start("T", {"title": "a title"}))
        await plane.submit(Fire("T", "submitted"))
        (grant,) = (await plane.claim(CLAIM)).grants
    async with served(postgres, wrong_by(second)) as plane:
        # A clock ten minutes ahead would end the lease of two minutes; one behind would give one for twelve.
        await plane.ticker.tick()
        assert await plane.beat(Beat("box", (grant.task,))) == ()
        entries = await plane.history("T")
        ended = await now_of(postgres)
        ((lease_until,),) = await raw(
            postgres, "select lease_until from tasks where status = 'claimed'"
        )
    times = [entry.at for entry in entries]
    slack = timedelta(seconds=1)
    assert began - slack < times[0] <= times[-1] < ended + slack
    assert began + plane.lease_for - slack < lease_until < ended + plane.lease_for + slack


async def test_on_sqlite_the_computers_clock_counts(tmp_path: object) -> None:
    clock = wrong_by(10)
    async with served(Database("sqlite", f"sqlite:///{tmp_path}/a.db"), clock):
        assert clock() > datetime.now(UTC) + timedelta(minutes=9)


# -- which sample counts --------------------------------------------------------------------------------


def samples(*each: tuple[int, int, int]) -> deque[Sample]:
    return deque(Sample(at, offset, trip) for at, offset, trip in each)


def test_of_the_samples_the_one_with_the_shortest_round_trip_counts() -> None:
    read = samples((0, 5_000, 900_000), (100, 1_000, 20_000), (200, 9_000, 400_000))
    assert best_of(read).offset == 1_000
    assert len(read) == 3


def test_clocks_drift_so_that_a_short_trip_long_ago_counts_less() -> None:
    hour = 3600 * SECOND
    assert best_of(samples((0, 1_000, 20_000), (hour, 9_000, 400_000))).offset == 9_000


def test_a_sample_that_contradicts_the_others_begins_anew() -> None:
    read = samples((0, 1_000, 20_000), (SECOND, 60 * SECOND, 400_000))
    assert best_of(read).offset == 60 * SECOND
    assert len(read) == 1


class Times:
    """A database that says these times, one after the other; None: it is away."""

    def __init__(self, *says: datetime | None) -> None:
        self.says = deque(says)
        self.asked = asyncio.Semaphore(0)

    async def time_read(self) -> datetime:
        self.asked.release()
        said = self.says.popleft() if len(self.says) > 1 else self.says[0]
        if said is None:
            msg = "the database is away"
            raise DatabaseBusy(msg)
        return said


THEN = datetime(2030, 1, 1, tzinfo=UTC)


async def test_a_large_correction_is_logged_and_a_small_one_is_not() -> None:
    clock = SystemClock(wall_ns=lambda: since_1970_ns(THEN))
    keeper = Timekeeper(cast("Store", Times(THEN, THEN + timedelta(hours=1))), clock)
    with capture_logs() as logs:
        await keeper.sample()
        await keeper.sample()
    (entry,) = [log for log in logs if log["event"] == "clock.set"]
    assert 3590 < entry["by"] < 3610
    assert clock() >= THEN + timedelta(hours=1)


async def test_a_database_that_is_away_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timekeeping, "SET_EVERY", 0.0)
    clock = SystemClock()
    times = Times(None, None, THEN)
    running = asyncio.create_task(Timekeeper(cast("Store", times), clock).run())
    async with asyncio.timeout(20):
        for _ in range(4):
            await times.asked.acquire()
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    assert THEN <= clock() < THEN + timedelta(minutes=1)


async def test_who_asks_has_the_clock_set_at_once() -> None:
    times = Times(THEN)
    keeper = Timekeeper(cast("Store", times), SystemClock())
    running = asyncio.create_task(keeper.run())
    keeper.ask()
    await asyncio.wait_for(times.asked.acquire(), 5)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def test_a_clock_that_is_moved_by_hand_is_left_alone() -> None:
    times = Times(THEN)
    clock = ManualClock()
    before = clock()
    await Timekeeper(cast("Store", times), clock).begin()
    assert clock() == before
    assert times.asked.locked()
