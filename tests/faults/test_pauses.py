"""A pause against what arrives at that moment: an event, an outcome, a claim. Nothing is lost, nothing moves in the pause."""

from __future__ import annotations

import asyncio
import random

import pytest

from stateous.engine.answers import Moved, Skipped
from stateous.engine.commands import Command, Fire, Pause, Report, Resume, Start
from tests.databases import Clock, Database
from tests.engine.graphs import ORDERS
from tests.faults.rows import checked
from tests.faults.sides import Both, Side, saves_stopped, together, two_sides, until_waiting

ROUNDS = 300


async def started(both: Both, count: int) -> list[str]:
    names = [f"T{n}" for n in range(count)]
    await together(both.one.submit(Start(name, {"title": "Chair"})) for name in names)
    return names


async def claimed(both: Both, count: int) -> dict[str, int]:
    await started(both, count)
    return {grant.token: grant.task for grant in await both.one.claim("draft", most=count)}


async def shuffled(both: Both, dice: random.Random, pairs: list[tuple[Command, Command]]) -> None:
    """Send the two commands of each pair from different sides, all at once, in any order."""
    sent: list[tuple[Side, Command]] = []
    for pair in pairs:
        number = dice.randrange(2)
        sent += [(both.side(number + n), command) for n, command in enumerate(pair)]
    dice.shuffle(sent)
    answers = await together(side.submit(command) for side, command in sent)
    assert all(isinstance(answer, Moved) for answer in answers)


@pytest.mark.parametrize("arriving", ["event", "outcome"])
async def test_what_arrives_at_a_pause_is_applied_before_it_or_held_and_never_lost(
    postgres: Database, clock: Clock, arriving: str
) -> None:
    async with two_sides(postgres, ORDERS, clock=clock) as both:
        tasks = await claimed(both, ROUNDS)
        pairs: list[tuple[Command, Command]] = [
            (Pause(name), Fire(name, "submitted", key="k") if arriving == "event" else done(task))
            for name, task in tasks.items()
        ]
        await shuffled(both, random.Random(2), pairs)
        paused = await checked(postgres, ORDERS)
        held: set[str] = set()
        for name in tasks:
            token = paused.tokens[name]
            kinds = paused.kinds(name)
            assert token.status == "paused"
            if token.held_count:
                held.add(name)
                assert token.state == "draft"
                assert kinds.index("paused") < kinds.index("event_deferred")
                assert "event_accepted" not in kinds[kinds.index("paused") :]
            else:
                assert token.state == "review"
                assert kinds.index("entered", 3) < kinds.index("paused")
        assert 0 < len(held) < ROUNDS

        answers = await together(both.side(n).submit(Resume(name)) for n, name in enumerate(tasks))
        assert all(isinstance(answer, Moved) for answer in answers)
        resumed = await checked(postgres, ORDERS)
        for name in tasks:
            token = resumed.tokens[name]
            assert (token.state, token.status, token.held_count) == ("review", "active", 0)
            assert token.counts["submitted"] == 1
            assert ("event_replayed" in resumed.kinds(name)) == (name in held)


def done(task: int) -> Report:
    return Report(task=task, kind="event", event="submitted", attempt=1)


async def test_an_event_that_meets_a_pause_in_its_save_is_held(
    postgres: Database, clock: Clock
) -> None:
    async with two_sides(postgres, ORDERS, clock=clock) as both:
        await started(both, 1)
        async with saves_stopped(postgres):
            pausing = asyncio.create_task(both.one.once(Pause("T0")))
            await until_waiting(postgres, count=1)
            assert isinstance(await both.other.once(Fire("T0", "submitted")), Skipped)
            firing = asyncio.create_task(both.other.once(Fire("T0", "submitted"), wait_for=20))
            await until_waiting(postgres, count=2)
        assert isinstance(await pausing, Moved)
        assert isinstance(await firing, Moved)
        world = await checked(postgres, ORDERS)
        assert world.kinds("T0")[-2:] == ["paused", "event_deferred"]
        await both.one.submit(Resume("T0"))
        assert (await checked(postgres, ORDERS)).tokens["T0"].state == "review"


