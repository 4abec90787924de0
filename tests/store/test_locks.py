"""Two connections at once, on Postgres: what is skipped, what is waited for, what is never read stale."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg import sql

from stateous.engine.changes import Changes
from stateous.engine.commands import Beat
from stateous.engine.facts import Ask, ClaimAsk, Facts, Need
from stateous.store.postgres.session import Place
from stateous.store.store import Beaten, NotCommitted, Store
from tests.databases import Clock, Database
from tests.store.test_claims import claimed, take
from tests.store.written import (
    AT,
    Written,
    WrittenClaims,
    read,
    task,
    token,
    write,
    write_ready,
)

Connection = psycopg.AsyncConnection[Any]


@pytest.fixture
def dialect() -> str:
    return "postgres"


@asynccontextmanager
async def other(database: Database) -> AsyncGenerator[Connection, None]:
    """Another connection, inside a transaction that is rolled back at the end."""
    connection = await Place(database.url, schema="stateous").connect({})
    try:
        await connection.execute("begin")
        yield connection
    finally:
        # A session that is only closed has its locks until the server notices; one that was ended has none.
        with suppress(psycopg.Error):
            await connection.rollback()
        await connection.close()


async def lock(connection: Connection, table: str, column: str, value: object) -> None:
    statement = sql.SQL("select 1 from {} where {} = %s for no key update")
    await connection.execute(
        statement.format(sql.Identifier(table), sql.Identifier(column)), (value,)
    )


async def until_somebody_waits(database: Database, *, count: int = 1) -> None:
    """Return when this many sessions of the database wait for a lock."""
    async with await psycopg.AsyncConnection.connect(database.url, autocommit=True) as watching:
        async with asyncio.timeout(10):
            while True:
                cursor = await watching.execute(
                    "select count(*) from pg_stat_activity "
                    "where datname = current_database() and wait_event_type = 'Lock'"
                )
                row = await cursor.fetchone()
                if row is not None and row[0] >= count:
                    return
                await asyncio.sleep(0)


async def test_a_family_that_another_holds_is_busy_and_its_neighbour_is_not(
    database: Database, store: Store
) -> None:
    child = token("A.x.1.b", root="A", parent="A", task=1)
    await write(
        store,
        Changes(
            new_tokens=[token("A"), child, token("B", task=2)],
            new_tasks=[task(1, child.token), task(2, "B")],
        ),
    )
    async with other(database) as connection:
        await lock(connection, "tokens", "token", "A")
        facts = await read(
            store,
            Ask(token=child.token, key="k"),
            Ask(token="A", new="A"),
            Ask(task=1, memory_key="k"),
            Ask(token="B"),
            Ask(task=2),
            Ask(token="nobody"),
        )
    assert facts.busy_tokens == {"A", child.token}
    assert facts.busy_tasks == {1}
    assert set(facts.families) == {"B"}
    assert facts.taken == {}
    assert set(facts.task_roots) == {2}


async def test_a_task_whose_row_is_locked_is_busy_and_its_family_is_not(
    database: Database, store: Store
) -> None:
    await write_ready(store, 1)
    async with other(database) as connection:
        await lock(connection, "tasks", "id", 1)
        facts = await read(store, Ask(task=1), Ask(token="T-1"))
    assert facts.busy_tasks == {1}
    assert facts.busy_tokens == set()
    assert set(facts.families["T-1"].tokens) == {"T-1"}


async def test_an_id_that_is_being_started_is_busy_in_any_case(
    database: Database, store: Store
) -> None:
    second = Written(Ask(token="New", new="New"), Ask(token="Other", new="Other"))
    needed = Written(decide=need_once("new"))

    async with other(database) as connection:
        place = Place(database.url, schema="stateous")
        await connection.execute(
            "select pg_advisory_xact_lock(hashtextextended(%s, %s))", ("new", place.start)
        )
        await store.batch_decide(second)
        await store.batch_decide(needed)
    assert second.facts.busy_tokens == {"New"}
    assert second.facts.taken == {"other": None}
    # Ids of children are looked up only: a thousand reservations would fill the server's lock table.
    assert needed.facts.busy_tokens == set()
    assert needed.facts.taken == {"new": None}


def need_once(name: str) -> Any:
    def decide(facts: Facts, _now: datetime) -> None:
        if name not in facts.busy_tokens and name not in facts.taken:
            raise Need(free=(name,))

    return decide


async def test_two_that_start_one_id_at_once_never_both_find_it_free(
    database: Database, store: Store
) -> None:
    def start(facts: Facts, _now: datetime) -> Changes:
        # Whoever has it reserved starts it, unless it is there already.
        free = facts.taken.get("t") is None and "T" not in facts.busy_tokens
        started.append(free)
        return Changes(new_tokens=[token("T")] if free else [])

    started: list[bool] = []
    asks = Ask(token="T", new="T")
    await asyncio.gather(*(store.batch_decide(Written(asks, decide=start)) for _ in range(20)))
    assert started.count(True) == 1
    assert await store.token_read("T") == token("T")


async def test_a_batch_that_waits_gets_the_family_as_the_other_left_it(
    database: Database, store: Store
) -> None:
    await write_ready(store, 1)
    async with other(database) as connection:
        await lock(connection, "tokens", "token", "T-1")
        await lock(connection, "tasks", "id", 1)
        batch = Written(Ask(task=1))
        waiting = asyncio.create_task(store.batch_decide(batch, wait_for=10))
        await until_somebody_waits(database)
        await connection.execute("update tokens set seq = 7, state = 'review' where token = 'T-1'")
        await connection.execute("update tasks set status = 'done' where id = 1")
        await connection.execute("commit")
        await waiting
    family = batch.facts.families["T-1"]
    assert family.seq_loaded == {"T-1": 7}
    assert family.tokens["T-1"].state == "review"
    assert family.tasks[1].status == "done"
    assert not batch.facts.busy_tasks


async def test_what_the_lock_protects_is_read_after_the_lock(
    database: Database, store: Store
) -> None:
    """A child that ended while its top token was waited for is not read as active."""
    child = token("A.x.1.b", root="A", parent="A")
    await write(store, Changes(new_tokens=[token("A", children_open=1), child]))
    async with other(database) as connection:
        await lock(connection, "tokens", "token", "A")
        batch = Written(Ask(token=child.token))
        waiting = asyncio.create_task(store.batch_decide(batch, wait_for=10))
        await until_somebody_waits(database)
        await connection.execute(
            "update tokens set status = 'completed' where token = %s", (child.token,)
        )
        await connection.execute("commit")
        await waiting
    assert batch.facts.families["A"].tokens[child.token].status == "completed"


async def test_a_wait_that_takes_too_long_commits_nothing_and_is_nobodys_fault(
    database: Database, store: Store
) -> None:
    await write_ready(store, 1)
    async with other(database) as connection:
        await lock(connection, "tokens", "token", "T-1")
        with pytest.raises(NotCommitted) as caught:
            await store.batch_decide(Written(Ask(token="T-1")), wait_for=0.05)
    assert not caught.value.alone


async def test_a_locked_head_of_the_queue_starves_nobody(database: Database, store: Store) -> None:
    await write_ready(store, 1, 2, 3, 4, 5)
    async with other(database) as connection:
        await lock(connection, "tokens", "token", "T-1")
        await lock(connection, "tasks", "id", 2)
        batch = WrittenClaims(ClaimAsk(supervisor=None, queues=("draft",), max=2))
        assert await store.claims_decide(batch)
        assert [found.id for found in batch.facts.ready] == [3, 4]


async def test_a_short_claim_is_told_that_locked_tasks_are_ready(
    database: Database, store: Store
) -> None:
    await write_ready(store, 1)
    async with other(database) as connection:
        await lock(connection, "tokens", "token", "T-1")
        batch = WrittenClaims(ClaimAsk(supervisor=None, queues=("draft",), max=2))
        assert await store.claims_decide(batch)
        assert batch.facts.ready == []


async def test_a_task_that_is_claimed_at_that_moment_is_not_offered(
    database: Database, store: Store
) -> None:
    await write_ready(store, 1)
    async with other(database) as connection:
        await connection.execute("update tasks set status = 'waiting' where id = 1")
        batch = WrittenClaims(ClaimAsk(supervisor=None, queues=("draft",), max=2))
        assert await store.claims_decide(batch)
        await connection.execute("commit")
        assert not await store.claims_decide(batch)
    assert batch.facts.ready == []


async def test_claims_at_once_never_share_a_task(store: Store) -> None:
    await write_ready(store, *range(1, 31))
    granted: list[int] = []

    def decide(facts: Facts, now: datetime) -> Changes:
        granted.extend(found.id for found in facts.ready)
        return take(2)(facts, now)

    ask = ClaimAsk(supervisor=None, queues=("draft",), max=2)
    await asyncio.gather(
        *(store.claims_decide(WrittenClaims(ask, decide=decide)) for _ in range(15))
    )
    assert sorted(granted) == list(range(1, 31))


async def test_earlier_grants_are_waited_for_briefly(database: Database, store: Store) -> None:
    await write_ready(store, 1)
    await store.claims_decide(
        WrittenClaims(ClaimAsk(supervisor=None, queues=("draft",), max=1), decide=take(1))
    )

    def decide(facts: Facts, _now: datetime) -> None:
        if 1 not in facts.task_roots:
            raise Need(grants=((1, 1),))

    batch = WrittenClaims(ClaimAsk(supervisor="s", queues=(), max=1), decide=decide)
    async with other(database) as connection:
        await lock(connection, "tasks", "id", 1)
        waiting = asyncio.create_task(store.claims_decide(batch))
        await until_somebody_waits(database)
        await connection.execute("update tasks set attempt = 2 where id = 1")
        await connection.execute("commit")
        await waiting
        assert batch.facts.families["T-1"].tasks[1].attempt == 2
        await connection.execute("begin")
        await lock(connection, "tasks", "id", 1)
        with pytest.raises(NotCommitted) as caught:
            await store.claims_decide(batch)
    assert not caught.value.alone


async def test_a_heartbeat_waits_for_nobody_and_loses_nothing(
    database: Database, store: Store
) -> None:
    await write_ready(store, 1, 2, 3)
    changes = Changes(
        tasks=[claimed(task(n, f"T-{n}"), lease_until=AT) for n in (1, 2)]
        + [claimed(task(3, "T-3"), claimed_by="t")]
    )
    await write(store, changes)
    async with other(database) as connection:
        await lock(connection, "tasks", "id", 1)
        await lock(connection, "tasks", "id", 3)
        # A family's lock is none of a heartbeat's business.
        await lock(connection, "tokens", "token", "T-2")
        beaten = await store.tasks_beat(
            [Beat("s", (1, 2, 3))], now=AT, leased_until=AT + timedelta(minutes=1)
        )
    # The third was read as another's, locked or not.
    assert beaten == [Beaten(lost=(3,), busy=(1,))]


async def test_a_heartbeat_reads_a_row_that_changed_while_it_took_the_lock_as_busy_or_lost(
    database: Database, store: Store
) -> None:
    await write_ready(store, 1)
    await write(store, Changes(tasks=[claimed(task(1, "T-1"))]))
    async with other(database) as connection:
        await connection.execute("update tasks set status = 'done' where id = 1")
        beat = [Beat("s", (1,))]
        until = AT + timedelta(minutes=1)
        assert await store.tasks_beat(beat, now=AT, leased_until=until) == [
            Beaten(lost=(), busy=(1,))
        ]
        await connection.execute("commit")
        assert await store.tasks_beat(beat, now=AT, leased_until=until) == [
            Beaten(lost=(1,), busy=())
        ]


async def test_who_raises_the_epoch_waits_for_batches_in_flight(
    database: Database, store: Store, clock: Clock
) -> None:
    place = Place(database.url, schema="stateous")
    order: list[str] = []
    async with other(database) as connection:
        await connection.execute("select pg_advisory_xact_lock_shared(%s)", (place.fence,))
        await store.close()
        successor = database.store(clock)
        taking = asyncio.create_task(successor.open())
        await until_somebody_waits(database)
        order.append("committed")
        await connection.execute("commit")
        await taking
        order.append("opened")
        await successor.close()
    assert order == ["committed", "opened"]


async def test_batches_that_wait_for_locks_hold_up_no_other(
    database: Database, store: Store
) -> None:
    await write_ready(store, 1, 2, 3, 4, 5)
    async with other(database) as connection:
        for n in range(1, 5):
            await lock(connection, "tokens", "token", f"T-{n}")
        waiting = [
            asyncio.create_task(store.batch_decide(Written(Ask(token=f"T-{n}")), wait_for=10))
            for n in range(1, 5)
        ]
        await until_somebody_waits(database, count=4)
        facts = await asyncio.wait_for(read(store, Ask(token="T-5")), 5)
        assert set(facts.families) == {"T-5"}
        assert not any(task.done() for task in waiting)
    await asyncio.gather(*waiting)
