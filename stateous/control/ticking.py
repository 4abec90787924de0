"""The clock of the control plane: about each second it ends leases that are over and fires due timers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from datetime import datetime

import structlog

from stateous.control.lane import TokenLane
from stateous.engine.commands import Command, EndLease, FireTimer
from stateous.model.refusals import Refusal
from stateous.store.store import Store

TICK_EVERY = 1.0
PATIENCE = 1.0
CHUNK = 500

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Ticker:
    """Submits what the clock finds as commands, each decided alone and failing alone.

    Commands of tokens that are locked elsewhere are long on their way. When nothing else has come back for
    `PATIENCE` seconds the tick is over, and the next ones pass over them.
    """

    def __init__(self, store: Store, lane: TokenLane, *, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._lane = lane
        self._clock = clock
        self._on_their_way: dict[Command, asyncio.Task[bool]] = {}

    async def run(self) -> None:
        """Tick until cancelled, while the clock is ours; a tick that fails is logged, and tried again."""
        while True:
            await asyncio.sleep(TICK_EVERY)
            try:
                if await self._store.clock_try():
                    await self.tick()
            except Exception as fault:
                log.exception(
                    "the clock's tick failed (%s); it tries again in %s seconds",
                    type(fault).__name__,
                    TICK_EVERY,
                )

    async def tick(self) -> None:
        """Leases first; the timers are listed after the last lease was decided."""
        now = self._clock()
        await self._end_leases(now)
        await self._fire_timers(now)

    async def _end_leases(self, now: datetime) -> None:
        while True:
            tasks = await self._store.leases_over(now, limit=self._page)
            ended = await self._submit([(EndLease(task), root) for task, root in tasks])
            if len(tasks) < CHUNK or not ended:
                return

    async def _fire_timers(self, now: datetime) -> None:
        while True:
            timers = await self._store.timers_due(now, limit=self._page)
            fired = await self._submit(
                [(FireTimer(timer, token), root) for timer, token, root in timers]
            )
            if len(timers) < CHUNK or not fired:
                return

    @property
    def _page(self) -> int:
        # What is on its way is listed again, and must not fill the page.
        return CHUNK + len(self._on_their_way)

    async def _submit(self, commands: Iterable[tuple[Command, str]]) -> int:
        """How many of the commands were decided; those of one family, by its top token, in their order."""
        loop = asyncio.get_running_loop()
        sent: set[asyncio.Task[bool]] = set()
        for command, root in commands:
            if command not in self._on_their_way:
                task = loop.create_task(self._decide(command, root))
                self._on_their_way[command] = task
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

    async def _decide(self, command: Command, root: str) -> bool:
        try:
            await self._lane.submit(command, subject=("family", root))
        except Refusal as refusal:
            log.warning("clock.command_refused", code=refusal.code, reason=str(refusal))
            return False
        finally:
            del self._on_their_way[command]
        return True
