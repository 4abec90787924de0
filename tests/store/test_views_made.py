"""How views are made, set aside and made again; who may read them, and what they never show."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from stateous.engine.changes import Changes
from stateous.engine.family import Held
from stateous.store import scripts
from stateous.store.postgres import views
from stateous.store.postgres.session import Place
from stateous.store.store import CannotOpen
from stateous.store.urls import open_store
from tests.databases import Clock, Database, postgres_server
from tests.store.opened import opened, raw
from tests.store.written import entry, task, token, write

PROMISED = {
    "attempts": "token seq at workflow state visit task attempt supervisor error retried",
    "board": "workflow state status tokens oldest_at",
    "dwell": "workflow state count p50 p95 max",
    "history": "token seq at kind sentence data",
    "paths": "workflow from_state event to_state count last_at",
    "supervisors": "name states tasks_held last_seen_at is_live",
    "waiting": "token workflow state visit reason why since_at task attempt failures supervisor leased_until "
    "next_timer due_at children parent root",
}
"""Columns that people have in their queries: more may come behind them."""

Connection = psycopg.Connection[tuple[Any, ...]]


@contextmanager
def connected(database: Database, *, schema: str = "stateous") -> Generator[Connection]:
    """A connection as migrations have it; what is done is committed at the end."""
    connection = Place(database.url, schema=schema).connect_blocking()
    with connection:
        yield connection


@contextmanager
def a_role() -> Generator[sql.Identifier]:
    """A role that may do nothing; roles belong to the server, so it goes at the end."""
    role = sql.Identifier(f"Reader {uuid4().hex[:8]}")
    server = postgres_server()
    server.run(sql.SQL("create role {}").format(role))
    try:
        yield role
    finally:
        server.run(sql.SQL("drop role {}").format(role))


@contextmanager
def acting_as(connection: Connection, role: sql.Identifier) -> Generator[None]:
    connection.execute(sql.SQL("set role {}").format(role))
    try:
        yield
    finally:
        connection.rollback()
        connection.execute("reset role")


def made(connection: Connection, schema: str = "stateous_views") -> set[str]:
    rows = connection.execute(
        "select viewname from pg_views where schemaname = %s", (schema,)
    ).fetchall()
    return {name for (name,) in rows}


def test_there_is_a_file_for_each_view(postgres: Database) -> None:
    assert set(views.view_names()) >= PROMISED.keys()
    with connected(postgres) as connection:
        assert made(connection) == set(views.view_names())


def test_views_and_columns_have_plain_names_and_say_what_they_are(postgres: Database) -> None:
    described = """
    select c.relname, a.attname, col_description(c.oid, a.attnum), obj_description(c.oid, 'pg_class')
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'stateous_views'::regnamespace and a.attnum > 0
    """
    with connected(postgres) as connection:
        rows = connection.execute(described).fetchall()
    assert {row[0] for row in rows} == set(views.view_names())
    for view, column, of_column, of_view in rows:
        assert f"{view}{column}".replace("_", "a").isalnum()
        assert f"{view}{column}".islower()
        for text in (of_column, of_view):
            assert text, f"{view}.{column} says nothing"
            assert text.endswith("."), text


def test_columns_stay_where_they_are(postgres: Database) -> None:
    with connected(postgres) as connection:
        for view, columns in PROMISED.items():
            cursor = connection.execute(
                sql.SQL("select * from {}").format(sql.Identifier("stateous_views", view))
            )
            found = [column.name for column in cursor.description or ()]
            assert found[: len(columns.split())] == columns.split()


async def test_each_schema_has_views_of_its_own(postgres: Database, clock: Clock) -> None:
    async with (
        opened(postgres.store(clock)) as one,
        opened(open_store(postgres.url, schema="Other_2", clock=clock)) as other,
    ):
        await write(one, Changes(new_tokens=[token("T")]))
        await write(other, Changes(new_tokens=[token("U"), token("V")]))
    assert await raw(postgres, "select tokens from stateous_views.board") == [(1,)]
    assert await raw(postgres, 'select tokens from "Other_2_views".board') == [(2,)]


def test_the_longest_schema_has_a_schema_of_views(clock: Clock) -> None:
    open_store("postgresql://127.0.0.1/x", schema="x" * 57, clock=clock)
    with pytest.raises(CannotOpen, match="at most 57 characters"):
        open_store("postgresql://127.0.0.1/x", schema="x" * 58, clock=clock)


def test_what_was_granted_is_granted_again(postgres: Database) -> None:
    asked = """
    select has_table_privilege(%(role)s, 'stateous_views.board', 'select'),
           has_table_privilege(%(role)s, 'stateous_views.paths', 'select'),
           has_table_privilege(%(role)s, 'stateous_views.paths', 'select with grant option'),
           has_table_privilege(%(role)s, 'stateous_views.history', 'select')
    """
    with a_role() as role, connected(postgres) as connection:
        connection.execute("grant select on stateous_views.board to public")
        connection.execute(
            sql.SQL("grant select on stateous_views.paths to {} with grant option").format(role)
        )
        with connection.cursor() as cursor:
            views.renew(cursor)
        name = role.as_string().strip('"')
        assert connection.execute(asked, {"role": name}).fetchall() == [(True, True, True, False)]
        connection.rollback()


def test_views_that_somebody_dropped_are_made_again(postgres: Database) -> None:
    with connected(postgres) as connection, connection.cursor() as cursor:
        connection.execute("drop schema stateous_views cascade")
        views.renew(cursor)
        assert made(connection) == set(views.view_names())


def test_views_of_a_schema_that_was_renamed_move_with_it(postgres: Database) -> None:
    with connected(postgres) as connection:
        connection.execute("alter schema stateous rename to orders")
        connection.execute("alter schema stateous_views rename to old_views")
    with connected(postgres, schema="orders") as connection, connection.cursor() as cursor:
        views.renew(cursor)
        assert made(connection, "old_views") == set()
        assert made(connection, "orders_views") == set(views.view_names())


def test_what_others_made_beside_the_views_is_left_alone(postgres: Database) -> None:
    with connected(postgres) as connection, connection.cursor() as cursor:
        connection.execute("create view stateous_views.own as select 1 as one")
        connection.execute("create schema app")
        connection.execute("create view app.board as select token from tokens")
        views.renew(cursor)
        assert made(connection) == {"own", *views.view_names()}
        assert made(connection, "app") == {"board"}


def test_a_view_on_top_of_ours_stops_an_upgrade_in_a_sentence(postgres: Database) -> None:
    with connected(postgres) as connection, connection.cursor() as cursor:
        connection.execute("create view mine as select * from stateous_views.board")
        connection.commit()
        with pytest.raises(CannotOpen) as caught:
            views.renew(cursor)
        connection.rollback()
        assert made(connection) == set(views.view_names())
    said = "view mine depends on view stateous_views.board"
    assert said in str(caught.value)
    assert "drop that, and make it again afterwards" in str(caught.value)


def test_only_the_newest_script_makes_views(
    postgres: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    place = Place(postgres.url, schema="stateous")
    engine = create_engine(
        "postgresql+psycopg://", creator=place.connect_blocking, poolclass=NullPool
    )

    def text(dialect: str, name: str) -> str:
        return f"-- {name} of {dialect} changes nothing."

    monkeypatch.setattr(scripts, "_text", text)
    with a_role() as role, connected(postgres) as connection:
        connection.execute(sql.SQL("grant select on stateous_views.board to {}").format(role))
        connection.commit()
        with engine.begin() as running:
            scripts.run_script(running, "0000_before")
            assert running.exec_driver_sql(
                "select count(*) from pg_views where schemaname = 'stateous_views'"
            ).all() == [(0,)]
            scripts.run_script(running, scripts.newest_script())
        assert made(connection) == set(views.view_names())
        name = role.as_string().strip('"')
        granted = "select has_table_privilege(%s, 'stateous_views.board', 'select')"
        assert connection.execute(granted, (name,)).fetchall() == [(True,)]
        connection.execute(sql.SQL("drop owned by {}").format(role))
    engine.dispose()


async def test_a_reader_reads_the_views_and_nothing_else(postgres: Database, clock: Clock) -> None:
    async with opened(postgres.store(clock)) as store:
        await write(store, Changes(new_tokens=[token("T")], entries=[entry("T", 1)]))
    tables = [
        name
        for (name,) in await raw(
            postgres,
            "select relname from pg_class where relnamespace = 'stateous'::regnamespace and relkind in ('r', 'S')",
        )
    ]
    assert "memory" in tables
    with a_role() as role, connected(postgres) as connection:
        connection.execute(sql.SQL("grant usage on schema stateous_views to {}").format(role))
        connection.execute(
            sql.SQL("grant select on all tables in schema stateous_views to {}").format(role)
        )
        connection.commit()
        with acting_as(connection, role):
            for view in views.view_names():
                connection.execute(
                    sql.SQL("select * from stateous_views.{}").format(sql.Identifier(view))
                ).fetchall()
            assert connection.execute("select tokens from stateous_views.board").fetchall() == [
                (1,)
            ]
        for view in views.view_names():
            for change in ("delete from {}", "insert into {} default values"):
                with acting_as(connection, role), pytest.raises(psycopg.Error):
                    connection.execute(
                        sql.SQL(change).format(sql.Identifier("stateous_views", view))
                    )
        for table in tables:
            with (
                acting_as(connection, role),
                pytest.raises(psycopg.errors.InsufficientPrivilege),
            ):
                connection.execute(
                    sql.SQL("select * from {}").format(sql.Identifier("stateous", table))
                )
        connection.execute(sql.SQL("drop owned by {}").format(role))


async def test_keys_and_memory_are_in_no_view(postgres: Database, clock: Clock) -> None:
    held = Held(arrival=1, token="P", event="go", payload={"a": "hush"}, key="hush")
    async with opened(postgres.store(clock)) as store:
        await write(
            store,
            Changes(
                new_tokens=[
                    token("T", context={"a": "hush"}, task=1),
                    token("P", status="paused", paused_at=clock(), held_count=1),
                ],
                new_tasks=[task(1, "T")],
                entries=[entry("T", 1, key="hush", task=1, text="said")],
                memory=[("T", "draft", "k", "hush")],
                held=[("P", held)],
            ),
        )
    with connected(postgres) as connection:
        for view in views.view_names():
            rows = connection.execute(
                sql.SQL("select v::text from {} v").format(sql.Identifier("stateous_views", view))
            ).fetchall()
            assert "hush" not in str(rows), view
            assert rows or view not in ("history", "board", "waiting"), view
