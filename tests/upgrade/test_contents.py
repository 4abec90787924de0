"""What a fresh database has is what `contents.txt` promises, and whatever is missing of it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from stateous.store.contents import promised
from stateous.store.migrate import known_versions
from stateous.store.store import CannotOpen
from stateous.store.upkeep import Upgraded, check, upgrade
from stateous.store.urls import open_store, open_upkeep
from tests.databases import Clock, Database
from tests.store.opened import opened, raw
from tests.store.test_views_made import a_role
from tests.upgrade.contents_files import HOW, lines_of

NEWEST = known_versions()[-1]
RESTORE = "restore the database from a backup, or make again what is missing"
AGAIN = "run stateous db upgrade, which makes it again"

OF_BOTH = [
    ("alter table timers rename to hidden", f"table timers is missing: {RESTORE}"),
    ("drop index tokens_by_parent", f"index tokens.tokens_by_parent is missing: {RESTORE}"),
    (
        "drop index tokens_by_lower_id",
        f"unique index tokens.tokens_by_lower_id is missing: {RESTORE}",
    ),
]
OF_POSTGRES = [
    *OF_BOTH,
    ("alter table claims drop column grants", f"column claims.grants json is missing: {RESTORE}"),
    (
        "alter table claims alter column grants type text",
        f"column claims.grants json is missing: {RESTORE}",
    ),
    (
        "alter table ledger disable trigger ledger_keeps",
        f"trigger ledger.ledger_keeps is missing: {RESTORE}",
    ),
    (
        "drop function confirmed(bigint, bigint)",
        f"function confirmed(bigint, bigint) is missing: {RESTORE}",
    ),
    ("drop sequence ids", f"sequence ids is missing: {RESTORE}"),
    ("drop view stateous_views.board", f"view board is missing: {AGAIN}"),
    ("drop function wake()", f"function wake() is missing: {AGAIN}"),
    (
        "drop schema stateous_views cascade",
        f"view attempts, view board, view dwell and 7 more are missing: {AGAIN}",
    ),
]
OF_SQLITE = [
    *OF_BOTH,
    ("alter table claims drop column grants", f"column claims.grants text is missing: {RESTORE}"),
    ("drop trigger ledger_keeps_rows", f"trigger ledger.ledger_keeps_rows is missing: {RESTORE}"),
]
ONLY_SLOWER = ("index tokens.tokens_by_parent", "view ", "function wake()")
"""What `check` tells, and what keeps nobody from serving."""


async def why_not(database: Database, *, schema: str = "stateous") -> str:
    """What the check says that is not content."""
    with pytest.raises(CannotOpen) as caught:
        await check(open_upkeep(database.url, schema=schema))
    return str(caught.value)


async def test_a_fresh_database_has_what_is_promised(database: Database) -> None:
    assert tuple(await lines_of(database)) == promised(database.dialect), f"run {HOW}"
    assert await check(open_upkeep(database.url)) == NEWEST


@pytest.mark.parametrize(
    ("dialect", "harm", "said"),
    [
        *(("sqlite", *each) for each in OF_SQLITE),
        *(("postgres", *each) for each in OF_POSTGRES),
    ],
)
async def test_what_is_missing_is_told(
    dialect: str, harm: str, said: str, database: Database, clock: Clock
) -> None:
    await raw(database, harm)
    found = await why_not(database)
    assert found == f"this database is damaged, {said}"
    if said.startswith(ONLY_SLOWER):
        async with opened(database.store(clock)) as store:
            assert store.is_serving
    else:
        before = await raw(database, "select epoch from control_plane")
        with pytest.raises(CannotOpen) as caught:
            await database.store(clock).open()
        assert str(caught.value) == found
        assert await raw(database, "select epoch from control_plane") == before


async def test_an_upgrade_makes_views_and_functions_again_while_others_serve(
    postgres: Database, clock: Clock
) -> None:
    with a_role() as role:
        name = role.as_string()
        await raw(postgres, f"grant select on stateous_views.paths to {name}")
        await raw(postgres, "drop view stateous_views.board")
        await raw(postgres, "drop function wake()")
        async with opened(postgres.store(clock)):
            done = await upgrade(open_upkeep(postgres.url), postgres.store(clock))
        assert done == Upgraded(NEWEST, NEWEST, ("function wake()", "view board"))
        assert await check(open_upkeep(postgres.url)) == NEWEST
        granted = await raw(postgres, "select relacl::text from pg_class where relname = 'paths'")
        assert name.strip('"') in granted[0][0]
        await raw(postgres, f"drop owned by {name}")


async def test_what_holds_data_is_not_made_again(database: Database, clock: Clock) -> None:
    await raw(database, "alter table timers rename to hidden")
    with pytest.raises(CannotOpen, match="table timers is missing: restore the database"):
        await upgrade(open_upkeep(database.url), database.store(clock))
    assert "table timers is missing" in await why_not(database)


async def test_a_row_that_is_missing_is_told(database: Database) -> None:
    await raw(database, "delete from control_plane")
    assert "control_plane of this database has lost its one row" in await why_not(database)
    await raw(database, "delete from stateous_version")
    assert (await why_not(database)).startswith(
        "the table stateous_version of this database has 0 rows where it has one"
    )


@pytest.mark.parametrize("version", ["ae1027a6acf0", "", "3", "0000"])
async def test_a_version_that_stateous_never_had_is_anothers(
    version: str, database: Database, clock: Clock
) -> None:
    await raw(database, f"update stateous_version set version_num = '{version}'")  # noqa: S608
    said = await why_not(database)
    assert said.startswith(
        f"the table stateous_version of this database says '{version}', which is no version of Stateous"
    )
    with pytest.raises(CannotOpen) as caught:
        await database.store(clock).open()
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("table", "found"),
    [
        ("table control_plane (mine int)", "table control_plane"),
        ("table alembic_version (version_num text)", "table alembic_version"),
        ("view tokens as select 1 as mine", "relation tokens"),
    ],
)
async def test_where_another_program_has_tables_none_are_made(
    table: str,
    found: str,
    dialect: str,
    request: pytest.FixtureRequest,
    clock: Clock,
    tmp_path: Path,
) -> None:
    if dialect == "sqlite":
        database = Database("sqlite", f"sqlite:///{tmp_path}/other.db")
        await raw(database, f"create {table}")
        listed = "select name from sqlite_schema"
    else:
        database = request.getfixturevalue("postgres")
        await raw(database, "create schema other")
        await raw(database, f"create {table.replace(' ', ' other.', 1)}")
        listed = "select relname from pg_class where relnamespace = 'other'::regnamespace"
    before = await raw(database, listed)
    said = f"{found} is there already, and no table stateous_version says that Stateous made it: "
    assert (await why_not(database, schema="other")).startswith(said)
    with pytest.raises(CannotOpen) as caught:
        await open_store(database.url, schema="other", clock=clock).open()
    assert str(caught.value).startswith(said)
    assert await raw(database, listed) == before


async def test_a_function_of_another_program_is_not_replaced(
    postgres: Database, clock: Clock
) -> None:
    await raw(postgres, "create schema other")
    await raw(
        postgres,
        "create function other.start(text, text) returns text language sql as $$ select 'mine' $$",
    )
    with pytest.raises(CannotOpen, match=r"^function start\(text, text\) is there already"):
        await open_store(postgres.url, schema="other", clock=clock).open()
    assert await raw(postgres, "select other.start('a', 'b')") == [("mine",)]


async def test_tables_of_another_program_with_other_names_are_no_hindrance(
    postgres: Database, clock: Clock
) -> None:
    await raw(postgres, "create schema other")
    await raw(postgres, "create table other.invoices (mine int)")
    async with opened(open_store(postgres.url, schema="other", clock=clock)) as store:
        assert store.is_serving
    assert await raw(postgres, "select mine from other.invoices") == []
