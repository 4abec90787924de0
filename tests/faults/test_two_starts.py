"""Starts at once: of one id, and of ids that differ in case only."""

from __future__ import annotations

import asyncio

import pytest

from stateous.engine.answers import Answer, Done, Skipped, Started
from stateous.engine.batch import Batch
from stateous.engine.commands import SetMemory, Start
from stateous.model.refusals import InvalidTokenId, Refusal
from stateous.store.postgres.session import Place
from tests.databases import Clock, Database
from tests.engine.graphs import ORDERS
from tests.faults.rows import checked
from tests.faults.sides import (
    SCHEMA,
    Side,
    saves_stopped,
    third,
    together,
    two_sides,
    until_waiting,
)


def order(token: str) -> Start:
    return Start(token, {"title": "Chair"})


async def test_fifty_starts_of_one_id_from_two_sides_make_one_token(
    postgres: Database, clock: Clock
) -> None:
    async with two_sides(postgres, ORDERS, clock=clock) as both:
        for n in range(10):
            name = f"T{n}"
            answers = await together(both.side(i).submit(order(name)) for i in range(50))
            started = [answer for answer in answers if isinstance(answer, Started)]
            assert len(started) == 50, [a for a in answers if not isinstance(a, Started)]
            assert [answer.created for answer in started].count(True) == 1
            # All are told of the same token, as it stands.
            assert len({answer.token.created_at for answer in started}) == 1
        world = await checked(postgres, ORDERS)
        assert sorted(world.tokens) == [f"T{n}" for n in range(10)]
        assert len(world.tasks) == 10


async def test_a_start_whose_id_is_committed_while_it_reads_looks_again(
    postgres: Database, clock: Clock
) -> None:
    """The other's token is not there yet when families are read, and is there when ids are looked up."""
    async with two_sides(postgres, ORDERS, clock=clock) as both:
        await both.one.submit(order("U"))
        (grant,) = await both.one.claim("draft")
        batch = Batch(both.one.rules, [order("T"), SetMemory(task=grant.task, key="k", value=1)])
        async with third(postgres) as stopping:
            async with saves_stopped(postgres):
                starting = asyncio.create_task(both.other.once(order("T")))
                await until_waiting(postgres, count=1)
                # Memory is read between the two.
                await stopping.execute("lock table memory in access exclusive mode")
                meeting = asyncio.create_task(both.one.store.batch_decide(batch))
                await until_waiting(postgres, count=2)
            assert isinstance(await starting, Started)
        await meeting
        assert batch.answers == [Skipped(), Done()]
        again = await both.one.submit(order("T"))
        assert isinstance(again, Started)
        assert not again.created


async def test_of_two_starts_whose_ids_differ_in_case_one_is_refused(
    postgres: Database, clock: Clock
) -> None:
    async with two_sides(postgres, ORDERS, clock=clock) as both:

        async def pair(n: int) -> None:
            names = (f"Order-{n}", f"oRDER-{n}")
            answers = await together(
                side.submit(order(name))
                for side, name in zip((both.one, both.other), names, strict=True)
            )
            _one_won(answers)

        await asyncio.gather(*(pair(n) for n in range(100)))
        assert len((await checked(postgres, ORDERS)).tokens) == 100


@pytest.mark.parametrize("first", ["one", "other"])
async def test_two_that_wait_for_one_id_find_what_the_first_of_them_started(
    postgres: Database, clock: Clock, first: str
) -> None:
    async with two_sides(postgres, ORDERS, clock=clock) as both:
        sides: list[Side] = [both.one, both.other]
        if first == "other":
            sides.reverse()
        async with third(postgres) as starting:
            # Somebody starts the id, in a third case of letters, and will not do it.
            await starting.execute(
                "select pg_advisory_xact_lock(hashtextextended('same', %s))",
                (Place("", schema=SCHEMA).start,),
            )
            winning = asyncio.create_task(sides[0].once(order("Same"), wait_for=20))
            await until_waiting(postgres, count=1)
            losing = asyncio.create_task(sides[1].once(order("sAME"), wait_for=20))
            await until_waiting(postgres, count=2)
        assert isinstance(await winning, Started)
        assert isinstance(await losing, InvalidTokenId)
        assert set((await checked(postgres, ORDERS)).tokens) == {"Same"}


def _one_won(answers: list[Answer | Refusal]) -> None:
    created = [a for a in answers if isinstance(a, Started) and a.created]
    refusals = [a for a in answers if isinstance(a, Refusal)]
    assert len(created) == 1
    assert [type(refusal) for refusal in refusals] == [InvalidTokenId]
