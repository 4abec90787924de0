"""Responses against whatever else happens to their tasks at the same moment: nobody is left waiting.

On Postgres two control planes decide at once; of SQLite's there is one. STATEOUS_SOAK makes it many more rounds.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from stateous.control.compose import open_plane
from stateous.control.plane import Plane
from stateous.engine.answers import Checkpointed
from stateous.engine.commands import Cancel, Checkpoint, Claim, Pause, Report, Resume, Start
from stateous.model.graph import parse_graph
from stateous.model.refusals import Refusal, TokenNotActive
from tests.databases import DIALECTS, Clock, Database
from tests.engine.graphs import way
from tests.faults.sides import at_once

GRAPH = parse_graph(
    {
        "stateous": 1,
        "workflow": "m",
        "states": {"work": {"emits": ["done"], "retries": 1}},
        "events": {"done": {}},
        "transitions": [way("__start__", "work"), way("work", "__end__", "done")],
        "schemas": {},
    }
)
CLAIM = Claim(supervisor="box", states=("work",))
SOAKS = bool(os.environ.get("STATEOUS_SOAK"))
ROUNDS = 1000 if SOAKS else 60
SUSPENSIONS = 5000 if SOAKS else 100


@pytest.fixture(params=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def planes(database: Database, clock: Clock) -> AsyncGenerator[tuple[Plane, Plane]]:
    async with AsyncExitStack() as stack:
        opened: list[Plane] = []
        for name in ("one", "two") if database.dialect == "postgres" else ("one",):
            plane = await open_plane(
                graph=GRAPH,
                db=database.url,
                clock=clock,
                mode="replica" if database.dialect == "postgres" else "alone",
                serving=name,
            )
            stack.push_async_callback(plane.stop)
            opened.append(plane)
        yield opened[0], opened[-1]


async def begun(plane: Plane, number: int) -> int:
    """The task of a new token; somebody works on it."""
    await plane.submit(Start(f"T{number}", {}))
    (grant,) = (await plane.claim(CLAIM)).grants
    return grant.task


async def asked(plane: Plane, number: int, *, within: str | None = None) -> tuple[int, str]:
    """A task whose routine has just opened a response, and its correlation."""
    task = await begun(plane, number)
    answer = await plane.checkpoint(
        Checkpoint(
            task=task,
            attempt=1,
            revision=0,
            name="a",
            kind="response",
            status="open",
            timeout=within,
        )
    )
    assert isinstance(answer, Checkpointed)
    assert answer.correlation is not None
    return task, answer.correlation


def suspend(plane: Plane, task: int) -> Awaitable[Any]:
    return plane.submit(Report(task=task, kind="waiting", supervisor="box", awaiting=("a",)))


def respond(plane: Plane, correlation: str) -> Awaitable[Any]:
    return plane.respond(correlation, status="completed", payload=1, message=None)


async def goes_on(plane: Plane, task: int) -> None:
    """The task is there to be claimed, with its result, and ends."""
    (grant,) = (await plane.claim(CLAIM)).grants
    assert grant.task == task
    assert [(step.status, step.result) for step in grant.steps] == [("done", 1)]
    await plane.submit(Report(task=task, kind="event", event="done"))


async def test_a_response_against_a_suspension(planes: tuple[Plane, Plane]) -> None:
    one, two = planes
    for number in range(SUSPENSIONS):
        task, correlation = await asked(one, number)
        await at_once(number, suspend(one, task), respond(two, correlation))
        await goes_on(two, task)


async def test_a_response_against_a_pause(planes: tuple[Plane, Plane]) -> None:
    one, two = planes
    for number in range(ROUNDS):
        task, correlation = await asked(one, number)
        await suspend(one, task)
        await at_once(number, one.submit(Pause(f"T{number}")), respond(two, correlation))
        assert not (await two.claim(CLAIM)).grants
        await two.submit(Resume(f"T{number}"))
        await goes_on(one, task)


async def test_a_response_against_a_resume(planes: tuple[Plane, Plane]) -> None:
    one, two = planes
    for number in range(ROUNDS):
        task, correlation = await asked(one, number)
        await suspend(one, task)
        await one.submit(Pause(f"T{number}"))
        await at_once(number, one.submit(Resume(f"T{number}")), respond(two, correlation))
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
        assert codes in (["response_not_awaited"], ["task_not_held"])
        if codes == ["task_not_held"]:
            await goes_on(one, task)
        with pytest.raises(TokenNotActive):
            await one.submit(Pause(f"T{number}"))


async def both_of(first: Awaitable[Any], second: Awaitable[Any], *, turned: int) -> list[Any]:
    """What both came to, refusals too, the first one's first; every other round the second one is sent first."""
    both = [first, second]
    if turned % 2:
        both.reverse()
    came = await asyncio.gather(*both, return_exceptions=True)
    for each in came:
        if isinstance(each, BaseException) and not isinstance(each, Refusal):
            raise each
    return came[::-1] if turned % 2 else came