async def test_a_pause_that_meets_an_event_in_its_save_comes_after_it(
    postgres: Database, clock: Clock
) -> None:
    async with two_sides(postgres, ORDERS, clock=clock) as both:
        await started(both, 1)
        async with saves_stopped(postgres):
            firing = asyncio.create_task(both.one.once(Fire("T0", "submitted")))
            await until_waiting(postgres, count=1)
            pausing = asyncio.create_task(both.other.once(Pause("T0"), wait_for=20))
            await until_waiting(postgres, count=2)
        assert isinstance(await firing, Moved)
        assert isinstance(await pausing, Moved)
        world = await checked(postgres, ORDERS)
        assert world.tokens["T0"].state == "review"
        # The task of the state that was entered meanwhile is parked, too.
        assert world.parked_tasks == {world.tokens["T0"].task}


async def test_a_claim_that_meets_a_pause_in_its_save_gets_nothing_of_it(
    postgres: Database, clock: Clock
) -> None:
    async with two_sides(postgres, ORDERS, clock=clock) as both:
        await started(both, 1)
        async with saves_stopped(postgres):
            pausing = asyncio.create_task(both.one.once(Pause("T0")))
            await until_waiting(postgres)
            assert await both.other.claim_once("draft") == ((), True)
        await pausing
        assert await both.other.claim_once("draft") == ((), False)
        await checked(postgres, ORDERS)


async def test_a_pause_that_meets_a_claim_in_its_save_leaves_the_task_to_its_holder(
    postgres: Database, clock: Clock
) -> None:
    async with two_sides(postgres, ORDERS, clock=clock) as both:
        await started(both, 1)
        async with saves_stopped(postgres):
            claiming = asyncio.create_task(both.one.claim_once("draft"))
            await until_waiting(postgres, count=1)
            pausing = asyncio.create_task(both.other.once(Pause("T0"), wait_for=20))
            await until_waiting(postgres, count=2)
        grants, _ = await claiming
        assert isinstance(await pausing, Moved)
        world = await checked(postgres, ORDERS)
        assert world.kinds("T0")[-2:] == ["task_claimed", "paused"]
        assert world.parked_tasks == set()
        task = grants[0].task
        assert await both.one.beat(task) == ()
        assert isinstance(await both.other.submit(done(task)), Moved)
        await both.one.submit(Resume("T0"))
        assert (await checked(postgres, ORDERS)).tokens["T0"].state == "review"


async def test_claims_against_pauses_hand_out_no_task_of_a_paused_token(
    postgres: Database, clock: Clock
) -> None:
    async with two_sides(postgres, ORDERS, clock=clock) as both:
        names = await started(both, ROUNDS)
        random.Random(3).shuffle(names)

        async def claim_all() -> set[str]:
            granted: set[str] = set()
            while grants := await both.other.claim("draft", most=20):
                granted.update(grant.token for grant in grants)
            return granted

        pausing = together(both.one.submit(Pause(name)) for name in names)
        granted, answers = await asyncio.gather(claim_all(), pausing)
        assert all(isinstance(answer, Moved) for answer in answers)
        world = await checked(postgres, ORDERS)
        for name in names:
            token, kinds = world.tokens[name], world.kinds(name)
            assert token.task is not None
            if name in granted:
                assert kinds.index("task_claimed") < kinds.index("paused")
                assert world.tasks[token.task].status == "claimed"
            else:
                assert token.task in world.parked_tasks
        # Unparked again, the rest is there for whoever comes.
        await together(both.one.submit(Resume(name)) for name in names)
        rest = await claim_all()
        assert rest | granted == set(names)
        assert not rest & granted
