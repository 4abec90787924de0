"""Another process that writes to the same SQLite file: waited for, and nobody's fault when it takes too long."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing

import pytest

from stateous.engine.changes import Changes
from stateous.engine.facts import Ask
from stateous.store.store import NotCommitted, Store
from tests.databases import Database
from tests.store.written import Written, token, write


@pytest.fixture
def dialect() -> str:
    return "sqlite"


async def test_a_file_that_another_writes_to_is_busy(database: Database, store: Store) -> None:
    path = database.url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin immediate")
        with pytest.raises(NotCommitted) as caught:
            await store.batch_decide(Written(Ask(token="T")), wait_for=0.01)
        assert not caught.value.alone
        # Reading goes on meanwhile.
        assert await store.token_read("T") is None
        writing = asyncio.create_task(write(store, Changes(new_tokens=[token("T")])))
        assert await store.token_read("T") is None
        other.execute("rollback")
        await writing
    assert await store.token_read("T") == token("T")


async def test_a_batch_that_nobody_waits_for_any_more_is_still_whole(store: Store) -> None:
    changes = Changes(new_tokens=[token("T")], memory=[("T", "draft", "k", 1)])
    writing = asyncio.create_task(write(store, changes))
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    # The one writer does one thing after the other: when this is done, the batch is.
    await write(store, Changes())
    found = await store.token_read("T")
    assert found in (None, token("T"))
