"""A store whose faults a test dictates: the lane's own behaviour, apart from any database's."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from datetime import datetime

from stateous.engine.batch import Batch
from stateous.engine.commands import Carried
from stateous.engine.facts import Facts
from tests.engine.graphs import ORDERS
from tests.engine.world import World


class ScriptedStore:
    """Decides in a world in memory. Each batch first meets the next of `script`, if any.

    An exception is raised, an event is waited for, a set names tokens that are held elsewhere.
    """

    def __init__(self) -> None:
        self.world = World(ORDERS)
        self.script: deque[Exception | asyncio.Event | set[str]] = deque()
        self.batches: list[list[Carried]] = []
        self.waited: list[float | None] = []
        self.told: list[Mapping[str, int]] = []
        """What a lane over this store told of tasks that became ready."""

    def notify(
        self,
        ready: Mapping[str, int] | None,
        *,
        due: datetime | None = None,
        gone: frozenset[str] = frozenset(),
    ) -> None:
        """Nobody else is there to be told."""

    async def batch_decide(self, batch: Batch, *, wait_for: float | None = None) -> None:
        self.batches.append(list(batch.commands))
        self.waited.append(wait_for)
        step = self.script.popleft() if self.script else None
        facts = Facts()
        match step:
            case Exception():
                raise step
            case asyncio.Event():
                await step.wait()
            case set():
                facts.busy_tokens |= step
            case None:
                pass
        self.world.decide(batch, facts)
