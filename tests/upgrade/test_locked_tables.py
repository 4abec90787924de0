"""An upgrade waits for others only briefly, tries again, and gives up as a whole, naming who is in the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest
from structlog.testing import capture_logs

from stateous.store.migrate import known_versions
from stateous.store.postgres import tables
from stateous.store.postgres.session import Place
from stateous.store.store import CannotOpen
from stateous.store.upkeep import check, upgrade
from stateous.store.urls import open_upkeep
from tests.databases import Clock, Database
from tests.store.opened import opened, raw
from tests.upgrade.past import make_version

CONTENTS = "select relname from pg_class where relnamespace = 'stateous'::regnamespace order by 1"
WAITS = (
    "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
)


@pytest.fixture
async def old(postgres: Database) -> Database:
    """A database of the first version."""
    await raw(postgres, "drop schema stateous cascade")
    await raw(postgres, "drop schema stateous_views cascade")
    await asyncio.to_thread(make_version, postgres, "0001")
    return postgres


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A try waits for 50 ms, and the rest between two is as long."""
    connect = Place.connect_blocking

    def connect_briefly(place: Place) -> psycopg.Connection[tuple[Any, ...]]:
        connection = connect(place)
        limit = connection.execute("show lock_timeout").fetchone()
        assert limit == ("3s",)
        connection.execute("set lock_timeout = '50ms'")
        connection.commit()
        return connection

    monkeypatch.setattr(Place, "connect_blocking", connect_briefly)
    monkeypatch.setattr(tables, "REST", 0.05)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch, impatient: None) -> None:
    """A try waits for as long as others take."""
    connect = Place.connect_blocking

    def connect_patiently(place: Place) -> psycopg.Connection[tuple[Any, ...]]:
        connection = connect(place)
        connection.execute("set lock_timeout = '1min'")
        connection.commit()
        return connection

    monkeypatch.setattr(Place, "connect_blocking", connect_patiently)


@asynccontextmanager
async def long_transaction(database: Database) -> AsyncGenerator[psycopg.AsyncConnection[Any]]:
    """Somebody's transaction that has written into the ledger and does not end."""
    connection = await psycopg.AsyncConnection.connect(database.url, application_name="nightly")
    try:
        await connection.execute("lock table stateous.ledger in row exclusive mode")
        yield connection
    finally:
        await connection.close()


async def test_who_is_in_the_way_is_named_and_nothing_is_half_done(
    old: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "TRIES", 2)
    before = await raw(old, CONTENTS)
    async with long_transaction(old) as busy:
        with pytest.raises(CannotOpen) as caught, capture_logs() as logged:
            await upgrade(open_upkeep(old.url), old.store(clock))
        pid = busy.info.backend_pid
    assert str(caught.value) == (
        f"the tables could not be changed, for they are in use by nightly (pid {pid}), and nothing was: "
        "end those transactions, or try again later"
    )
    assert [each["event"] for each in logged] == ["tables.in_use"]
    assert await raw(old, CONTENTS) == before
    assert await raw(old, "select version_num from stateous_version") == [("0001",)]
    # Nobody has the hold any more: it can be tried again.
    assert (await upgrade(open_upkeep(old.url), old.store(clock))).before == "0001"


async def test_an_upgrade_goes_on_when_they_have_ended(old: Database, clock: Clock) -> None:
    async with long_transaction(old) as busy:
        with capture_logs() as logged:
            upgrading = asyncio.create_task(upgrade(open_upkeep(old.url), old.store(clock)))
            while not any(each["event"] == "tables.in_use" for each in logged):
                await raw(old, "select 1")
            await busy.rollback()
            assert (await upgrading).after == known_versions()[-1]
    assert await check(open_upkeep(old.url)) == known_versions()[-1]


async def test_an_upgrade_that_is_cancelled_is_over_before_anybody_else_may_begin(
    old: Database, clock: Clock, patient: None
) -> None:
    holds = "select 1 from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())"
    async with long_transaction(old) as busy:
        store = old.store(clock)
        opening = asyncio.create_task(store.open())
        while not await raw(old, WAITS):
            assert not opening.done()
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        assert await raw(old, WAITS) == []
        while await raw(old, holds):
            pass
        await busy.rollback()
    assert await raw(old, "select version_num from stateous_version") == [("0001",)]
    assert (await upgrade(open_upkeep(old.url), old.store(clock))).before == "0001"


async def test_views_are_made_again_when_they_are_not_looked_at(
    postgres: Database, clock: Clock
) -> None:
    await raw(postgres, "drop view stateous_views.paths")
    connection = await psycopg.AsyncConnection.connect(postgres.url)
    try:
        await connection.execute("select * from stateous_views.board")
        with capture_logs() as logged:
            upgrading = asyncio.create_task(
                upgrade(open_upkeep(postgres.url), postgres.store(clock))
            )
            while not any(each["event"] == "tables.in_use" for each in logged):
                await raw(postgres, "select 1")
            await connection.rollback()
            assert (await upgrading).again == ("view paths",)
    finally:
        await connection.close()


async def test_who_makes_views_again_lets_another_one_end_first(
    postgres: Database, clock: Clock, patient: None
) -> None:
    ((made,),) = await raw(postgres, "select pg_get_viewdef('stateous_views.paths'::regclass)")
    await raw(postgres, "drop view stateous_views.paths")
    turn = Place(postgres.url, schema="stateous").views
    connection = await psycopg.AsyncConnection.connect(postgres.url)
    try:
        await connection.execute("select pg_advisory_xact_lock(%s)", (turn,))
        await connection.execute("set search_path = stateous")
        await connection.execute(f"create view stateous_views.paths as {made}".encode())
        upgrading = asyncio.create_task(upgrade(open_upkeep(postgres.url), postgres.store(clock)))
        while not await raw(postgres, WAITS):
            assert not upgrading.done()
        await connection.commit()
        await upgrading
    finally:
        await connection.close()
    assert await check(open_upkeep(postgres.url)) == known_versions()[-1]


async def test_who_serves_keeps_an_upgrade_away_and_is_named(old: Database, clock: Clock) -> None:
    async with opened(old.store(clock)):
        await raw(old, "update stateous_version set version_num = '0002'")
        before = await raw(old, CONTENTS)
        with pytest.raises(CannotOpen, match="another control plane serves this database"):
            await upgrade(open_upkeep(old.url), old.store(clock))
        assert await raw(old, CONTENTS) == before
