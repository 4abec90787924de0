"""The end of a routine's child against suspensions, pauses and cancels, through two control planes at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from stateous.control.compose import open_plane
from stateous.control.plane import Plane
from stateous.engine.answers import Checkpointed
from stateous.engine.commands import AwaitChild, Cancel, Claim, Pause, Report, Resume, Start
from stateous.model.graph import parse_graph
from stateous.model.refusals import ChildIdTaken, Refusal
from tests.databases import Clock, Database
from tests.engine.graphs import flow, main
from tests.faults.sides import at_once

KID = flow(
    {"play": {"emits": ["done"]}},
    [("__start__", "play"), ("play", "__end__", "done")],
    events=["done"],
)
GRAPH = parse_graph(
    main(
        {"work": {"emits": ["done"], "children": ["kid"]}},
        [("__start__", "work"), ("work", "__end__", "done")],
        events=["done"],
        children={"kid": KID},
    )
)
ROUNDS = 40


@pytest.fixture
async def planes(postgres: Database) -> AsyncGenerator[tuple[Plane, Plane]]:
    async with AsyncExitStack() as stack:
        opened: list[Plane] = []
        for name in ("one", "two"):
            plane = await open_plane(
                graph=GRAPH, db=postgres.url, clock=Clock(), mode="replica", serving=name
            )
            stack.push_async_callback(plane.stop)
            opened.append(plane)
        yield opened[0], opened[1]


async def claimed(plane: Plane, state: str) -> int:
    (grant,) = (await plane.claim(Claim(supervisor="box", states=(state,)))).grants
    return grant.task


def begin(plane: Plane, task: int, **fields: Any) -> Awaitable[Any]:
    return plane.checkpoint(
        AwaitChild(task=task, attempt=1, revision=0, name="a", workflow="kid", input={}, **fields)
    )


async def asked(plane: Plane, number: int) -> tuple[int, int]:
    """A task whose routine has just begun a child, and the child's task, which is worked on."""
    await plane.submit(Start(f"T{number}", {}))
    task = await claimed(plane, "work")
    answer = await begin(plane, task)
    assert isinstance(answer, Checkpointed)
    assert answer.child == f"T{number}.work.1.a"
    return task, await claimed(plane, "kid/play")


def suspend(plane: Plane, task: int) -> Awaitable[Any]:
    return plane.submit(Report(task=task, kind="waiting", supervisor="box", awaiting=("a",)))


def end(plane: Plane, task: int) -> Awaitable[Any]:
    return plane.submit(Report(task=task, kind="event", event="done"))


async def goes_on(plane: Plane, task: int) -> None:
    """The task is there to be claimed, with its result, and ends."""
    (grant,) = (await plane.claim(Claim(supervisor="box", states=("work",)))).grants
    assert grant.task == task
    assert [(step.status, step.result["status"]) for step in grant.steps] == [("done", "completed")]
    await end(plane, task)


async def test_the_end_of_a_child_against_the_suspension(planes: tuple[Plane, Plane]) -> None:
    one, two = planes
    for number in range(ROUNDS):
        task, kid = await asked(one, number)
        await at_once(number, suspend(one, task), end(two, kid))
        await goes_on(two, task)


async def test_the_end_of_a_child_against_a_pause(planes: tuple[Plane, Plane]) -> None:
    one, two = planes
    for number in range(ROUNDS):
        task, kid = await asked(one, number)
        await suspend(one, task)
        await at_once(number, one.submit(Pause(f"T{number}")), end(two, kid))
        assert not (await two.claim(Claim(supervisor="box", states=("work",)))).grants
        await two.submit(Resume(f"T{number}"))
        await goes_on(one, task)


async def test_the_end_of_a_child_against_a_resume(planes: tuple[Plane, Plane]) -> None:
    one, two = planes
    for number in range(ROUNDS):
        task, kid = await asked(one, number)
        await suspend(one, task)
        await one.submit(Pause(f"T{number}"))
        await at_once(number, one.submit(Resume(f"T{number}")), end(two, kid))
        await goes_on(two, task)


async def test_the_end_of_a_child_against_a_cancel(planes: tuple[Plane, Plane]) -> None:
    one, two = planes
    for number in range(ROUNDS):
        task, kid = await asked(one, number)
        await suspend(one, task)
        outcomes = await asyncio.gather(
            one.submit(Cancel(f"T{number}")), end(two, kid), return_exceptions=True
        )
        codes = [each.code for each in outcomes if isinstance(each, Refusal)]
        assert codes in ([], ["task_not_held"])
        status = (await one.token(f"T{number}.work.1.a")).status
        assert status == ("cancelled" if codes else "completed")
        assert (await two.token(f"T{number}")).status == "cancelled"


async def test_two_steps_that_want_one_id_at_once(planes: tuple[Plane, Plane]) -> None:
    one, two = planes
    for number in range(ROUNDS // 2):
        tasks: list[int] = []
        for letter in "TU":
            await one.submit(Start(f"{letter}{number}", {}))
            tasks.append(await claimed(one, "work"))
        outcomes = await asyncio.gather(
            begin(one, tasks[0], id=f"K{number}"),
            begin(two, tasks[1], id=f"k{number}"),
            return_exceptions=True,
        )
        assert {type(each) for each in outcomes} == {Checkpointed, ChildIdTaken}
