"""What makes a task ready, on a real control plane: each story is told up to the moment before."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from stateous.control.plane import Plane
from stateous.engine.answers import Checkpointed, Grant
from stateous.engine.commands import Checkpoint, Claim, Fire, Pause, Report, Resume, Start
from tests.databases import Clock

STATES = ("work", "ship", "security/look", "style/look")


def claim(*states: str, by: str = "waiter", request: str | None = None, most: int = 1) -> Claim:
    return Claim(supervisor=by, states=states or STATES, request=request, max=most)


async def start(plane: Plane, *tokens: str) -> None:
    for token in tokens:
        await plane.submit(Start(token, {"title": "x"}))


async def take(plane: Plane, *states: str) -> Grant:
    (grant,) = (await plane.claim(claim(*states, by="box"))).grants
    return grant


async def done(plane: Plane, grant: Grant, event: str) -> None:
    payload = {"approved": True} if event == "passed" else None
    await plane.submit(Report(task=grant.task, kind="event", event=event, payload=payload))


async def let_wait(plane: Plane, grant: Grant) -> None:
    await plane.submit(Report(task=grant.task, kind="waiting", supervisor="box"))


Trigger = Coroutine[Any, Any, Any]
Story = Callable[[Plane, Clock], Awaitable[Trigger]]


async def a_start(plane: Plane, _clock: Clock) -> Trigger:
    return start(plane, "NEW")


async def an_event(plane: Plane, _clock: Clock) -> Trigger:
    await start(plane, "T")
    await take(plane, "work")
    return plane.submit(Fire("T", "leave"))


async def a_report(plane: Plane, _clock: Clock) -> Trigger:
    await start(plane, "T")
    return done(plane, await take(plane, "work"), "ready")


async def a_retry(plane: Plane, _clock: Clock) -> Trigger:
    await start(plane, "T")
    grant = await take(plane, "work")
    return plane.submit(Report(task=grant.task, kind="failed", error="no ink"))


async def the_end_of_a_lease(plane: Plane, clock: Clock) -> Trigger:
    await start(plane, "T")
    await take(plane, "work")
    clock.forward(seconds=121)
    return plane.ticker.tick()


async def a_timer(plane: Plane, clock: Clock) -> Trigger:
    await start(plane, "T")
    await plane.submit(Fire("T", "leave"))
    await let_wait(plane, await take(plane, "ship"))
    clock.forward(hours=1)
    return plane.ticker.tick()


async def a_resume(plane: Plane, _clock: Clock) -> Trigger:
    await start(plane, "T")
    await plane.submit(Pause("T"))
    return plane.submit(Resume("T"))


async def a_resume_that_applies_what_was_held(plane: Plane, _clock: Clock) -> Trigger:
    await start(plane, "T")
    await take(plane, "work")
    await plane.submit(Pause("T"))
    await plane.submit(Fire("T", "leave"))
    return plane.submit(Resume("T"))


async def a_release(plane: Plane, _clock: Clock) -> Trigger:
    await start(plane, "T")
    grant = await take(plane, "work")
    return plane.release("box", tasks=[grant.task])


async def a_join(plane: Plane, _clock: Clock) -> Trigger:
    await start(plane, "T")
    await done(plane, await take(plane, "work"), "ready")
    await done(plane, await take(plane, "security/look"), "passed")
    return done(plane, await take(plane, "style/look"), "passed")


async def opened(plane: Plane) -> tuple[int, str]:
    """The task of a routine that has just asked somebody outside, and what the response is known by."""
    await start(plane, "T")
    task = (await take(plane, "work")).task
    asked = Checkpoint(
        task=task,
        attempt=1,
        revision=0,
        name="label",
        kind="response",
        status="open",
        timeout="1h",
    )
    answer = await plane.checkpoint(asked)
    assert isinstance(answer, Checkpointed)
    assert answer.correlation is not None
    return task, answer.correlation


def suspend(plane: Plane, task: int) -> Trigger:
    return plane.submit(Report(task=task, kind="waiting", supervisor="box", awaiting=("label",)))


def respond(plane: Plane, correlation: str) -> Trigger:
    return plane.respond(correlation, status="completed", payload=7, message=None)


async def a_response(plane: Plane, _clock: Clock) -> Trigger:
    task, correlation = await opened(plane)
    await suspend(plane, task)
    return respond(plane, correlation)


async def a_response_that_came_first(plane: Plane, _clock: Clock) -> Trigger:
    task, correlation = await opened(plane)
    await respond(plane, correlation)
    return suspend(plane, task)


async def a_response_that_came_in_a_pause(plane: Plane, _clock: Clock) -> Trigger:
    task, correlation = await opened(plane)
    await suspend(plane, task)
    await plane.submit(Pause("T"))
    await respond(plane, correlation)
    return plane.submit(Resume("T"))


async def a_deadline(plane: Plane, clock: Clock) -> Trigger:
    await suspend(plane, (await opened(plane))[0])
    clock.forward(hours=1)
    return plane.ticker.tick()


STORIES: list[Story] = [
    a_start,
    an_event,
    a_report,
    a_retry,
    the_end_of_a_lease,
    a_timer,
    a_resume,
    a_resume_that_applies_what_was_held,
    a_release,
    a_join,
    a_response,
    a_response_that_came_first,
    a_response_that_came_in_a_pause,
    a_deadline,
]
