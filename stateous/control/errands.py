"""What the clock finds to be done: commands for the lane, each decided alone and failing alone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import structlog

from stateous.control.lane import TokenLane
from stateous.control.waiting import Subject
from stateous.engine.commands import Command
from stateous.model.refusals import Refusal

PATIENCE = 1.0
"""For so long (seconds) nobody is waited for of whom nothing is heard."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Errands:
    """Sends commands to the lane, and knows which are on their way: what is found again is not sent again."""

    def __init__(self, lane: TokenLane) -> None:
        self._lane = lane
        self._on_their_way: dict[Command, asyncio.Task[bool]] = {}

    @property
    def under_way(self) -> int:
        """How many have no answer yet: they are found again, and must not fill the page."""
        return len(self._on_their_way)

    async def send(self, commands: Iterable[tuple[Command, Subject]], *, joins: bool) -> int:
        """How many of the commands were decided; those of one subject in their order.

        One that is on its way already is passed over, or waited for with the others.
        """
        loop = asyncio.get_running_loop()
        sent: set[asyncio.Task[bool]] = set()
        for command, subject in commands:
            task = self._on_their_way.get(command)
            if task is None:
                task = loop.create_task(self._decide(command, subject))
                self._on_their_way[command] = task
            elif not joins:
                continue
            sent.add(task)
        decided = 0
        while sent:
            done, sent = await asyncio.wait(
                sent, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED
            )
            if not done:
                break
            decided += sum(task.result() for task in done)
        return decided

    async def _decide(self, command: Command, subject: Subject) -> bool:
        try:
            await self._lane.submit(command, subject=subject)
        except Refusal as refusal:
            log.warning("clock.command_refused", code=refusal.code, reason=str(refusal))
            return False
        finally:
            del self._on_their_way[command]
        return True
