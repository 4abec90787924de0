"""A cancel and the report that would end the token: exactly one of them wins, and what ended stays as it ended."""

from __future__ import annotations

import asyncio
import random

from stateous.engine.answers import Answer, Moved, Skipped
from stateous.engine.commands import Cancel, Command, Fire, Note, Pause, Report, Start
from stateous.model.refusals import Refusal, TaskNotHeld, TokenNotActive
from tests.databases import Clock, Database
from tests.engine.graphs import main
from tests.faults.rows import checked, lasting
from tests.faults.sides import DEEP, Both, Side, saves_stopped, together, two_sides, until_waiting

ROUNDS = 10_000 if DEEP else 2_000
AT_ONCE = 250

ONE_STEP = main(
    {"s": {"emits": ["go"]}}, [("__start__", "s"), ("s", "__end__", "go")], events=["go"]
)


def done(task: int) -> Report:
    return Report(task=task, kind="event", event="go", attempt=1, context={"by": "report"})


async def claimed(both: Both, names: list[str]) -> dict[str, int]:
    """Start these tokens and claim their tasks."""
    await together(both.one.submit(Start(name, {})) for name in names)
    grants = await both.one.claim("s", most=len(names))
    assert len(grants) == len(names)
    return {grant.token: grant.task for grant in grants}


async def test_of_a_cancel_and_a_report_exactly_one_wins(postgres: Database, clock: Clock) -> None:
    dice = random.Random(1)
    async with two_sides(postgres, ONE_STEP, clock=clock) as both:
        cancelled: set[str] = set()
        tasks: dict[str, int] = {}
        for begin in range(0, ROUNDS, AT_ONCE):
            names = [f"T{n}" for n in range(begin, begin + AT_ONCE)]
            held = await claimed(both, names)
            tasks |= held
            cancelled |= await _race(both, dice, held)
        ended = await checked(postgres, ONE_STEP)
        for name, token in ended.tokens.items():
            assert ended.kinds(name)[-1] in ("cancelled", "completed", "event_rejected")
            assert token.status == ("cancelled" if name in cancelled else "completed")
            assert token.context == ({} if name in cancelled else {"by": "report"})
        # Both ways happen, else nothing has raced.
        assert 0 < len(cancelled) < ROUNDS

        late = _late(dice, list(ended.tokens)[:500], tasks)
        answers = await together(both.side(n).submit(command) for n, command in enumerate(late))
        assert all(isinstance(answer, TokenNotActive | TaskNotHeld) for answer in answers)
        after = await checked(postgres, ONE_STEP)
        for name, entries in ended.ledger.items():
            assert after.ledger[name][: len(entries)] == entries
            assert lasting(after, name) == lasting(ended, name)
            assert set(after.kinds(name, after=len(entries))) <= {"event_rejected"}


async def _race(both: Both, dice: random.Random, held: dict[str, int]) -> set[str]:
    """Cancel and report each token, from both sides in any order; those that were cancelled."""
    sent: list[tuple[str, Side, Command]] = []
    for name, task in held.items():
        number = dice.randrange(2)
        sent.append((name, both.side(number), Cancel(name)))
        sent.append((name, both.side(number + 1), done(task)))
    dice.shuffle(sent)
    answers = await together(side.submit(command) for _, side, command in sent)
    won: dict[str, Command] = {}
    for (name, _, command), answer in zip(sent, answers, strict=True):
        if isinstance(answer, Moved):
            assert name not in won, "both won"
            won[name] = command
        else:
            expected = TokenNotActive if isinstance(command, Cancel) else TaskNotHeld
            assert isinstance(answer, expected), answer
    assert won.keys() == held.keys()
    return {name for name, command in won.items() if isinstance(command, Cancel)}


def _late(dice: random.Random, names: list[str], tasks: dict[str, int]) -> list[Command]:
    sent: list[Command] = []
    for name in names:
        sent += [
            Cancel(name),
            Pause(name),
            Fire(name, "go"),
            done(tasks[name]),
            Note(task=tasks[name], text="late"),
        ]
    dice.shuffle(sent)
    return sent


async def test_who_comes_while_the_other_saves_waits_and_is_refused(
    postgres: Database, clock: Clock
) -> None:
    async with two_sides(postgres, ONE_STEP, clock=clock) as both:
        held = await claimed(both, ["A", "B"])
        pairs: list[tuple[Command, Command]] = [
            (Cancel("A"), done(held["A"])),
            (done(held["B"]), Cancel("B")),
        ]
        for first, second in pairs:
            winning, losing = await _one_after_the_other(both, first, second)
            assert isinstance(winning, Moved)
            assert isinstance(losing, Refusal)
        world = await checked(postgres, ONE_STEP)
        assert [world.tokens[name].status for name in "AB"] == ["cancelled", "completed"]


async def _one_after_the_other(
    both: Both, first: Command, second: Command
) -> list[Answer | Refusal | Skipped]:
    async with saves_stopped(both.database):
        winning = asyncio.create_task(both.one.once(first))
        await until_waiting(both.database, count=1)
        assert isinstance(await both.other.once(second), Skipped)
        losing = asyncio.create_task(both.other.once(second, wait_for=20))
        await until_waiting(both.database, count=2)
    return [await winning, await losing]
