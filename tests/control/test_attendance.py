"""Who is there is written down soon, then seldom, and nobody waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

import psycopg
import pytest
from structlog.testing import capture_logs

from stateous.control import attendance
from stateous.control.attendance import WRITTEN_EVERY, Attendance
from stateous.engine.commands import Beat, Claim, Start
from stateous.store.store import NotCommitted, Seen, Store
from tests.control.test_plane import plane_on
from tests.databases import Clock, Database
from tests.store.opened import raw

WAITING_FOR_LOCKS = """
select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()
"""


class NotingStore:
    """A store that keeps what it is told; it fails as often as `fails` says."""

    def __init__(self) -> None:
        self.told: list[list[Seen]] = []
        self.fails = 0
        self.was_told = asyncio.Event()

    async def supervisors_see(self, seen: Sequence[Seen]) -> None:
        if self.fails:
            self.fails -= 1
            raise NotCommitted("the database is away", alone=False)
        self.told.append(list(seen))
        self.was_told.set()

    @property
    def names(self) -> list[list[str]]:
        return [[seen.name for seen in told] for told in self.told]


class Passing:
    """The time of the running loop, carried on by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loop = asyncio.get_running_loop()
        self._later = 0.0
        time = loop.time
        monkeypatch.setattr(loop, "time", lambda: time() + self._later)

    def forward(self, seconds: float) -> None:
        self._later += seconds


def noting() -> tuple[NotingStore, Attendance]:
    store = NotingStore()
    return store, Attendance(cast("Store", store))


async def test_whoever_claims_is_written_once_and_then_now_and_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, there = noting()
    time = Passing(monkeypatch)
    for _ in range(3):
        for _ in range(20):
            with there.claims("box", ("draft", "review")):
                pass
            await there.write()
        time.forward(WRITTEN_EVERY)
    assert store.names == [["box"], ["box"], ["box"]]
    assert store.told[0][0].states == ("draft", "review")


async def test_a_claim_that_waits_is_there_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    store, there = noting()
    time = Passing(monkeypatch)
    with there.claims("box", ("draft",)):
        for _ in range(3):
            await there.write()
            time.forward(WRITTEN_EVERY)
    assert [[seen.ago for seen in told] for told in store.told] == [[0.0]] * 3


async def test_who_left_is_written_once_more_and_with_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, there = noting()
    time = Passing(monkeypatch)
    with there.claims("box", ("draft",)):
        await there.write()
    for _ in range(5):
        time.forward(WRITTEN_EVERY)
        await there.write()
    assert store.names == [["box"], ["box"]]
    assert WRITTEN_EVERY <= store.told[1][0].ago < WRITTEN_EVERY + 5


async def test_who_asks_for_other_states_is_written_at_once() -> None:
    store, there = noting()
    for states in (("draft",), ("draft",), ("review",)):
        with there.claims("box", states):
            pass
        await there.write()
    assert [told[0].states for told in store.told] == [("draft",), ("review",)]


async def test_a_heartbeat_tells_no_states() -> None:
    store, there = noting()
    there.beats("box")
    await there.write()
    assert store.told[0][0].states is None


async def test_what_could_not_be_written_is_written_by_the_next_try() -> None:
    store, there = noting()
    there.beats("box")
    store.fails = 1
    with pytest.raises(NotCommitted):
        await there.write()
    await there.write()
    assert store.names == [["box"]]


async def test_a_crowd_is_written_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attendance, "MOST_AT_ONCE", 2)
    store, there = noting()
    for number in range(5):
        there.beats(f"box-{number}")
    for _ in range(4):
        await there.write()
    assert [len(names) for names in store.names] == [2, 2, 1]


async def test_it_runs_on_when_the_database_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attendance, "LOOK_EVERY", 0.0)
    store, there = noting()
    store.fails = 2
    with capture_logs() as logs:
        running = asyncio.create_task(there.run())
        there.beats("box")
        await asyncio.wait_for(store.was_told.wait(), 10)
        running.cancel()
        await asyncio.wait([running])
    assert [log["event"] for log in logs] == ["attendance.not_written"] * 2


async def test_a_control_plane_writes_down_who_claims_and_who_beats(
    database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attendance, "LOOK_EVERY", 0.0)
    async with plane_on(database, clock) as plane:
        waiting = asyncio.create_task(
            plane.claim(Claim(supervisor="waits", states=("/draft", "review")), wait=30)
        )
        await plane.beat(Beat("beats", (1,)))
        while len(rows := await raw(database, "select name, states from supervisors")) < 2:  # noqa: ASYNC110 - it comes by itself
            await asyncio.sleep(0)
        plane.end_waits()
        await waiting
    if database.dialect == "sqlite":
        assert sorted(rows) == [("beats", "[]"), ("waits", '["draft","review"]')]
    else:
        assert sorted(rows) == [("beats", []), ("waits", ["draft", "review"])]


async def test_nobody_waits_for_it(
    postgres: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table is locked, and what is to be written into it waits: work goes on all the same."""
    monkeypatch.setattr(attendance, "LOOK_EVERY", 0.0)
    async with (
        plane_on(postgres, clock) as plane,
        await psycopg.AsyncConnection.connect(postgres.url) as other,
    ):
        await other.execute("lock table stateous.supervisors in access exclusive mode")
        elsewhere = Claim(supervisor="new", states=("review",))
        waiting = asyncio.create_task(plane.claim(elsewhere, wait=30))
        while await raw(postgres, WAITING_FOR_LOCKS) != [(1,)]:  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0)
        await plane.submit(Start("T", {"title": "a title"}))
        granted = await plane.claim(Claim(supervisor="box", states=("draft",)))
        (grant,) = granted.grants
        assert await plane.beat(Beat("box", (grant.task,))) == ()
        await other.rollback()
        plane.end_waits()
        await waiting
