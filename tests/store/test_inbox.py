"""The functions `start` and `fire` write into the inbox, in the caller's own transaction and with no more rights than theirs."""

from __future__ import annotations

import json

import psycopg
import pytest
from psycopg.types.json import Json, Jsonb

from stateous.engine.facts import Ask
from stateous.store.postgres.functions import function_names
from stateous.store.postgres.session import Place
from stateous.store.store import Store
from tests.databases import Clock, Database
from tests.store.calls import START_AND_FIRE, new_role, program
from tests.store.opened import opened
from tests.store.written import Written

GRANTS = ("usage on schema stateous", f"execute on function {START_AND_FIRE}")
ROWS = "select id, kind, token, event, document::text, key, status from stateous.inbox order by id"


async def rows(database: Database) -> list[tuple[object, ...]]:
    """What is in the inbox, without the ids: they are checked to grow."""
    async with program(database) as owner:
        found = [tuple(row.values()) for row in await owner.run(ROWS)]
    assert [row[0] for row in found] == sorted({row[0] for row in found})
    return [row[1:] for row in found]


CONTEXTS = [
    """start('A', '{"x": 1}')""",
    """start('A', '{"x": 1}'::json)""",
    """start('A', '{"x": 1}'::jsonb)""",
    """start(token => 'A', context => '{"x": 1}')""",
    """start('A'::varchar, '{"x": 1}'::varchar)""",
    """start('A', json_build_object('x', 1))""",
    """start('A', jsonb_build_object('x', 1))""",
]


async def test_a_context_is_taken_as_text_json_or_jsonb(postgres: Database) -> None:
    async with program(postgres) as shop:
        for call in CONTEXTS:
            (row,) = await shop.run(f"select stateous.{call} as row")
            assert isinstance(row["row"], int)
    written = await rows(postgres)
    assert len(written) == len(CONTEXTS)
    for kind, token, event, document, key, status in written:
        assert (kind, token, event, key, status) == ("start", "A", None, None, "pending")
        assert json.loads(str(document)) == {"x": 1}


WRITTEN: dict[str, tuple[object, ...]] = {
    "start('A')": ("start", "A", None, None, None),
    "start('A', null)": ("start", "A", None, None, None),
    "fire('A', 'paid')": ("fire", "A", "paid", None, None),
    "fire('A', 'paid', null, 'k')": ("fire", "A", "paid", None, "k"),
    "fire('A', 'paid', key => 'k')": ("fire", "A", "paid", None, "k"),
    """fire('A', 'paid', '{"n":1e16}')""": ("fire", "A", "paid", '{"n":1e16}', None),
    """fire('A', 'paid', '{"n":1e2}'::json)""": ("fire", "A", "paid", '{"n":1e2}', None),
    """fire('A', 'paid', '{"n":1}'::jsonb, 'k')""": ("fire", "A", "paid", '{"n": 1}', "k"),
}


async def test_what_is_left_out_is_null(postgres: Database) -> None:
    async with program(postgres) as shop:
        for call in WRITTEN:
            await shop.run(f"select stateous.{call}")
    assert await rows(postgres) == [(*written, "pending") for written in WRITTEN.values()]


async def test_a_driver_may_send_any_of_the_types(postgres: Database) -> None:
    async with program(postgres) as shop:
        for kind in (Json, Jsonb, json.dumps):
            await shop.run("select stateous.start(%s, %s)", "A", kind({"x": "é"}))
            await shop.run("select stateous.fire(%s, %s, %s, %s)", "A", "e", kind({"x": 1}), "k")
    assert len(await rows(postgres)) == 6


AT_ONCE = {
    "start(null)": "start() needs the id of a token, not null",
    """start(null, '{}'::jsonb)""": "start() needs the id of a token, not null",
    "fire(null, 'paid')": "fire() needs the id of a token, not null",
    "fire('A', null)": "fire() needs the name of an event, not null",
    "start('A', 'no json')": "invalid input syntax for type json",
    "fire('A', 'paid', '')": "invalid input syntax for type json",
}


async def test_what_can_never_be_is_an_error_at_once(postgres: Database) -> None:
    async with program(postgres) as shop:
        for call, sentence in AT_ONCE.items():
            with pytest.raises(psycopg.Error) as caught:
                await shop.run(f"select stateous.{call}")
            assert caught.value.diag.message_primary == sentence
    assert await rows(postgres) == []


async def test_a_rollback_leaves_nothing(postgres: Database) -> None:
    async with program(postgres) as shop:
        await shop.run("begin")
        await shop.start("A")
        await shop.fire("A", "paid")
        await shop.run("rollback")
        await shop.run("begin")
        await shop.start("B")
        await shop.run("savepoint here")
        await shop.start("C")
        await shop.run("rollback to here")
        await shop.run("commit")
    assert [row[1] for row in await rows(postgres)] == ["B"]


async def test_one_transaction_tells_once_and_a_rollback_nothing(postgres: Database) -> None:
    async with program(postgres) as listening, program(postgres) as shop:
        await listening.run(f"listen {Place(postgres.url, schema='stateous').channel}")
        await shop.run("begin")
        await shop.start("A")
        await shop.run("rollback")
        await shop.run("begin")
        for number in range(20):
            await shop.start(f"T{number}")
        await shop.run("commit")
        told = [
            note.payload async for note in listening.connection.notifies(timeout=10, stop_after=1)
        ]
        told += [note.payload async for note in listening.connection.notifies(timeout=0)]
    assert told == ["inbox"]


