"""Two children that end at once, on two connections: the join is met once, and the parent always leaves."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from stateous.engine.answers import Moved, Skipped
from stateous.engine.commands import Fire, Report, Start
from stateous.model.refusals import TaskNotHeld
from tests.databases import Clock, Database
from tests.engine.graphs import parallel
from tests.faults.rows import checked
from tests.faults.sides import DEEP, Both, locked, saves_stopped, together, two_sides, until_waiting

ROUNDS = 2_000 if DEEP else 200
QUEUES = ("security/look", "style/look")


def passed(task: int) -> Report:
    return Report(task=task, kind="event", event="passed", payload={"approved": True}, attempt=1)


async def branched(both: Both, count: int) -> dict[str, list[int]]:
    """Parents in their parallel state, and the claimed tasks of the children of each."""
    names = [f"P{n}" for n in range(count)]
    await together(both.one.submit(Start(name, {"title": "Chair"})) for name in names)
    await together(both.one.submit(Fire(name, "ready")) for name in names)
    tasks: dict[str, list[int]] = {name: [] for name in names}
    while grants := await both.one.claim(*QUEUES, most=200):
        for grant in grants:
            tasks[grant.token.split(".")[0]].append(grant.task)
    assert all(len(found) == 2 for found in tasks.values())
    return tasks


@pytest.mark.parametrize("join", ["all", "any"])
async def test_two_children_that_end_at_once_always_let_their_parent_go(
    postgres: Database, clock: Clock, join: str
) -> None:
    graph = parallel(join=join)
    dice = random.Random(4)
    async with two_sides(postgres, graph, clock=clock) as both:
        tasks = await branched(both, ROUNDS)

        async def race(name: str) -> list[Any]:
            number = dice.randrange(2)
            reports = [both.side(number + n).submit(passed(t)) for n, t in enumerate(tasks[name])]
            return await together(reports)

        results: list[list[Any]] = await together(race(name) for name in tasks)
        world = await checked(postgres, graph)
        for name, answers in zip(tasks, results, strict=True):
            assert (world.tokens[name].state, world.tokens[name].counts["joined"]) == ("ship", 1)
            won = [answer for answer in answers if isinstance(answer, Moved)]
            lost = [answer for answer in answers if isinstance(answer, TaskNotHeld)]
            assert (len(won), len(lost)) == ((2, 0) if join == "all" else (1, 1))


@pytest.mark.parametrize("join", ["all", "any"])
@pytest.mark.parametrize("stopped", ["between its lock and its read", "in its save"])
async def test_a_join_that_was_met_while_a_report_waited_for_its_lock_is_seen(
    postgres: Database, clock: Clock, join: str, stopped: str
) -> None:
    """The second report's load began before the first child had ended, and must not read it as active."""
    graph = parallel(join=join)
    async with two_sides(postgres, graph, clock=clock) as both:
        first, second = (await branched(both, 1))["P0"]
        # The row of a task is locked after its family, and read after that.
        stop = (
            saves_stopped(postgres)
            if stopped == "in its save"
            else locked(postgres, "tasks", "id", first)
        )
        async with stop:
            leading = asyncio.create_task(both.one.once(passed(first), wait_for=20))
            await until_waiting(postgres, count=1)
            assert isinstance(await both.other.once(passed(second)), Skipped)
            following = asyncio.create_task(both.other.once(passed(second), wait_for=20))
            await until_waiting(postgres, count=2)
        assert isinstance(await leading, Moved)
        expected = Moved if join == "all" else TaskNotHeld
        assert isinstance(await following, expected)
        world = await checked(postgres, graph)
        assert (world.tokens["P0"].state, world.tokens["P0"].status) == ("ship", "active")


async def test_both_reports_that_waited_for_somebody_else_meet_the_join(
    postgres: Database, clock: Clock
) -> None:
    graph = parallel()
    async with two_sides(postgres, graph, clock=clock) as both:
        first, second = (await branched(both, 1))["P0"]
        async with locked(postgres, "tokens", "token", "P0"):
            one = asyncio.create_task(both.one.once(passed(first), wait_for=20))
            other = asyncio.create_task(both.other.once(passed(second), wait_for=20))
            await until_waiting(postgres, count=2)
        answers = await together((one, other))
        assert all(isinstance(answer, Moved) for answer in answers)
        assert (await checked(postgres, graph)).tokens["P0"].state == "ship"
