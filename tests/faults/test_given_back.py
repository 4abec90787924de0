"""A task that is given back against its report, the end of its lease and its claim: exactly one of them counts."""

from __future__ import annotations

import asyncio
import random

from stateous.control.compose import open_plane
from stateous.engine.answers import Done, Moved
from stateous.engine.commands import Claim, Command, EndLease, Release, Report, Start
from stateous.model.graph import parse_graph
from stateous.model.refusals import AttemptOver, TaskNotHeld
from tests.databases import Clock, Database
from tests.engine.graphs import Json, main
from tests.faults.rows import checked
from tests.faults.sides import (
    DEEP,
    LEASE_FOR,
    Both,
    Side,
    saves_stopped,
    together,
    two_sides,
    until_waiting,
)

ROUNDS = 5_000 if DEEP else 400
AT_ONCE = 200

ONE_STEP: Json = main(
    {"s": {"emits": ["go"], "retries": 1}},
    [("__start__", "s"), ("s", "__end__", "go")],
    events=["go"],
)


async def claimed(both: Both, begin: int) -> dict[str, int]:
    """Start some tokens and claim their tasks, by `box`."""
    names = [f"T{n}" for n in range(begin, begin + AT_ONCE)]
    await together(both.one.submit(Start(name, {})) for name in names)
    grants = await both.one.claim("s", most=AT_ONCE)
    return {grant.token: grant.task for grant in grants if grant.token in names}


async def race(
    both: Both, dice: random.Random, first: list[Command], second: list[Command]
) -> tuple[list[object], list[object]]:
    """Submit each pair of commands from both sides, in any order."""
    sent: list[tuple[int, Side, Command]] = []
    for n, (one, other) in enumerate(zip(first, second, strict=True)):
        side = dice.randrange(2)
        sent.append((n, both.side(side), one))
        sent.append((n + len(first), both.side(side + 1), other))
    dice.shuffle(sent)
    answers = await together(side.submit(command) for _, side, command in sent)
    by_number = {number: answer for (number, _, _), answer in zip(sent, answers, strict=True)}
    count = len(first)
    return [by_number[n] for n in range(count)], [by_number[n + count] for n in range(count)]


async def test_of_a_release_and_a_report_exactly_one_counts(
    postgres: Database, clock: Clock
) -> None:
    dice = random.Random(3)
    given_back: set[str] = set()
    async with two_sides(postgres, ONE_STEP, clock=clock) as both:
        for begin in range(0, ROUNDS, AT_ONCE):
            held = await claimed(both, begin)
            releases, reports = await race(
                both,
                dice,
                [Release(task=task, supervisor="box") for task in held.values()],
                [
                    Report(task=task, kind="event", event="go", attempt=1, supervisor="box")
                    for task in held.values()
                ],
            )
            for name, released, reported in zip(held, releases, reports, strict=True):
                if isinstance(released, Done):
                    assert isinstance(reported, TaskNotHeld), reported
                    given_back.add(name)
                else:
                    assert isinstance(released, TaskNotHeld)
                    assert isinstance(reported, Moved)
            # What was given back is out of the way of the next round.
            while await both.other.claim("s", most=AT_ONCE, supervisor="other"):
                pass
        world = await checked(postgres, ONE_STEP)
    # Both ways happen, else nothing has raced.
    assert 0 < len(given_back) < len(world.tokens)
    for name in world.tokens:
        ends = ["task_queued", "task_claimed"] if name in given_back else ["task_done", "completed"]
        assert world.kinds(name)[-2:] == ends


async def test_of_a_release_and_the_end_of_the_lease_exactly_one_counts(
    postgres: Database, clock: Clock
) -> None:
    dice = random.Random(4)
    late = Clock()
    late.forward(seconds=LEASE_FOR.total_seconds() + 1)
    async with two_sides(postgres, ONE_STEP, clock=clock, other_clock=late) as both:
        held = await claimed(both, 0)
        clock.now = late.now
        releases, _ = await race(
            both,
            dice,
            [Release(task=task, supervisor="box", attempt=1) for task in held.values()],
            [EndLease(task) for task in held.values()],
        )
        world = await checked(postgres, ONE_STEP)
    assert len({type(answer) for answer in releases}) == 2, "nothing has raced"
    for name, released in zip(held, releases, strict=True):
        failures = 0 if isinstance(released, Done) else 1
        task = world.tasks[held[name]]
        assert (task.status, task.failures) == ("queued", failures)
        last = "task_retrying" if failures else "task_queued"
        assert world.kinds(name)[-1] == last


async def test_the_release_of_a_request_waits_for_its_claim_which_is_being_saved(
    postgres: Database, clock: Clock
) -> None:
    plane = await open_plane(graph=parse_graph(ONE_STEP), db=postgres.url, clock=clock)
    try:
        for name in ("A", "B"):
            await plane.submit(Start(name, {}))
        for wait, hangs_up in ((0.0, False), (20.0, False), (20.0, True)):
            asked = Claim(supervisor="box", states=("s",), request=f"{wait}-{hangs_up}", max=2)
            async with saves_stopped(postgres):
                claiming = asyncio.create_task(plane.claim(asked, wait=wait))
                await until_waiting(postgres)
                if hangs_up:
                    claiming.cancel()
                releasing = asyncio.create_task(plane.release("box", request=asked.request))
                late = asyncio.create_task(plane.claim(asked, wait=wait))
                assert (await late).grants == ()
                assert not releasing.done()
            assert len(await releasing) == 2
            await asyncio.wait([claiming])
            assert hangs_up or claiming.result().grants == ()
        attempts = {grant.attempt for grant in (await plane.claim(asked_anew())).grants}
        assert attempts == {4}
        for task in (await checked(postgres, ONE_STEP)).tasks.values():
            assert (task.status, task.failures) == ("claimed", 0)
    finally:
        await plane.stop()


def asked_anew() -> Claim:
    return Claim(supervisor="box", states=("s",), request="anew", max=2)


async def test_a_report_of_what_was_given_back_meanwhile_is_over(
    postgres: Database, clock: Clock
) -> None:
    async with two_sides(postgres, ONE_STEP, clock=clock) as both:
        held = await claimed(both, 0)
        task = next(iter(held.values()))
        async with saves_stopped(postgres):
            releasing = asyncio.create_task(both.one.submit(Release(task=task, supervisor="box")))
            await until_waiting(postgres)
            report = Report(task=task, kind="event", event="go", attempt=1)
            reporting = asyncio.create_task(both.other.submit(report))
        assert await releasing == Done()
        assert isinstance(await reporting, TaskNotHeld)
        await both.other.claim("s", most=1, supervisor="other")
        assert isinstance(await both.other.submit(report), AttemptOver)
