"""A database of the first version, with tokens in it, becomes one with supervisors and, on Postgres, with views."""

from __future__ import annotations

import asyncio
from pathlib import Path

from stateous.store import migrate
from stateous.store.store import Seen
from stateous.store.urls import open_store
from tests.databases import Clock, Database
from tests.store.opened import opened, raw
from tests.store.walked import viewed
from tests.upgrade.past import make_version

AT = "2026-01-02T03:04:05.678901Z"

FIRST = [
    """
    insert into tokens (token, root, workflow, state, status, visit, seq, context, counts, visits, task,
                        created_at, entered_at, changed_at)
    values ('T', 'T', 'orders', 'draft', 'active', 1, 5, '{"title":"Chair"}', '{}', '{"draft":1}', 1,
            :at, :at, :at),
           ('U', 'U', 'orders', 'review', 'failed', 1, 1, '{}', '{}', '{}', null, :at, :at, :at)
    """,
    """
    insert into ledger (token, seq, at, kind, key, data)
    values ('T', 1, :at, 'started', null, '{"context":{"title":"Chair"}}'),
           ('T', 2, :at, 'event_accepted', 'k', '{"event":"__started__","payload":null,"state":"__start__"}'),
           ('T', 3, :at, 'entered', null, '{"state":"draft","visit":1}'),
           ('T', 4, :at, 'task_queued', null, '{"task":1,"state":"draft"}'),
           ('T', 5, :at, 'task_claimed', null, '{"task":1,"supervisor":"box","attempt":1}'),
           ('U', 1, :at, 'failed', null, '{"reason":"no ink"}')
    """,
    """
    insert into tasks (id, token, queue, state, visit, status, attempt, claimed_by, lease_until, queued_at)
    values (1, 'T', 'draft', 'draft', 1, 'claimed', 1, 'box', :at, :at)
    """,
    "update control_plane set epoch = 7, structure = 's', checksum = 'c', graph = '{}'",
]

KEPT = (
    "select token, seq, at, kind, key, data from ledger order by token, seq",
    "select id, token, queue, state, visit, status, attempt, claimed_by, lease_until, queued_at from tasks",
)


async def test_a_database_of_the_first_version_gets_the_views(
    dialect: str, postgres: Database, tmp_path: Path, clock: Clock
) -> None:
    database = Database(dialect, f"sqlite:///{tmp_path}/old.db")
    if dialect == "postgres":
        database = postgres
        await raw(database, "drop schema stateous cascade")
        await raw(database, "drop schema stateous_views cascade")
    await asyncio.to_thread(make_version, database, "0001")
    for statement in FIRST:
        await raw(database, statement.replace(":at", f"'{AT}'"))
    before = [await raw(database, query) for query in KEPT]

    async with opened(database.store(clock)) as store:
        token = await store.token_read("T")
        assert token is not None
        assert (token.state, token.context) == ("draft", {"title": "Chair"})
        await store.supervisors_see([Seen(name="box", states=("draft",), ago=0)])
    version = await raw(database, "select version_num from stateous_version")
    assert version == [(migrate.known_versions()[-1],)]
    assert before == [await raw(database, query) for query in KEPT]
    assert await raw(database, "select epoch > 7 from control_plane") in ([(True,)], [(1,)])

    if dialect == "postgres":
        said = await viewed(database, "select sentence from history where token = 'T' order by seq")
        assert [row["sentence"] for row in said] == [
            'started with {"title":"Chair"}',
            "event __started__ accepted in __start__",
            "entered draft (visit 1)",
            "task 1 queued for draft",
            "task 1 claimed by box (attempt 1)",
        ]
        assert await viewed(database, "select token, supervisor from waiting") == [
            {"token": "T", "supervisor": "box"}
        ]


async def test_a_schema_whose_views_lack_their_place_can_be_opened(
    postgres: Database, clock: Clock
) -> None:
    """Somebody made the schema of the views beforehand, because our role may make none."""
    await raw(postgres, "create schema orders")
    await raw(postgres, "create schema orders_views")
    async with opened(open_store(postgres.url, schema="orders", clock=clock)):
        assert await viewed(postgres, "select * from board", schema="orders_views") == []
