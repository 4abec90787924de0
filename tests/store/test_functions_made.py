"""The functions for programs are made anew by an upgrade: in the schema that is served, and with the grants they had."""

from __future__ import annotations

import psycopg

from stateous.store.postgres import functions
from stateous.store.postgres.session import Place
from tests.databases import Clock, Database
from tests.store.calls import program
from tests.store.opened import opened

GRANTED = """
select p.oid::regprocedure::text as signature, coalesce(a.grantee::regrole::text, '') as grantee
from pg_proc p cross join lateral aclexplode(p.proacl) a
where p.pronamespace = 'stateous'::regnamespace and p.proname in ('start', 'fire', 'inbox_add')
  and a.grantee <> p.proowner"""


def make(database: Database) -> None:
    """As an upgrade makes them."""
    with psycopg.connect(database.url) as connection:
        connection.execute("set search_path = stateous")
        with connection.cursor() as cursor:
            functions.make(cursor)


async def test_who_could_call_them_still_can_and_nobody_else(postgres: Database) -> None:
    async with program(postgres) as owner:
        assert await owner.run(GRANTED) == []
        await owner.run("grant execute on function stateous.start(text, json) to public")
        await owner.run("drop function stateous.fire(text, text, json, text)")
        before = await owner.run(GRANTED)
        assert len(before) == 1
        make(postgres)
        assert await owner.run(GRANTED) == before
        await owner.run("select stateous.fire('A', 'paid', '{}'::json)")


async def test_each_schema_has_its_own(postgres: Database, clock: Clock) -> None:
    name = "Shop"
    quoted = '"Shop"'
    async with (
        opened(postgres.store(clock, schema=name)) as store,
        program(postgres) as shop,
        program(postgres) as listening,
    ):
        await listening.run(f"listen {Place(postgres.url, schema=name).channel}")
        await shop.start("ELSEWHERE")
        await shop.run("begin")
        await shop.run(f"select {quoted}.start(%s, '{{}}')", "HERE")
        await shop.run(f"select {quoted}.fire(%s, 'paid', '{{}}'::jsonb)", "HERE")
        await shop.run("commit")
        looked = await store.inbox_look(limit=9, size=9)
        assert [(row.kind, row.token) for row in looked] == [("start", "HERE"), ("fire", "HERE")]
        told = [
            note.payload async for note in listening.connection.notifies(timeout=10, stop_after=1)
        ]
        told += [note.payload async for note in listening.connection.notifies(timeout=0)]
        assert told == ["inbox"]