async def test_a_role_needs_the_functions_and_nothing_else(postgres: Database) -> None:
    async with new_role(postgres, *GRANTS) as role, program(postgres, role=role) as shop:
        await shop.start("A", "{}")
        await shop.run("select stateous.start('B', '{}'::json), stateous.start('C', '{}'::jsonb)")
        await shop.fire("A", "paid")
        await shop.run("select stateous.fire('A', 'e', '{}'::json)")
        await shop.run("select stateous.fire('A', 'e', '{}'::jsonb)")
        for forbidden in (
            "select id from stateous.inbox",
            "insert into stateous.inbox (kind, token) values ('start', 'A')",
            "update stateous.inbox set status = 'pending'",
            "delete from stateous.inbox",
            "select token from stateous.tokens",
            "select stateous.inbox_add('start', 'A', null, null, null)",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await shop.run(forbidden)
    assert len(await rows(postgres)) == 6


async def test_nobody_may_call_them_who_was_not_granted_it(postgres: Database) -> None:
    calls = ["start('A')", "start('A', '{}'::json)", "start('A', '{}'::jsonb)"]
    calls += ["fire('A', 'e')", "fire('A', 'e', '{}'::json)", "fire('A', 'e', '{}'::jsonb)"]
    async with new_role(postgres, GRANTS[0]) as role, program(postgres, role=role) as shop:
        for call in calls:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await shop.run(f"select stateous.{call}")
    assert await rows(postgres) == []


ATTACKS = """
create schema theirs;
create temp table inbox (id bigint, kind text, token text, event text, document json, key text);
create function pg_temp.inbox_add(text, text, text, text, text) returns bigint language sql as 'select 666::bigint';
create function theirs.inbox_add(text, text, text, text, text) returns bigint language sql as 'select 666::bigint';
create function theirs.pg_notify(text, text) returns void language sql as 'create table theirs.proof ()';
create function theirs.is_null(text) returns boolean language sql as 'select true';
create table theirs.inbox (id bigint, kind text, token text, event text, document json, key text);
create domain theirs.json as text;
create domain pg_temp.json as text;
set search_path = pg_temp, theirs, stateous, pg_catalog;
"""


async def test_nothing_on_the_callers_path_is_run_with_the_owners_rights(
    postgres: Database,
) -> None:
    async with program(postgres) as owner:
        (row,) = await owner.run("select current_database() as name")
    database = f'create, temporary on database "{row["name"]}"'
    async with (
        new_role(postgres, *GRANTS, database) as role,
        program(postgres, role=role) as shop,
    ):
        for statement in filter(str.strip, ATTACKS.split(";\n")):
            await shop.run(statement)
        answered = await shop.start("A", '{"x": 1}')
        await shop.fire("A", "paid", '{"x": 1}', "k")
        assert answered != 666
        assert await shop.run("select id from pg_temp.inbox") == []
        assert await shop.run("select id from theirs.inbox") == []
        (row,) = await shop.run("select to_regclass('theirs.proof') as proof")
        assert row["proof"] is None
    assert [row[0] for row in await rows(postgres)] == ["start", "fire"]


async def test_each_function_has_its_path_pinned_and_is_nobodys(postgres: Database) -> None:
    found = """
        select p.proname, p.prosecdef, p.proconfig, p.proacl::text
        from pg_proc p where p.pronamespace = 'stateous'::regnamespace and p.proname = any(%s)"""
    async with program(postgres) as owner:
        made = await owner.run(found, function_names())
    assert {row["proname"] for row in made} == {"inbox_add", "start", "fire", "wake"}
    for row in made:
        assert row["prosecdef"] == (row["proname"] != "inbox_add")
        assert row["proconfig"] == ["search_path=pg_catalog, stateous, pg_temp"]
        assert "{=X" not in row["proacl"]
        assert ",=X" not in row["proacl"]


async def test_the_status_of_a_row_is_one_of_three_and_each_says_what_it_has_to(
    postgres: Database,
) -> None:
    wrong = [
        "status = 'done'",
        "status = 'applied'",
        "status = 'refused', settled_at = now()",
        "status = 'applied', settled_at = now(), code = 'x', error = 'y'",
        "duplicate = true",
        "settled_at = now()",
    ]
    async with program(postgres) as owner:
        await owner.start("A")
        for change in wrong:
            with pytest.raises(psycopg.errors.CheckViolation):
                await owner.run(f"update stateous.inbox set {change}")  # noqa: S608 - no value of anybody


async def test_a_look_shows_what_is_pending_by_id_a_few_large_rows_at_a_time(
    postgres: Database, clock: Clock
) -> None:
    async with program(postgres) as shop, opened(postgres.store(clock)) as store:
        ids = [await shop.start(token, "{}") for token in ("A", "b", "a", "B")]
        await shop.start("large", '{"x": "' + "x" * 2_000_000 + '"}')
        await shop.run(
            "update stateous.inbox set status = 'applied', settled_at = now() where id = %s", ids[1]
        )
        looked = await store.inbox_look(limit=3, size=10_000)
        assert [(row.row, row.place, row.token) for row in looked] == [
            (ids[0], "a", "A"),
            (ids[2], "a", "a"),
            (ids[3], "b", "B"),
        ]
        first, large = await store.inbox_look(passed=["a"], limit=9, size=10_000)
        assert (first.token, first.document) == ("B", "{}")
        assert (large.token, large.event, large.document) == ("large", None, None)
        assert large.size > 2_000_000
        assert [row.token for row in await store.inbox_look(passed=["a"], limit=9, size=1)] == ["B"]


async def test_sqlite_has_no_inbox(store: Store, database: Database) -> None:
    assert await store.inbox_look(limit=10, size=10) == []
    if database.dialect == "sqlite":
        written = Written(Ask(token="A", new="A", row=1))
        await store.batch_decide(written)
        assert written.facts.inbox == {}
