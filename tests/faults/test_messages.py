"""Messages of a task against the end of its lease, and against themselves: all of them count, or none, and once."""

from __future__ import annotations

import asyncio
import random

import msgspec

from stateous.engine.answers import Answer, Done, Moved
from stateous.engine.commands import EndLease, Fire, Message, Note, Report, SetMemory, Start
from stateous.model.refusals import Refusal, TaskNotHeld
from tests.databases import Clock, Database
from tests.engine.graphs import ORDERS
from tests.faults.rows import checked
from tests.faults.sides import DEEP, LEASE_FOR, Both, Side, together, two_sides

ROUNDS = 3_000 if DEEP else 300
APPROVED = {"approved": True}


def said(task: int) -> tuple[Message, ...]:
    """What a routine of `review` says of its first attempt."""
    return (
        Note(task=task, text="half way", attempt=1, id="n"),
        SetMemory(task=task, key="page", value=7, attempt=1, id="m"),
        Report(task=task, kind="event", event="reviewed", payload=APPROVED, attempt=1, id="r"),
    )


async def held(both: Both) -> dict[str, int]:
    """Tokens whose tasks of `review` are claimed."""
    names = [f"T{n}" for n in range(ROUNDS)]
    await together(both.one.submit(Start(name, {"title": "Chair"})) for name in names)
    await together(both.one.submit(Fire(name, "submitted")) for name in names)
    return {grant.token: grant.task for grant in await both.one.claim("review", most=ROUNDS)}


async def tell(side: Side, task: int) -> tuple[Answer | Refusal, ...]:
    return await side.tell(task, *said(task))


async def test_against_the_end_of_the_lease_all_messages_of_an_attempt_count_or_none(
    postgres: Database, clock: Clock
) -> None:
    dice = random.Random(6)
    async with two_sides(postgres, ORDERS, clock=clock) as both:
        tasks = await held(both)
        clock.forward(seconds=LEASE_FOR.total_seconds() + 1)
        in_any_order = dice.sample(list(tasks), len(tasks))

        async def end_all() -> None:
            for n in range(0, ROUNDS, 10):
                chunk = reversed(in_any_order[-n - 10 : len(in_any_order) - n])
                await together(both.other.submit(EndLease(tasks[name])) for name in chunk)

        async def tell_all() -> dict[str, tuple[Answer | Refusal, ...]]:
            told: dict[str, tuple[Answer | Refusal, ...]] = {}
            for n in range(0, ROUNDS, 10):
                chunk = in_any_order[n : n + 10]
                results = await together(tell(both.one, tasks[name]) for name in chunk)
                told |= zip(chunk, results, strict=True)
            return told

        told, _ = await asyncio.gather(tell_all(), end_all())
        again = dict(
            zip(told, await together(tell(both.other, tasks[name]) for name in told), strict=True)
        )
        world = await checked(postgres, ORDERS)
    taken = {name for name, results in told.items() if isinstance(results[-1], Moved)}
    assert 0 < len(taken) < ROUNDS, "nothing has raced"
    for name, results in told.items():
        kinds = world.kinds(name)
        if name in taken:
            assert [type(result) for result in results] == [Done, Done, Moved]
            assert kinds[-4:] == ["memory_set", "event_accepted", "task_done", "completed"]
        else:
            assert [type(result) for result in results] == [TaskNotHeld] * 3
            assert kinds[-2:] == ["task_failed", "task_retrying"]
        assert [type(result) for result in again[name]] == [type(result) for result in results]


async def test_messages_that_are_sent_twice_at_once_are_written_once_and_answered_alike(
    postgres: Database, clock: Clock
) -> None:
    dice = random.Random(7)
    async with two_sides(postgres, ORDERS, clock=clock) as both:
        tasks = await held(both)
        sent = [(name, side) for name in tasks for side in (both.one, both.other)]
        dice.shuffle(sent)
        results = await together(tell(side, tasks[name]) for name, side in sent)
        world = await checked(postgres, ORDERS)
    answers: dict[str, list[object]] = {}
    for (name, _), result in zip(sent, results, strict=True):
        assert [type(each) for each in result] == [Done, Done, Moved]
        answers.setdefault(name, []).append(msgspec.to_builtins(_token(result[-1])))
    for name, (first, second) in answers.items():
        assert first == second
        kinds = world.kinds(name)
        assert [kinds.count(kind) for kind in ("note", "memory_set", "task_done")] == [1, 1, 1]


def _token(answer: object) -> object:
    assert isinstance(answer, Moved)
    return answer.token
