"""The connections that only read: used again as soon as the server is back, whole after whoever gave up on them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import psycopg
import pytest

from stateous.model.refusals import DatabaseBusy
from stateous.store.postgres import reads
from stateous.store.store import Store
from tests.databases import Clock, Database
from tests.store.cutting import Proxy
from tests.store.opened import opened, raw

LONG = 20.0
READERS = 40

BUSY = """
select count(*) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'
"""


@pytest.fixture
def dialect() -> str:
    return "postgres"


async def test_reads_go_on_as_soon_as_the_server_is_back(postgres: Database, clock: Clock) -> None:
    async with Proxy(postgres).listening() as proxy, opened(proxy.database.store(clock)) as store:
        await read_all(store)
        proxy.refuses = True
        proxy.cut_all()
        reading = asyncio.create_task(read_all(store))
        # Long enough for whoever would double its rests.
        await asyncio.wait([reading], timeout=1.5)
        assert not reading.done()
        proxy.refuses = False
        async with asyncio.timeout(1.0):
            await reading


async def test_a_read_ends_at_its_deadline_and_so_does_its_statement(
    database: Database, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "DEADLINE_FOR", 0.3)
    async with locked_tokens(database):
        refused = await asyncio.gather(
            *(store.token_read("T") for _ in range(READERS)), return_exceptions=True
        )
        assert {type(each) for each in refused} == {DatabaseBusy}
        assert await raw(database, BUSY + "and wait_event_type = 'Lock'") == [(0,)]
    await read_all(store)


async def test_reads_that_nobody_wants_any_more_leave_their_connections_whole(
    database: Database, store: Store
) -> None:
    async with locked_tokens(database):
        reading = [asyncio.create_task(store.token_read("T")) for _ in range(READERS)]
        async with asyncio.timeout(LONG):
            while await raw(database, BUSY + "and wait_event_type = 'Lock'") != [(reads.SIZE,)]:
                pass
        for each in reading:
            each.cancel()
        await asyncio.wait(reading)
    async with asyncio.timeout(LONG):
        await read_all(store)
        while await raw(database, BUSY) != [(0,)]:
            pass


async def read_all(store: Store) -> None:
    """As many reads at once as use all connections."""
    read = await asyncio.gather(*(store.token_read("T") for _ in range(READERS)))
    assert read == [None] * READERS


@asynccontextmanager
async def locked_tokens(database: Database) -> AsyncGenerator[None]:
    """Nobody can read tokens until the block is left."""
    async with await psycopg.AsyncConnection.connect(database.url) as connection:
        await connection.execute("lock table stateous.tokens")
        yield
