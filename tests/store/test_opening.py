"""Who may serve a database, which versions are served, and in which words it is refused."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from stateous.engine.changes import Changes
from stateous.engine.commands import Beat
from stateous.model.refusals import NotServing
from stateous.store.postgres.session import Place
from stateous.store.serving import Candidate
from stateous.store.store import CannotOpen, Store
from stateous.store.urls import open_store
from tests.databases import Clock, Database
from tests.store.opened import opened, raw, since_on_record
from tests.store.written import AT, WrittenClaims, entry, token, write

IF_KILLED = re.compile(r"; if it was killed, try again in (30|29) seconds$")


def said(caught: pytest.ExceptionInfo[CannotOpen]) -> str:
    """The sentence, without what only SQLite has to add: its hold goes with time, not with a connection."""
    return IF_KILLED.sub("", str(caught.value))


def candidate(name: str = "host:1:abc", *, structure: str = "s", checksum: str = "c") -> Candidate:
    return Candidate(
        workflow="orders", structure=structure, checksum=checksum, graph="{}", name=name
    )


ON_RECORD = "select structure, checksum, serving, epoch from control_plane"


@asynccontextmanager
async def served_by(database: Database, clock: Clock, who: Candidate) -> AsyncGenerator[Store]:
    """A store that this candidate has opened."""
    store = database.store(clock)
    await store.open(candidate=who)
    try:
        yield store
    finally:
        await store.close()


async def test_a_served_database_is_not_opened_again(
    database: Database, store: Store, clock: Clock
) -> None:
    with pytest.raises(CannotOpen) as caught:
        await database.store(clock).open()
    assert said(caught) == "another control plane serves this database"


async def test_a_served_database_says_who_serves_it(database: Database, clock: Clock) -> None:
    async with served_by(database, clock, candidate("host:1:abc")) as store:
        with pytest.raises(CannotOpen) as caught:
            await database.store(clock).open(candidate=candidate("host:2:def"))
        assert said(caught) == (
            "another control plane serves this database: host:1:abc since "
            + await since_on_record(database)
        )
        assert store.is_serving
        await write(store, Changes(new_tokens=[token("T")]))


async def test_a_database_that_was_given_up_is_served_again(
    database: Database, clock: Clock
) -> None:
    async with opened(database.store(clock)) as first:
        await write(first, Changes(new_tokens=[token("T")]))
    assert not first.is_serving
    async with opened(database.store(clock)) as second:
        assert await second.token_read("T") == token("T")


@pytest.mark.parametrize("status", ["active", "paused"])
async def test_another_structure_is_refused_while_tokens_live_and_ends_nobodys_epoch(
    database: Database, clock: Clock, status: str
) -> None:
    async with served_by(database, clock, candidate()) as store:
        await write(store, Changes(new_tokens=[token("T", status=status)]))
    before = await raw(database, ON_RECORD)
    with pytest.raises(CannotOpen, match="this graph of 'orders' has another structure than"):
        await database.store(clock).open(candidate=candidate(structure="other"))
    assert await raw(database, ON_RECORD) == before
    async with served_by(database, clock, candidate("next", checksum="newer")):
        (row,) = await raw(database, ON_RECORD)
        assert row[:3] == ("s", "newer", "next")


async def test_another_structure_is_taken_when_every_token_has_ended(
    database: Database, clock: Clock
) -> None:
    async with served_by(database, clock, candidate()) as store:
        await write(store, Changes(new_tokens=[token("T", status="failed")]))
    async with served_by(database, clock, candidate(structure="other")):
        assert (await raw(database, ON_RECORD))[0][0] == "other"


async def test_who_lost_the_epoch_writes_nothing_more(
    database: Database, store: Store, clock: Clock
) -> None:
    await raw(database, "update control_plane set epoch = epoch + 1")
    with pytest.raises(NotServing):
        await write(store, Changes(new_tokens=[token("T")]))
    assert not store.is_serving
    with pytest.raises(NotServing):
        await store.clock_write(AT)
    assert await store.token_read("T") is None


async def test_the_latest_of_the_clock_and_the_tokens_is_the_last_time(
    database: Database, store: Store
) -> None:
    assert await store.clock_read() is None
    await write(store, Changes(new_tokens=[token("T")]))
    assert await store.clock_read() == AT
    await store.clock_write(AT - timedelta(hours=1))
    assert await store.clock_read() == AT
    later = datetime(9000, 1, 1, tzinfo=UTC)
    await store.clock_write(later)
    assert await store.clock_read() == later
    await raw(database, "update control_plane set epoch = epoch + 1")
    for _ in range(2):
        with pytest.raises(NotServing):
            await store.clock_write(later + timedelta(hours=1))
    assert await store.clock_read() == later


async def test_claims_and_heartbeats_look_at_the_epoch_too(
    database: Database, clock: Clock
) -> None:
    async with opened(database.store(clock)) as first:
        await raw(database, "update control_plane set epoch = epoch + 1")
        with pytest.raises(NotServing):
            await first.claims_decide(WrittenClaims())
    await lapse(database)
    async with opened(database.store(clock)) as second:
        await raw(database, "update control_plane set epoch = epoch + 1")
        with pytest.raises(NotServing):
            await second.tasks_beat([Beat("s", (1,))], now=AT, leased_until=AT)
        assert not second.is_serving


async def lapse(database: Database) -> None:
    """Let an SQLite hold lapse; on Postgres it went with its connection."""
    if database.dialect == "sqlite":
        await raw(database, "update control_plane set held_until = '2000-01-01T00:00:00.000Z'")


async def test_the_ledger_is_append_only(database: Database, store: Store) -> None:
    await write(store, Changes(new_tokens=[token("T")], entries=[entry("T", 1)]))
    refused = ["update ledger set kind = 'failed'", "delete from ledger"]
    if database.dialect == "postgres":
        refused.append("truncate ledger")
    for statement in refused:
        with pytest.raises(Exception, match="the ledger is append-only"):
            await raw(database, statement)


async def test_a_newer_database_is_refused_in_a_sentence(database: Database, clock: Clock) -> None:
    await raw(database, "update stateous_version set version_num = '9999'")
    with pytest.raises(CannotOpen) as caught:
        await database.store(clock).open()
    assert "a newer Stateous made this database (its version is 9999" in str(caught.value)
    assert "upgrade Stateous" in str(caught.value)


async def test_a_database_that_is_up_to_date_opens_without_alembic(database: Database) -> None:
    code = (
        "import asyncio, sys, datetime\n"
        "from stateous.store.urls import open_store\n"
        "async def main():\n"
        f"    store = open_store({database.url!r}, clock=lambda: datetime.datetime.now("
        "datetime.UTC))\n"
        "    await store.open(); await store.close()\n"
        "asyncio.run(main())\n"
        "print('alembic' in sys.modules, 'sqlalchemy' in sys.modules)\n"
    )
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["False", "False"], done.stderr


async def test_two_schemas_of_one_database_never_meet(postgres: Database, clock: Clock) -> None:
    async with (
        opened(postgres.store(clock)) as one,
        opened(postgres.store(clock, schema="Other_2")) as other,
    ):
        await write(one, Changes(new_tokens=[token("T")]))
        assert await other.token_read("T") is None
        await write(other, Changes(new_tokens=[token("T", state="review")]))
        assert await one.token_read("T") == token("T")
    rows = await raw(
        postgres,
        "select count(*) from pg_class where relnamespace = 'public'::regnamespace",
    )
    assert rows == [(0,)]


@pytest.mark.parametrize("schema", ["", "1x", "a-b", 'a"b', "ä", "x" * 64, "a b"])
def test_a_schema_is_called_by_an_identifier(schema: str, clock: Clock) -> None:
    with pytest.raises(CannotOpen, match="cannot be a schema"):
        open_store("postgresql://127.0.0.1/x", schema=schema, clock=clock)


@pytest.mark.parametrize(
    "url",
    ["", "orders.db", "mysql://u:hush@h/db", "sqlite://", "sqlite:///", "sqlite://x.db", "file:x"],
)
def test_a_url_that_opens_nothing_is_refused(url: str, clock: Clock) -> None:
    with pytest.raises(CannotOpen) as caught:
        open_store(url, clock=clock)
    assert str(caught.value).startswith("cannot open ")
    assert "hush" not in str(caught.value)


async def test_a_relative_file_lies_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    monkeypatch.chdir(tmp_path)
    async with opened(open_store("sqlite:///new.db", clock=clock)) as store:
        await write(store, Changes(new_tokens=[token("T")]))
    assert (tmp_path / "new.db").is_file()


async def test_a_file_that_cannot_be_opened_says_why(tmp_path: Path, clock: Clock) -> None:
    with pytest.raises(CannotOpen, match="unable to open database file"):
        await open_store(f"sqlite:///{tmp_path}/no/such.db", clock=clock).open()
    (tmp_path / "text.db").write_text("this is no database, it is a letter to a friend" * 99)
    with pytest.raises(CannotOpen, match="file is not a database"):
        await open_store(f"sqlite:///{tmp_path}/text.db", clock=clock).open()


@pytest.mark.parametrize(
    "url",
    ["POSTGRESQL://u:hush@h/db", "MySQL://u:hush@h/db", "postgres//u:hush@h/db", "//u:hush@h/db"],
)
def test_a_url_of_another_kind_is_shown_without_its_password(url: str, clock: Clock) -> None:
    with pytest.raises(CannotOpen) as caught:
        open_store(url, clock=clock)
    assert "hush" not in str(caught.value)
    assert "u:***@h/db" in str(caught.value)


@pytest.mark.parametrize(
    "schema", ["", "1st", 'a"b', "über", "x;drop", "a" * 64, "pg_catalog", "information_schema"]
)
def test_a_schema_has_a_plain_name_that_is_not_postgress_own(schema: str, clock: Clock) -> None:
    with pytest.raises(CannotOpen, match="cannot be a schema"):
        open_store("postgresql://u@127.0.0.1:1/db", schema=schema, clock=clock)


async def test_a_database_that_lost_its_row_says_so(database: Database, clock: Clock) -> None:
    async with opened(database.store(clock)):
        pass
    await raw(database, "delete from control_plane")
    with pytest.raises(CannotOpen, match="control_plane of this database has lost its one row"):
        await database.store(clock).open()


async def test_tables_of_another_program_are_left_alone(
    database: Database, clock: Clock, tmp_path: Path
) -> None:
    # One of our names that comes late, so that others were made before it.
    if database.dialect == "sqlite":
        database = Database("sqlite", f"sqlite:///{tmp_path}/other.db")
        await raw(database, "create table control_plane (mine)")
        store = database.store(clock)
        tables = "select name from sqlite_schema where type = 'table'"
    else:
        await raw(database, "create schema other")
        await raw(database, "create table other.control_plane (mine int)")
        store = open_store(database.url, schema="other", clock=clock)
        tables = "select relname from pg_class where relnamespace = 'other'::regnamespace"
    with pytest.raises(CannotOpen) as caught:
        await store.open()
    assert str(caught.value).startswith(
        "table control_plane is there already, and no table stateous_version says that Stateous made it: "
        "give Stateous a "
    )
    assert await raw(database, tables) == [("control_plane",)]


async def test_a_hold_on_a_file_lapses(tmp_path: Path, clock: Clock) -> None:
    database = Database("sqlite", f"sqlite:///{tmp_path}/x.db")
    async with opened(database.store(clock)) as first:
        await lapse(database)
        async with opened(database.store(clock)) as second:
            assert second.is_serving
            with pytest.raises(NotServing):
                await write(first, Changes())
            await write(second, Changes(new_tokens=[token("T")]))
        assert not first.is_serving


async def test_a_file_that_was_deleted_is_not_written_any_more(
    tmp_path: Path, clock: Clock
) -> None:
    database = Database("sqlite", f"sqlite:///{tmp_path}/x.db")
    async with opened(database.store(clock)) as first:
        await write(first, Changes(new_tokens=[token("T")]))
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()  # noqa: ASYNC240 - at once
        async with opened(database.store(clock)) as second:
            with pytest.raises(NotServing, match="was deleted or replaced"):
                await write(first, Changes(new_tokens=[token("U")]))
            assert not first.is_serving
            await write(second, Changes(new_tokens=[token("T")]))


async def test_urls_are_libpqs_own(postgres: Database, clock: Clock) -> None:
    info = conninfo_to_dict(postgres.url)
    host, port, name = info["host"], info["port"], info["dbname"]
    urls = [
        f"postgres://postgres@{host}:{port}/{name}",
        f"postgresql://postgres:p%40ss%2Fw%3Ard@{host}:{port}/{name}?sslmode=prefer",
        f"postgresql:///{name}?host={host}&port={port}&user=postgres",
        # The first of two hosts answers nothing.
        f"postgresql://postgres@127.0.0.1:1,{host}:{port}/{name}?connect_timeout=3",
        f"{postgres.url}?options=-c%20work_mem%3D8MB",
    ]
    for url in urls:
        async with opened(open_store(url, clock=clock)) as store:
            assert await store.token_read("T") is None


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:hush-hush@127.0.0.1:1/db",
        "postgresql://u:hush%zzhush@127.0.0.1/db",
        "postgresql://u:hush/hush@127.0.0.1:1/db",
        "postgresql://u:hush#hush@127.0.0.1:1/db",
        "postgresql://u:hu@hush@127.0.0.1:1/db",
        "postgresql://u:hush?hush@127.0.0.1:1/db",
        "postgresql://u:hush:hush@127.0.0.1:1/db",
        "postgresql://u:hush hush@127.0.0.1:1/db",
        "postgresql://u@127.0.0.1:1/db?password=hush&nonsense=1",
        "postgresql://u@127.0.0.1:1/db?password=hush%20hush",
        "postgresql://u:%68ush@127.0.0.1:1/db",
    ],
)
async def test_an_error_never_shows_a_password(url: str, clock: Clock) -> None:
    with pytest.raises(CannotOpen) as caught:
        await open_store(url, clock=clock).open()
    said = f"{caught.value!r} {caught.value.__cause__!r}"
    assert "hush" not in said
    assert "%68ush" not in said
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


async def test_a_database_that_was_closed_can_be_opened_at_once(
    database: Database, clock: Clock
) -> None:
    for _ in range(10):
        store = database.store(clock)
        await store.open()
        await store.close()


async def test_the_hold_of_a_session_that_ends_is_waited_for_a_moment(
    postgres: Database, clock: Clock
) -> None:
    place = Place(postgres.url, schema="stateous")
    store = postgres.store(clock)
    async with await psycopg.AsyncConnection.connect(postgres.url, autocommit=True) as ended:
        await ended.execute("select pg_advisory_lock(%s)", (place.hold,))
        opening = asyncio.ensure_future(store.open())
        await asyncio.wait([opening], timeout=0.3)
        assert not opening.done()
    await opening
    await store.close()
