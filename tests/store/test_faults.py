"""Connections that are cut, on Postgres: what committed is answered, what did not may be tried again."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import suppress
from datetime import datetime

import pytest

from stateous.engine.changes import Changes
from stateous.engine.facts import Ask, Facts
from stateous.model.refusals import DatabaseBusy
from stateous.store.postgres.hold import Hold
from stateous.store.postgres.save import commit
from stateous.store.postgres.seats import Seats
from stateous.store.postgres.session import Place
from stateous.store.rows import entry_row, json_text
from stateous.store.store import NotCommitted, Store
from stateous.store.writes import Write
from tests.databases import Clock, Database
from tests.store.cutting import Cut, Proxy
from tests.store.opened import opened, raw
from tests.store.written import Written, entry, read, token, write

KILL_THE_OTHERS = (
    "select count(pg_terminate_backend(pid)) from pg_stat_activity "
    "where datname = current_database() and pid <> pg_backend_pid() "
)


@pytest.fixture
async def proxy(postgres: Database) -> AsyncGenerator[Proxy, None]:
    async with Proxy(postgres).listening() as listening:
        yield listening


@pytest.fixture
async def served(proxy: Proxy, clock: Clock) -> AsyncGenerator[Store, None]:
    """A store behind the proxy, with connections that are warm."""
    async with opened(proxy.database.store(clock)) as store:
        await write(store, Changes(new_tokens=[token("first")]))
        yield store


def cutting(proxy: Proxy, cut: Cut) -> Written:
    """A batch that starts T, and cuts its connection when it is saved."""

    def decide(_facts: Facts, _now: datetime) -> Changes:
        proxy.cut = cut
        return Changes(new_tokens=[token("T")])

    return Written(Ask(token="T", new="T"), decide=decide)


@pytest.mark.parametrize("cut", [Cut.BEFORE_THE_SERVER, Cut.BEFORE_THE_ANSWER])
async def test_a_batch_whose_commit_is_cut_is_told_what_became_of_it(
    postgres: Database, proxy: Proxy, served: Store, cut: Cut
) -> None:
    batch = cutting(proxy, cut)
    if cut is Cut.BEFORE_THE_ANSWER:
        await served.batch_decide(batch)
    else:
        with pytest.raises(NotCommitted) as caught:
            await served.batch_decide(batch)
        assert not caught.value.alone
    assert proxy.cuts == 1
    committed = await raw(postgres, "select token from tokens where token = 'T'")
    assert committed == ([("T",)] if cut is Cut.BEFORE_THE_ANSWER else [])
    await write(served, Changes(new_tokens=[token("after")]))


@pytest.mark.parametrize("forgets", ["the transaction", "its number, and gives it to another"])
async def test_a_commit_that_a_crashed_server_forgot_is_tried_again(
    postgres: Database, proxy: Proxy, served: Store, forgets: str
) -> None:
    place = Place(postgres.url, schema="stateous")
    connection = await place.connect({})
    written = entry("T", 1, "started", context={})
    try:
        cursor = await connection.execute("select pg_current_xact_id()::text")
        row = await cursor.fetchone()
        assert row is not None
        ours = int(row[0]) + (1000 if forgets == "the transaction" else 0)
        proxy_connection = await Place(proxy.database.url, schema="stateous").connect({})
        writes = [Write("entries_add", {"rows": json_text([entry_row(written)])})]
        await proxy_connection.execute("begin")
        proxy.cut = Cut.BEFORE_THE_SERVER
        with pytest.raises(NotCommitted) as caught:
            await commit(proxy_connection, writes, place=place, xid=str(ours), proof=written)
        assert not caught.value.alone
    finally:
        await connection.close()


async def test_a_server_that_hangs_up_behind_its_commit_has_committed(
    postgres: Database, proxy: Proxy, served: Store
) -> None:
    await served.batch_decide(cutting(proxy, Cut.BEHIND_THE_COMMIT))
    assert proxy.cuts == 1
    assert await raw(postgres, "select token from tokens where token = 'T'") == [("T",)]


async def test_a_session_that_ends_while_it_is_decided_commits_nothing(
    postgres: Database, clock: Clock
) -> None:
    async with opened(postgres.store(clock)) as store:
        await write(store, Changes(new_tokens=[token("first")]))

        def decide(_facts: Facts, _now: datetime) -> Changes:
            import psycopg

            with psycopg.connect(postgres.url) as killing:
                killing.execute(KILL_THE_OTHERS + "and state = 'idle in transaction'")
            return Changes(new_tokens=[token("T")])

        with pytest.raises(NotCommitted) as caught:
            await store.batch_decide(Written(Ask(token="first"), decide=decide))
        assert not caught.value.alone
        assert await store.token_read("T") is None
        await write(store, Changes(new_tokens=[token("T")]))


async def test_a_server_that_was_away_is_used_again(postgres: Database, clock: Clock) -> None:
    async with opened(postgres.store(clock)) as store:
        await write(store, Changes(new_tokens=[token("T")]))
        assert await store.token_read("T") == token("T")
        await raw(postgres, KILL_THE_OTHERS)
        # The two connections of the lane are found dead one after the other.
        for _ in range(2):
            with suppress(NotCommitted):
                await read(store, Ask(token="T"))
        assert (await read(store, Ask(token="T"))).roots == {"T": "T"}
        assert await store.token_read("T") == token("T")
        assert store.is_serving


async def test_a_server_that_is_away_is_asked_seldom() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        place = Place(f"postgresql://127.0.0.1:{nobody.getsockname()[1]}/x", schema="stateous")
        seats = Seats(place, count=1)
        began = asyncio.get_running_loop().time()
        with pytest.raises(NotCommitted) as caught:
            async with seats.taken():
                pass
        assert not caught.value.alone
        assert asyncio.get_running_loop().time() - began >= 0.2


async def test_a_hold_that_was_cut_is_taken_back(postgres: Database) -> None:
    place = Place(postgres.url, schema="stateous")
    hold = Hold(place)
    assert await hold.take()
    await hold.raise_epoch()
    try:
        await raw(postgres, KILL_THE_OTHERS)
        await hold.ping()
        assert hold.is_held
        await hold.ping()
        assert hold.is_held
        assert not await Hold(place).take()
    finally:
        await hold.give_up()


async def test_a_hold_whose_server_cannot_be_used_for_a_while_is_taken_back(
    postgres: Database,
) -> None:
    place = Place(postgres.url, schema="stateous")
    hold = Hold(place)
    assert await hold.take()
    await hold.raise_epoch()
    try:
        await raw(postgres, KILL_THE_OTHERS)
        place.url = "postgresql://%zz"
        for _ in range(2):
            await hold.ping()
        assert hold.is_held
        place.url = postgres.url
        await hold.ping()
        assert not await Hold(place).take()
    finally:
        await hold.give_up()


async def test_a_hold_that_another_took_meanwhile_is_lost(postgres: Database) -> None:
    place = Place(postgres.url, schema="stateous")
    first, second = Hold(place), Hold(place)
    assert await first.take()
    await first.raise_epoch()
    try:
        await raw(postgres, KILL_THE_OTHERS)
        assert await second.take()
        # Not lost yet: the other may still be making its tables.
        await first.ping()
        await first.ping()
        assert first.is_held
        await second.raise_epoch()
        await first.ping()
        assert not first.is_held
        assert second.is_held
    finally:
        await first.give_up()
        await second.give_up()


async def test_a_session_with_the_hold_ends_when_nobody_pings(postgres: Database) -> None:
    place = Place(postgres.url, schema="stateous")
    hold = Hold(place)
    assert await hold.take()
    try:
        cursor = await hold.connection.execute("show idle_session_timeout")
        assert await cursor.fetchone() == ("15s",)
    finally:
        await hold.give_up()


async def test_a_closed_store_reads_nothing(database: Database, clock: Clock) -> None:
    async with opened(database.store(clock)) as store:
        pass
    with pytest.raises(DatabaseBusy):
        await store.token_read("T")
