"""Responses against suspensions, pauses and deadlines, through two control planes at once: nobody is left waiting."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from stateous.control.compose import open_plane
from stateous.control.plane import Plane
from stateous.engine.answers import Checkpointed
from stateous.engine.commands import Checkpoint, Claim, Pause, Report, Resume, Start
from stateous.model.graph import parse_graph
from stateous.model.refusals import Refusal, TokenNotActive
from tests.databases import Clock, Database
from tests.engine.graphs import way

GRAPH = parse_graph(
    {
        "stateous": 1,
        "workflow": "m",
        "states": {"work": {"emits": ["done"]}},
        "events": {"done": {}},
        "transitions": [way("__start__", "work"), way("work", "__end__", "done")],
        "schemas": {},
    }
)
ROUNDS = 60


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


async def asked(plane: Plane, number: int) -> tuple[int, str]:
    """A task whose routine has just opened a response, and its correlation."""
    await plane.submit(Start(f"T{number}", {}))
    granted = await plane.claim(Claim(supervisor="box", states=("work",)))
    (grant,) = granted.grants
    answer = await plane.checkpoint(
        Checkpoint(task=grant.task, attempt=1, revision=0, name="a", kind="response", status="open")
    )
    assert isinstance(answer, Checkpointed)
    assert answer.correlation is not None
    return grant.task, answer.correlation


def suspend(plane: Plane, task: int) -> Awaitable[Any]:
    return plane.submit(Report(task=task, kind="waiting", supervisor="box", awaiting=("a",)))


def respond(plane: Plane, correlation: str) -> Awaitable[Any]:
    return plane.respond(correlation, status="completed", payload=1, message=None)


async def goes_on(plane: Plane, task: int) -> None:
    """The task is there to be claimed, with its result, and ends."""
    (grant,) = (await plane.claim(Claim(supervisor="box", states=("work",)))).grants
    assert grant.task == task
    assert [(step.status, step.result) for step in grant.steps] == [("done", 1)]
    await plane.submit(Report(task=task, kind="event", event="done"))


async def test_a_response_against_a_suspension(planes: tuple[Plane, Plane]) -> None:
    one, two = planes
    for number in range(ROUNDS):
        task, correlation = await asked(one, number)
        both = [suspend(one, task), respond(two, correlation)]
        await asyncio.gather(*(both if number % 2 else reversed(both)))
        await goes_on(two, task)


async def test_a_response_against_a_pause(planes: tuple[Plane, Plane]) -> None:
    one, two = planes
    for number in range(ROUNDS):
        task, correlation = await asked(one, number)
        await suspend(one, task)
        both = [one.submit(Pause(f"T{number}")), respond(two, correlation)]
        await asyncio.gather(*(both if number % 2 else reversed(both)))
        assert not (await two.claim(Claim(supervisor="box", states=("work",)))).grants
        await two.submit(Resume(f"T{number}"))
        await goes_on(one, task)


async def test_a_response_against_a_resume(planes: tuple[Plane, Plane]) -> None:
    one, two = planes
    for number in range(ROUNDS):
        task, correlation = await asked(one, number)
        await suspend(one, task)
        await one.submit(Pause(f"T{number}"))
        both = [one.submit(Resume(f"T{number}")), respond(two, correlation)]
        await asyncio.gather(*(both if number % 2 else reversed(both)))
        await goes_on(two, task)


async def test_two_responses_at_once_are_one_and_a_duplicate(planes: tuple[Plane, Plane]) -> None:
    one, two = planes
    for number in range(ROUNDS):
        task, correlation = await asked(one, number)
        await suspend(one, task)
        answers = await asyncio.gather(respond(one, correlation), respond(two, correlation))
        assert sorted(answer.duplicate for answer in answers) == [False, True]
        await goes_on(one, task)


async def test_a_response_against_the_end_of_its_visit(planes: tuple[Plane, Plane]) -> None:
    one, two = planes
    for number in range(ROUNDS):
        task, correlation = await asked(one, number)
        await suspend(one, task)
        ended = one.submit(Report(task=task, kind="event", event="done"))
        outcomes = await asyncio.gather(ended, respond(two, correlation), return_exceptions=True)
        codes = [each.code for each in outcomes if isinstance(each, Refusal)]
        # Who came second found the token gone, or the task queued again.
        assert codes in (["response_not_awaited"], ["task_not_held"], [])
        if codes == ["task_not_held"]:
            await goes_on(one, task)
        with pytest.raises(TokenNotActive):
            await one.submit(Pause(f"T{number}"))
