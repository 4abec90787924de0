"""Everything at once, on few families, from two sides: no deadlock, no command that fails, and every invariant holds."""

from __future__ import annotations

import asyncio
import random

import pytest

from stateous.engine.commands import (
    Cancel,
    Command,
    EndLease,
    Fire,
    Note,
    Pause,
    Report,
    Resume,
    SetMemory,
    Start,
)
from stateous.model.refusals import DatabaseBusy, Refusal, Unexpected
from tests.databases import Clock, Database
from tests.engine.graphs import parallel
from tests.faults.rows import checked
from tests.faults.sides import DEEP, Both, Side, two_sides

COMMANDS = 40_000 if DEEP else 2_000
AT_ONCE = 60
FAMILIES = 25
QUEUES = ("work", "ship", "security/look", "style/look")
APPROVED = {"approved": True}


class Storm:
    """Callers that each send one command after the other, most of them where something moves."""

    def __init__(self, both: Both, dice: random.Random) -> None:
        self.both = both
        self.dice = dice
        self.left = COMMANDS
        self.tops = [f"S{n}" for n in range(FAMILIES)]
        self.children: list[str] = []
        self.tasks: list[tuple[int, str, int]] = []
        self.answered = 0
        self.refused = 0

    async def rage(self) -> None:
        await asyncio.gather(*(self._caller(n) for n in range(AT_ONCE)))

    async def _caller(self, number: int) -> None:
        while self.left > 0:
            self.left -= 1
            side = self.both.side(self.dice.randrange(2))
            roll = self.dice.random()
            if roll < 0.2:
                await self._claim(side, number)
            elif roll < 0.25 and self.tasks:
                some = self.dice.sample(self.tasks, min(5, len(self.tasks)))
                await side.beat(*(task for task, _, _ in some))
            else:
                answer = await side.submit(self._command())
                assert not isinstance(answer, Unexpected | DatabaseBusy), answer
                self.refused += isinstance(answer, Refusal)
                self.answered += not isinstance(answer, Refusal)

    async def _claim(self, side: Side, number: int) -> None:
        # One control plane has one claim lane, and only there a supervisor repeats what it asked.
        request = None
        if side is self.both.one:
            request = self.dice.choice((None, f"r{self.dice.randrange(2)}"))
        states = self.dice.sample(QUEUES, 3)
        grants = await side.claim(
            *states, most=self.dice.choice((1, 3)), supervisor=f"box-{number % 8}", request=request
        )
        for grant in grants:
            self.tasks.append((grant.task, grant.state, grant.attempt))
            if "." in grant.token:
                self.children.append(grant.token)

    def _command(self) -> Command:
        dice = self.dice
        top = dice.choice(self.tops)
        roll = dice.random()
        if roll < 0.12:
            return self._start()
        if roll < 0.35:
            return Fire(top, dice.choice(("ready", "ready", "leave", "shipped")))
        if roll < 0.42 and self.children:
            return Fire(dice.choice(self.children[-20:]), "passed", APPROVED)
        if roll < 0.72 and self.tasks:
            return self._of_task()
        if roll < 0.82:
            return Pause(top)
        return Resume(top) if roll < 0.97 else Cancel(top)

    def _start(self) -> Command:
        """A top token anew, or one that takes the id of a child that is to come, in other letters."""
        if self.dice.random() < 0.3:
            return Start(f"{self.dice.choice(self.tops)}.REVIEWS.1.security", {"title": "x"})
        place = self.dice.randrange(FAMILIES)
        self.tops[place] = f"S{place}-{self.dice.randrange(1000)}"
        return Start(self.tops[place], {"title": "Chair"})

    def _of_task(self) -> Command:
        dice = self.dice
        task, state, attempt = dice.choice(self.tasks[-40:])
        match dice.randrange(8):
            case 0:
                return Note(task=task, text="half done", attempt=attempt)
            case 1:
                return SetMemory(task=task, key="k", value=dice.choice((None, 1)))
            case 2:
                return Report(task=task, kind="failed", error="no ink", attempt=attempt)
            case 3:
                return EndLease(task)
            case _:
                event = {"work": "ready", "ship": "shipped"}.get(state, "passed")
                payload = APPROVED if event == "passed" else None
                return Report(
                    task=task, kind="event", event=event, payload=payload, attempt=attempt
                )


@pytest.mark.parametrize("join", ["all", "any"])
async def test_a_storm_from_two_sides_ends_with_every_invariant_and_no_deadlock(
    postgres: Database, clock: Clock, join: str
) -> None:
    graph = parallel(join=join, nested=True)
    async with two_sides(postgres, graph, clock=clock) as both:
        storm = Storm(both, random.Random() if DEEP else random.Random(11))
        raging = asyncio.create_task(storm.rage())
        # What others can read is whole at every moment, not only at the end.
        while not raging.done():
            await checked(postgres, graph)
        await raging
        assert storm.answered > COMMANDS // 10
        world = await checked(postgres, graph)
        assert {token.status for token in world.tokens.values()} >= {"active", "cancelled"}
        assert any(token.parent is not None for token in world.tokens.values())
