"""A database of every past version, with tokens in all conditions: an upgrade keeps them, and they are served to their ends."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from stateous.control import ticking
from stateous.control.compose import open_plane
from stateous.control.plane import Plane
from stateous.engine.commands import Claim, Fire, Report, Respond, Resume
from stateous.engine.lifecycles import LIVE_TOKEN
from stateous.model.graph import parse_graph
from stateous.store.migrate import known_versions
from stateous.store.upkeep import Upgraded, check, upgrade
from stateous.store.urls import open_upkeep
from tests.databases import Clock, Database
from tests.store.opened import raw
from tests.upgrade.past import FOLDER, Rows, fill, last_time, make_version, rows_of

STATES = {"draft": "submitted", "review": "reviewed", "ship": "shipped", "credit/ask": "answered"}
APPROVED = {"approved": True}
NEWEST = known_versions()[-1]


@pytest.fixture
async def empty(dialect: str, request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    """A database in which Stateous has nothing yet."""
    if dialect == "sqlite":
        return Database(dialect, f"sqlite:///{tmp_path}/old.db")
    postgres: Database = request.getfixturevalue("postgres")
    await raw(postgres, "drop schema stateous cascade")
    await raw(postgres, "drop schema stateous_views cascade")
    return postgres


async def found_in(database: Database, rows: Rows) -> list[Any]:
    """The rows of these tables, in the columns that were filled."""
    return [
        sorted(
            await raw(database, f"select {', '.join(kept[0])} from {table}"),  # noqa: S608
            key=repr,
        )
        for table, kept in rows.items()
    ]


class Served:
    """A control plane that is driven until no token lives any more."""

    def __init__(self, database: Database, plane: Plane, clock: Clock) -> None:
        self.database = database
        self.plane = plane
        self.clock = clock

    async def live(self) -> list[tuple[str, str, str]]:
        """Tokens that have not ended, with their status and their open task."""
        rows = await raw(self.database, "select token, status, parent is null from tokens")
        return [(token, status, top) for token, status, top in rows if status in LIVE_TOKEN]

    async def serve_to_the_end(self) -> None:
        for _ in range(20):
            live = await self.live()
            if not live:
                return
            for token, status, is_top in live:
                if status == "paused" and is_top:
                    await self.plane.submit(Resume(token))
            await self.work()
            await self.wake_up()
            self.clock.forward(minutes=10)
            await self.plane.ticker.tick()
        raise AssertionError(f"these do not end: {await self.live()}")

    async def work(self) -> None:
        """Do every task that is ready."""
        claim = Claim(supervisor="new-box", states=tuple(STATES), max=100)
        for grant in (await self.plane.claim(claim)).grants:
            await self.report(grant.task, grant.state, grant.attempt, by="new-box")

    async def report(self, task: int, queue: str, attempt: int, *, by: str) -> None:
        event = STATES[queue]
        payload = APPROVED if event == "reviewed" else None
        await self.plane.submit(
            Report(
                task=task,
                kind="event",
                event=event,
                payload=payload,
                attempt=attempt,
                supervisor=by,
            )
        )

    async def wake_up(self) -> None:
        """Tell each token what it waits for from outside."""
        waiting = "select token, state from tasks where status = 'waiting' and state = 'review'"
        for token, _ in await raw(self.database, waiting):
            if (await self.plane.token(token)).status == "active":
                await self.plane.submit(Fire(token, "reviewed", APPROVED))
        asked = "select task, name, correlation from steps where correlation is not null"
        for task, step, correlation in await raw(self.database, asked):
            answer = Respond(task=task, step=step, correlation=correlation, status="completed")
            await self.plane.submit(answer)


def test_the_newest_version_is_kept() -> None:
    """Else nobody could try the version that comes next on it."""
    assert (FOLDER / f"{NEWEST}.json").is_file(), "run python -m tests.upgrade.past"


def test_what_is_kept_is_in_each_table_and_in_all_conditions() -> None:
    rows = rows_of(NEWEST)
    assert all(rows.values())
    assert {row["status"] for row in rows["tokens"]} == {
        "active",
        "paused",
        "completed",
        "failed",
        "cancelled",
    }
    assert {row["status"] for row in rows["tasks"]} == {
        "queued",
        "claimed",
        "waiting",
        "done",
        "cancelled",
        "failed",
    }
    assert {row["kind"] for row in rows["timers"]} == {"timeout", "timer", "deadline"}
    assert {row["kind"] for row in rows["steps"]} == {"step", "response", "child"}
    assert {row["status"] for row in rows["tokens"] if row["child"]} == {"active", "paused"}
    for table in ("tasks", "timers"):
        assert any(row["parked"] for row in rows[table])


@pytest.mark.parametrize("version", known_versions())
async def test_what_is_there_outlives_an_upgrade_and_is_served_to_its_end(
    version: str, empty: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ticking, "TICK_EVERY", 3600.0)
    await asyncio.to_thread(make_version, empty, version)
    rows = await asyncio.to_thread(fill, empty, version)
    before = await found_in(empty, rows)
    upkeep = open_upkeep(empty.url)
    done = await upgrade(upkeep, empty.store(clock))
    if version != NEWEST:
        assert done == Upgraded(version, NEWEST)
    assert await check(upkeep) == NEWEST
    assert without_epoch(await found_in(empty, rows)) == without_epoch(before)

    (on_record,) = rows["control_plane"]
    claimed = [row for row in rows["tasks"] if row["status"] == "claimed"]
    clock.now = min(datetime.fromisoformat(row["lease_until"]) for row in claimed)
    plane = await open_plane(
        graph=parse_graph(on_record["graph"]), db=empty.url, clock=clock, migrates=False
    )
    try:
        assert plane.graph.checksum == on_record["checksum"]
        await plane.inbox.empty()
        served = Served(empty, plane, clock)
        for row in claimed:
            # Whoever worked on it while the tables were upgraded has a result now.
            await served.report(row["id"], row["queue"], row["attempt"], by=row["claimed_by"])
        clock.now = last_time(rows)
        await served.serve_to_the_end()
        for row in rows["tokens"]:
            history = await plane.history(row["token"])
            assert [entry.seq for entry in history] == list(range(1, len(history) + 1))
            assert len(history) >= row["seq"]
            if row["status"] in LIVE_TOKEN:
                assert len(history) > row["seq"]
                assert (await plane.token(row["token"])).status == "completed", history[-3:]
        if "inbox" in rows:
            assert await raw(empty, "select status, code from inbox order by id") == [
                ("applied", None),
                ("applied", None),
                ("refused", "token_not_found"),
            ]
            assert (await plane.token("ORDER-20")).status == "completed"
    finally:
        await plane.stop()


def without_epoch(found: list[Any]) -> str:
    """What was found, but for the epoch, which whoever upgrades raises."""
    return repr([[row for row in rows if "box:1:past" not in row] for rows in found])
