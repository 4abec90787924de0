"""Who serves without migrating makes nothing: tables that are not of its version are refused, and left as they are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from stateous.store.migrate import known_versions
from stateous.store.serving import Mode
from stateous.store.store import CannotOpen, Store
from stateous.store.urls import open_store
from tests.databases import Clock, Database
from tests.store.opened import opened, raw
from tests.store.test_replicas import candidate

*_, OLDER, NEWEST = known_versions()
MODES: dict[str, list[Mode]] = {
    "sqlite": ["alone", "standby"],
    "postgres": ["alone", "standby", "replica"],
}
EACH = [(dialect, mode) for dialect, modes in MODES.items() for mode in modes]
IS_OLDER = (
    f"the tables of this database have version {OLDER}, and this Stateous works with {NEWEST}: "
    "run stateous db upgrade"
)
HAS_NONE = "this database has no tables of Stateous: run stateous db upgrade, which makes them"


async def why_not(store: Store, mode: Mode) -> str:
    with pytest.raises(CannotOpen) as caught:
        await store.open(mode=mode, candidate=candidate("box:9:zz"), migrates=False)
    return str(caught.value)


@asynccontextmanager
async def older(database: Database) -> AsyncGenerator[None]:
    """A database whose tables say that they are of the version before; it must be as it was at the end."""
    await raw(database, f"update stateous_version set version_num = '{OLDER}'")  # noqa: S608
    before = await raw(database, "select * from control_plane")
    yield
    assert await raw(database, "select * from control_plane") == before
    assert await raw(database, "select version_num from stateous_version") == [(OLDER,)]


@pytest.mark.parametrize(("dialect", "mode"), EACH)
async def test_older_tables_are_refused_and_nothing_is_written(
    mode: Mode, database: Database, clock: Clock
) -> None:
    async with older(database):
        assert await why_not(database.store(clock), mode) == IS_OLDER


@pytest.mark.parametrize(("dialect", "mode"), EACH)
async def test_no_tables_are_made(
    dialect: str, mode: Mode, request: pytest.FixtureRequest, clock: Clock, tmp_path: Path
) -> None:
    if dialect == "sqlite":
        assert (
            await why_not(open_store(f"sqlite:///{tmp_path}/no.db", clock=clock), mode) == HAS_NONE
        )
        assert not (tmp_path / "no.db").exists()
        return
    postgres: Database = request.getfixturevalue("postgres")
    assert await why_not(postgres.store(clock, schema="other"), mode) == HAS_NONE
    schemas = "select nspname from pg_namespace where nspname like 'other%'"
    assert await raw(postgres, schemas) == []


@pytest.mark.parametrize(("dialect", "mode"), EACH)
async def test_tables_of_the_newest_version_are_served(
    mode: Mode, database: Database, clock: Clock
) -> None:
    store = database.store(clock)
    await store.open(mode=mode, migrates=False)
    assert store.is_serving
    await store.close()


async def test_a_standby_says_so_before_it_waits(database: Database, clock: Clock) -> None:
    async with opened(database.store(clock)):
        await raw(database, f"update stateous_version set version_num = '{OLDER}'")  # noqa: S608
        assert await why_not(database.store(clock), "standby") == IS_OLDER


async def test_a_standby_whose_turn_comes_looks_again(postgres: Database, clock: Clock) -> None:
    async with opened(postgres.store(clock)):
        waiting = postgres.store(clock)
        with capture_logs() as logged:
            opening = asyncio.create_task(waiting.open(mode="standby", migrates=False))
            while not any(each["event"] == "hold.waits" for each in logged):
                await raw(postgres, "select 1")
        # As if an older Stateous had come in between, from a backup.
        await raw(postgres, f"update stateous_version set version_num = '{OLDER}'")  # noqa: S608
    with pytest.raises(CannotOpen) as caught:
        await opening
    assert str(caught.value) == IS_OLDER


async def test_a_replica_that_joins_older_ones_is_refused(postgres: Database, clock: Clock) -> None:
    first = postgres.store(clock)
    await first.open(mode="replica", candidate=candidate("box:1:aa"))
    try:
        await raw(postgres, f"update stateous_version set version_num = '{OLDER}'")  # noqa: S608
        said = await why_not(postgres.store(clock), "replica")
        assert said.startswith("replicas of an older Stateous serve this database")
    finally:
        await first.close()
