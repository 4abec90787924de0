"""A heartbeat against the end of its lease: a renewed lease is not ended, and an ended one is said to be lost."""

from __future__ import annotations

import asyncio
import random
from datetime import datetime, timedelta

import pytest

from stateous.engine.answers import Done, Skipped
from stateous.engine.commands import Beat, EndLease, Fire, Start
from stateous.store.store import Beaten
from tests.databases import Clock, Database
from tests.engine.graphs import ORDERS
from tests.faults.rows import checked
from tests.faults.sides import (
    LEASE_FOR,
    Both,
    saves_stopped,
    third,
    together,
    two_sides,
    until_waiting,
)

ROUNDS = 300


@pytest.fixture
def late() -> Clock:
    """A clock that stands behind the end of a lease that was just given."""
    clock = Clock()
    clock.forward(seconds=LEASE_FOR.total_seconds() + 1)
    return clock


async def held(both: Both, count: int) -> list[int]:
    """Claimed tasks of `review`, which may fail once."""
    names = [f"T{n}" for n in range(count)]
    await together(both.one.submit(Start(name, {"title": "Chair"})) for name in names)
    await together(both.one.submit(Fire(name, "submitted")) for name in names)
    return [grant.task for grant in await both.one.claim("review", most=count)]


async def test_each_lease_is_either_renewed_or_ended_and_the_holder_is_told_which(
    postgres: Database, clock: Clock, late: Clock
) -> None:
    dice = random.Random(5)
    async with two_sides(postgres, ORDERS, clock=clock, other_clock=late) as both:
        tasks = await held(both, ROUNDS)
        lease_until = clock() + LEASE_FOR
        # Just before its end for the one who beats, just after it for the one who ends it.
        clock.now = lease_until - timedelta(seconds=1)
        in_any_order = dice.sample(tasks, len(tasks))

        async def beat_all() -> list[int]:
            lost: list[int] = []
            for n in range(0, ROUNDS, 10):
                lost += await both.one.beat(*in_any_order[n : n + 10])
            return lost

        async def end_all() -> None:
            for n in range(0, ROUNDS, 10):
                chunk = reversed(in_any_order[-n - 10 : len(in_any_order) - n])
                await together(both.other.submit(EndLease(task)) for task in chunk)

        lost, _ = await asyncio.gather(beat_all(), end_all())
        world = await checked(postgres, ORDERS)
        assert 0 < len(lost) < ROUNDS
        for task in tasks:
            found = world.tasks[task]
            if task in lost:
                assert (found.status, found.failures) == ("queued", 1)
                assert world.kinds(found.token)[-2:] == ["task_failed", "task_retrying"]
            else:
                assert (found.status, found.failures) == ("claimed", 0)
                assert found.lease_until == clock() + LEASE_FOR


async def test_a_heartbeat_that_meets_the_end_of_its_lease_is_neither_kept_nor_lost_yet(
    postgres: Database, clock: Clock, late: Clock
) -> None:
    async with two_sides(postgres, ORDERS, clock=clock, other_clock=late) as both:
        (task,) = await held(both, 1)
        async with saves_stopped(postgres):
            ending = asyncio.create_task(both.other.once(EndLease(task)))
            await until_waiting(postgres)
            assert await _beat(both, task, clock()) == Beaten(lost=(), busy=(task,))
        assert await ending == Done()
        assert await _beat(both, task, clock()) == Beaten(lost=(task,), busy=())
        assert (await checked(postgres, ORDERS)).tasks[task].status == "queued"


async def test_a_lease_that_is_renewed_before_it_is_ended_is_not_ended(
    postgres: Database, clock: Clock, late: Clock
) -> None:
    async with two_sides(postgres, ORDERS, clock=clock, other_clock=late) as both:
        (task,) = await held(both, 1)
        until = late() + LEASE_FOR
        async with third(postgres) as beating:
            # What a heartbeat writes, not committed yet.
            await beating.execute("update tasks set lease_until = %s where id = %s", (until, task))
            assert isinstance(await both.other.once(EndLease(task)), Skipped)
            ending = asyncio.create_task(both.other.once(EndLease(task), wait_for=20))
            await until_waiting(postgres)
            await beating.execute("commit")
            assert await ending == Done()
        found = (await checked(postgres, ORDERS)).tasks[task]
        assert (found.status, found.lease_until) == ("claimed", until)


async def _beat(both: Both, task: int, now: datetime) -> Beaten:
    (beaten,) = await both.one.store.tasks_beat(
        [Beat("box", (task,))], now=now, leased_until=now + LEASE_FOR
    )
    return beaten
