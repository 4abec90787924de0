"""The hold on Postgres: who silently stops pinging loses it, several can share it, and one of them has the clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta

import psycopg
import pytest

from stateous.store.postgres.hold import Clock, Hold
from stateous.store.postgres.session import Place
from tests.databases import Database
from tests.store.opened import raw

SOON = timedelta(seconds=1)
LONGER_THAN_SOON = "select pg_sleep(2.5)"
KILL_THE_HOLDS = (
    "select count(pg_terminate_backend(l.pid, 5000)) from pg_locks l "
    "where l.locktype = 'advisory' and l.granted and l.pid <> pg_backend_pid() "
    "and l.database = (select oid from pg_database where datname = current_database())"
)


@pytest.fixture
def place(postgres: Database) -> Place:
    return Place(postgres.url, schema="stateous")


@asynccontextmanager
async def holds(place: Place, count: int) -> AsyncGenerator[list[Hold]]:
    """Holds that are not taken, and are given up at the end."""
    async with AsyncExitStack() as stack:
        made = [Hold(place) for _ in range(count)]
        for hold in made:
            stack.push_async_callback(hold.give_up)
        yield made


@asynccontextmanager
async def sharing(place: Place) -> AsyncGenerator[tuple[Hold, Hold]]:
    """Two that share the hold: the first one began the epoch, the second one joined."""
    async with holds(place, 2) as (first, second):
        assert await first.try_take()
        await first.raise_epoch()
        await first.share()
        assert not await second.try_take()
        assert await second.try_take(shared=True)
        second.adopt_epoch(first.epoch)
        yield first, second


async def test_a_hold_is_pinged_while_the_tables_are_made(postgres: Database, place: Place) -> None:
    hold = Hold(place, lasts_for=SOON)
    assert await hold.take()
    try:
        await raw(postgres, LONGER_THAN_SOON)
        assert not await Hold(place).take()
        await hold.raise_epoch()
    finally:
        await hold.give_up()


async def test_a_hold_that_is_cut_while_the_tables_are_made_is_not_taken_back(
    postgres: Database, place: Place
) -> None:
    async with holds(place, 2) as (first, second):
        assert await first.take()
        await raw(postgres, KILL_THE_HOLDS)
        for _ in range(2):
            await first.ping()
        with pytest.raises(psycopg.OperationalError, match="the connection of the hold was cut"):
            await first.raise_epoch()
        assert await second.take()


async def test_a_hold_whose_holder_is_silent_goes_to_the_next(place: Place) -> None:
    silent = Hold(place, lasts_for=SOON)
    # As if its process were stopped.
    silent.ping = asyncio.Event().wait  # type: ignore[method-assign]
    assert await silent.take()
    try:
        async with asyncio.timeout(20), holds(place, 1) as (patient,):
            connection = await place.connect({})
            await connection.execute("select pg_advisory_lock(%s)", (place.hold,))
            await connection.close()
            while not await patient.try_take():
                pass
    finally:
        await silent.give_up()


async def test_a_hold_that_is_shared_lets_others_share_it_and_nobody_have_it_alone(
    place: Place,
) -> None:
    async with sharing(place) as (first, second), holds(place, 1) as (third,):
        assert not await third.try_take()
        await first.give_up()
        assert not await third.try_take()
        await second.give_up()
        assert await third.try_take()


async def test_a_shared_hold_that_was_cut_is_shared_again(postgres: Database, place: Place) -> None:
    async with sharing(place) as both, holds(place, 1) as (third,):
        await raw(postgres, KILL_THE_HOLDS)
        for hold in both:
            await hold.ping()
            await hold.ping()
        assert [hold.is_held for hold in both] == [True, True]
        assert not await third.try_take()
        assert await third.try_take(shared=True)


async def test_a_shared_hold_that_was_cut_is_lost_when_somebody_began_an_epoch(
    postgres: Database, place: Place
) -> None:
    async with sharing(place) as (first, second), holds(place, 1) as (other,):
        await raw(postgres, KILL_THE_HOLDS)
        assert await other.try_take()
        await other.raise_epoch()
        await other.share()
        for hold in (first, second):
            await hold.ping()
            await hold.ping()
        assert [first.is_held, second.is_held, other.is_held] == [False, False, True]
        assert await first.clock_try() is Clock.ANOTHERS


async def test_one_of_those_who_share_runs_the_clock_until_it_is_gone(
    postgres: Database, place: Place
) -> None:
    async with sharing(place) as (first, second):
        tried = [await hold.clock_try() for hold in (second, first, second)]
        assert tried == [Clock.TAKEN, Clock.ANOTHERS, Clock.OURS]
        await second.give_up()
        assert await first.clock_try() is Clock.TAKEN
        await raw(postgres, KILL_THE_HOLDS)
        await first.ping()
        assert await first.clock_try() is Clock.ANOTHERS
        await first.ping()
        assert await first.clock_try() is Clock.TAKEN


async def test_who_has_the_hold_alone_runs_the_clock(place: Place) -> None:
    async with holds(place, 1) as (hold,):
        assert await hold.take()
        assert await hold.clock_try() is Clock.ANOTHERS
        await hold.raise_epoch()
        assert await hold.clock_try() is Clock.OURS
        hold.lose()
        assert await hold.clock_try() is Clock.ANOTHERS


async def test_a_table_that_somebody_locks_for_long_costs_no_hold(
    postgres: Database, place: Place
) -> None:
    async with holds(place, 2) as (hold, other):
        assert await hold.take()
        await hold.raise_epoch()
        await hold.connection.execute("set lock_timeout = '50ms'")
        async with await psycopg.AsyncConnection.connect(postgres.url) as locking:
            await locking.execute("lock table stateous.control_plane")
            await hold.ping()
            assert not await other.try_take()
        await hold.ping()
        assert hold.is_held