async def test_a_response_against_its_deadline(planes: tuple[Plane, Plane], clock: Clock) -> None:
    one, two = planes
    for number in range(ROUNDS):
        task, correlation = await asked(one, number, within="1h")
        await suspend(one, task)
        clock.forward(hours=1)
        answer, _ = await both_of(respond(two, correlation), one.ticker.tick(), turned=number)
        (grant,) = (await two.claim(CLAIM)).grants
        (step,) = grant.steps
        if isinstance(answer, Refusal):
            assert (answer.code, step.fault) == ("response_not_awaited", "deadline")
        else:
            assert (answer.duplicate, step.status, step.result) == (False, "done", 1)
        await one.submit(Report(task=task, kind="event", event="done"))


async def test_a_response_against_a_cancel(planes: tuple[Plane, Plane], clock: Clock) -> None:
    one, two = planes
    for number in range(ROUNDS):
        task, correlation = await asked(one, number, within="1h")
        await suspend(one, task)
        answer, _ = await both_of(
            respond(two, correlation), one.submit(Cancel(f"T{number}")), turned=number
        )
        assert not isinstance(answer, Refusal) or answer.code == "response_not_awaited"
        assert (await one.token(f"T{number}")).status == "cancelled"
    assert not (await two.claim(CLAIM)).grants
    clock.forward(hours=1)
    await one.ticker.tick()
    assert (await one.history("T0"))[-1].kind == "cancelled"


async def test_progress_against_the_end_of_its_step(planes: tuple[Plane, Plane]) -> None:
    one, two = planes
    for number in range(ROUNDS):
        task, correlation = await asked(one, number)
        await suspend(one, task)
        progress = one.respond(correlation, status="progress", payload=None, message="so far")
        _, completed = await both_of(progress, respond(two, correlation), turned=number)
        assert completed.duplicate is False
        await goes_on(two, task)


async def test_a_checkpoint_against_the_end_of_its_lease(
    planes: tuple[Plane, Plane], clock: Clock
) -> None:
    """Its supervisor has stopped beating, and its last step arrives while somebody else takes the task."""
    one, two = planes

    async def taken_over() -> int:
        await one.ticker.tick()
        (grant,) = (await one.claim(CLAIM)).grants
        return grant.flow.revision if grant.flow else 0

    for number in range(ROUNDS):
        task = await begun(one, number)
        step = Checkpoint(
            task=task, attempt=1, revision=0, name="a", kind="step", status="done", result=1
        )
        clock.forward(minutes=3)
        answer, revision = await both_of(two.checkpoint(step), taken_over(), turned=number)
        if isinstance(answer, Refusal):
            assert answer.code in {"task_not_held", "attempt_over"}
        assert revision == (0 if isinstance(answer, Refusal) else 1)
        (again,) = await asyncio.gather(two.checkpoint(step), return_exceptions=True)
        assert isinstance(again, Refusal)
        assert again.code == "attempt_over"
        await one.submit(Report(task=task, kind="event", event="done"))


async def test_two_runs_that_both_think_they_are_the_one(planes: tuple[Plane, Plane]) -> None:
    one, two = planes
    for number in range(ROUNDS):
        task = await begun(one, number)
        steps = [
            Checkpoint(task=task, attempt=1, revision=0, name=name, kind="step", status="done")
            for name in ("a", "b")
        ]
        came = await both_of(one.checkpoint(steps[0]), two.checkpoint(steps[1]), turned=number)
        (refused,) = (each for each in came if isinstance(each, Refusal))
        assert refused.code == "stale_revision"
        await one.submit(Report(task=task, kind="event", event="done"))
