"""A command for a whole family against a claim of its child's task."""

from __future__ import annotations

import asyncio
import random

import pytest

from stateous.engine.answers import Moved
from stateous.engine.commands import Cancel, Command, Fire, Start
from tests.databases import Clock, Database
from tests.engine.graphs import parallel
from tests.faults.rows import checked
from tests.faults.sides import Both, saves_stopped, together, two_sides, until_waiting

ROUNDS = 100
GRAPH = parallel(nested=True)
QUEUES = ("security/look", "style/look")
DEEPEST = "P0.reviews.1.outer.inner.1.style"
LEAVING: dict[str, Command] = {"leaves": Fire("P0", "leave"), "is cancelled": Cancel("P0")}


async def branched(both: Both, count: int) -> list[str]:
    names = [f"P{n}" for n in range(count)]
    await together(both.one.submit(Start(name, {"title": "Chair"})) for name in names)
    await together(both.one.submit(Fire(name, "ready")) for name in names)
    return names


@pytest.mark.parametrize("how", list(LEAVING))
async def test_a_claim_that_meets_a_parent_that_leaves_gets_no_child_of_it(
    postgres: Database, clock: Clock, how: str
) -> None:
    async with two_sides(postgres, GRAPH, clock=clock) as both:
        await branched(both, 1)
        async with saves_stopped(postgres):
            leaving = asyncio.create_task(both.one.once(LEAVING[how]))
            await until_waiting(postgres)
            assert await both.other.claim_once(*QUEUES, most=2) == ((), True)
        assert isinstance(await leaving, Moved)
        assert await both.other.claim_once(*QUEUES, most=2) == ((), False)
        await checked(postgres, GRAPH)


@pytest.mark.parametrize("how", list(LEAVING))
async def test_a_parent_that_leaves_while_its_childs_task_is_claimed_cancels_it(
    postgres: Database, clock: Clock, how: str
) -> None:
    async with two_sides(postgres, GRAPH, clock=clock) as both:
        await branched(both, 1)
        async with saves_stopped(postgres):
            claiming = asyncio.create_task(both.other.claim_once("style/look"))
            await until_waiting(postgres, count=1)
            leaving = asyncio.create_task(both.one.once(LEAVING[how], wait_for=20))
            await until_waiting(postgres, count=2)
        (grant,), _ = await claiming
        assert isinstance(await leaving, Moved)
        world = await checked(postgres, GRAPH)
        assert grant.token == DEEPEST
        assert world.kinds(DEEPEST)[-3:] == ["task_claimed", "task_cancelled", "cancelled"]
        assert await both.one.beat(grant.task) == (grant.task,)


async def test_families_that_leave_while_their_children_are_claimed_leave_no_task_behind(
    postgres: Database, clock: Clock
) -> None:
    dice = random.Random(6)
    async with two_sides(postgres, GRAPH, clock=clock) as both:
        names = await branched(both, ROUNDS)
        leaving: list[Command] = [
            Cancel(name) if n % 2 else Fire(name, "leave") for n, name in enumerate(names)
        ]
        dice.shuffle(leaving)

        async def claim_all() -> list[int]:
            tasks: list[int] = []
            while grants := await both.other.claim(*QUEUES, most=8):
                tasks += [grant.task for grant in grants]
            return tasks

        # One by one, so that claims come in between.
        async def leave_all() -> None:
            for command in leaving:
                assert isinstance(await both.one.submit(command), Moved)

        claimed, _ = await asyncio.gather(claim_all(), leave_all())
        world = await checked(postgres, GRAPH)
        assert len(claimed) == len(set(claimed))
        assert claimed
        assert {world.tasks[task].status for task in claimed} == {"cancelled"}
        for token in world.tokens.values():
            assert token.parent is None or token.status == "cancelled"
        assert await both.one.beat(*claimed) == tuple(sorted(claimed))
