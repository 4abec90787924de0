"""What a database or a role has set for all its sessions, and an encoding that cannot hold every text."""

from __future__ import annotations

from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from stateous.control.compose import open_plane
from stateous.engine.commands import Start
from stateous.model.graph import parse_graph
from stateous.store.migrate import known_versions
from stateous.store.store import CannotOpen
from stateous.store.upkeep import check, upgrade
from stateous.store.urls import open_store, open_upkeep
from tests.databases import Clock, Database, postgres_server
from tests.store.opened import raw
from tests.upgrade.past import GRAPH, fill, last_time
from tests.upgrade.test_past_versions import Served

NEWEST = known_versions()[-1]
SET = {
    "client_encoding": "LATIN1",
    "datestyle": "German, DMY",
    "default_transaction_isolation": "serializable",
    "extra_float_digits": "-10",
    "idle_in_transaction_session_timeout": "100ms",
    "idle_session_timeout": "300ms",
    "intervalstyle": "postgres_verbose",
    "lock_timeout": "1ms",
    "quote_all_identifiers": "on",
    "search_path": "nowhere",
    "standard_conforming_strings": "off",
    "timezone": "Asia/Kolkata",
}
SINCE_17 = {"transaction_timeout": "50ms"}
TITLE = "ü \\ ' \" 日本 😀 \n %s"


@pytest.fixture
def set_up(postgres: Database) -> Database:
    """An empty database whose sessions begin with all of this."""
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("drop schema stateous, stateous_views cascade")
        knows = connection.info.server_version >= 170000
        name = sql.Identifier(connection.info.dbname)
        for setting, value in {**SET, **(SINCE_17 if knows else {})}.items():
            connection.execute(
                sql.SQL("alter database {} set {} = {}").format(
                    name, sql.Identifier(setting), sql.Literal(value)
                )
            )
    return postgres


async def test_what_others_have_set_changes_nothing(set_up: Database, clock: Clock) -> None:
    await upgrade(open_upkeep(set_up.url), set_up.store(clock))
    assert await check(open_upkeep(set_up.url)) == NEWEST
    clock.now = last_time(fill(set_up, NEWEST))
    plane = await open_plane(
        graph=parse_graph(GRAPH), db=set_up.url, clock=clock, mode="replica", serving="a:1:a"
    )
    try:
        await plane.submit(Start("ORDER-30", {"title": TITLE}))
        assert (await plane.token("ORDER-30")).context["title"] == TITLE
        # As a program does it, whose session begins so, too.
        async with await psycopg.AsyncConnection.connect(set_up.url) as theirs:
            await theirs.execute("""select stateous.start('ORDER-31', '{"title": "ü"}')""")
        await plane.inbox.empty()
        await Served(set_up, plane, clock).serve_to_the_end()
        assert (await plane.token("ORDER-31")).context["title"] == "ü"
    finally:
        await plane.stop()
    said = (
        "select sentence from stateous_views.history where token = 'ORDER-31' order by seq limit 1"
    )
    assert await raw(set_up, said) == [('started with {"title":"ü"}',)]


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
async def test_a_database_that_cannot_hold_every_text_is_refused(
    encoding: str, postgres: Database, clock: Clock
) -> None:
    server = postgres_server()
    name = f"stateous_test_{uuid4().hex[:12]}"
    server.run(
        sql.SQL("create database {} template template0 locale 'C' encoding {}").format(
            sql.Identifier(name), sql.Literal(encoding)
        )
    )
    url = server.url_of(name)
    said = (
        f"Stateous needs a database with the encoding UTF8; this one has {encoding}: "
        "make another one (create database ... template template0 encoding 'UTF8')"
    )
    try:
        with pytest.raises(CannotOpen) as caught:
            await open_store(url, clock=clock).open()
        assert str(caught.value) == said
        with pytest.raises(CannotOpen) as caught:
            await check(open_upkeep(url))
        assert str(caught.value) == said
    finally:
        server.drop_database(name)
