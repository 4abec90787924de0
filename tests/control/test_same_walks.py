"""Random graphs under random commands: in memory, on SQLite and on Postgres all comes to the same.

Without more said, the same walks are made each time. STATEOUS_DEEP=1 makes many more, other ones in each run.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from stateous.engine.commands import Claim, Command, FireTimer, Start
from tests.control.twin import Twin
from tests.databases import Clock, new_database
from tests.engine.chance import Chance, Seeded
from tests.engine.random_commands import (
    SUPERVISORS,
    random_command,
    random_items,
    random_messages,
    random_report,
)
from tests.engine.random_graphs import random_graph
from tests.engine.walking import QUEUES
from tests.engine.world import World

DEEP = bool(os.environ.get("STATEOUS_DEEP"))
SEEDS = random.sample(range(10**9), 400) if DEEP else range(14)
STEPS = 60
MOST_TOKENS = 120
"""A graph that goes round in circles makes so many that further steps show nothing new."""


class Walk:
    """One world and its twin in a database, driven by chance."""

    def __init__(self, twin: Twin, chance: Chance) -> None:
        self._twin = twin
        self._chance = chance

    async def go(self) -> None:
        """Go on for a while; after each step nothing tells the two apart."""
        world = self._twin.world
        await self._twin.do([Start("T", {"a": 1}), Start("U", {"a": 1})])
        await self._twin.compare_news()
        for _ in range(STEPS):
            if len(world.tokens) > MOST_TOKENS:
                break
            await self._step()
            await self._twin.compare_news()
        world.check_invariants()
        await self._twin.compare()

    async def _step(self) -> None:
        match self._chance.one(
            ("one", "one", "several", "messages", "claim", "work", "work", "later")
        ):
            case "one":
                await self._do(random_command(self._chance, self._twin.world))
            case "several":
                world = self._twin.world
                some = range(self._chance.one(range(2, 7)))
                await self._do(*(random_command(self._chance, world) for _ in some))
            case "messages":
                await self._twin.tell(random_messages(self._chance, self._twin.world))
            case "claim":
                most = self._chance.one(range(1, 5))
                await self._claim(self._chance.one(SUPERVISORS), most=most)
            case "work":
                await self._claim("two", most=3)
                await self._twin.compare_news()
                for _ in range(3):
                    await self._do(random_items(self._chance, self._twin.world))
                await self._do(random_report(self._chance, self._twin.world))
            case _:
                self._twin.pass_time(self._chance.one([1, 1, 60, 121, 1800, 3600, 9000]))
                await self._twin.tick()

    async def _do(self, *commands: Command) -> None:
        # Each side numbers its timers by itself, and no ledger tells of them: the tick fires them.
        asked = [command for command in commands if not isinstance(command, FireTimer)]
        if asked:
            await self._twin.do(asked)

    async def _claim(self, supervisor: str, *, most: int) -> None:
        states = self._chance.one([QUEUES, QUEUES, QUEUES[:3], QUEUES[4:]])
        request = self._chance.one([None, None, "r0", "r1"])
        queues = tuple(self._twin.world.graph.queue_of(state) for state in states)
        claim = Claim(supervisor=supervisor, states=queues, request=request, max=most)
        await self._twin.claim(claim)


@pytest.mark.parametrize("number", range(len(SEEDS)))
async def test_a_walk_comes_to_the_same_everywhere(
    number: int, dialect: str, tmp_path: Path
) -> None:
    seed = SEEDS[number]
    try:
        await walk_from(seed, dialect, tmp_path)
    except Exception as fault:
        fault.add_note(f"on the walk from seed {seed}")
        raise


async def walk_from(seed: int, dialect: str, folder: Path) -> None:
    chance = Seeded(seed)
    world = World(random_graph(chance))
    clock = Clock()
    world.now = clock()
    with new_database(dialect, folder) as database:
        store = database.store(clock)
        await store.open()
        try:
            await Walk(Twin(store, world, clock), chance).go()
        finally:
            await store.close()
