"""The clock of business items: ends locks whose time is over, and forgets what was kept long enough.

Nobody has to wait for it: who asks for an item finds it as it is at that time. So it looks now and then, beside the clock of
leases and timers, which it never holds up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import structlog

from stateous.control.errands import Errands
from stateous.control.lane import TokenLane
from stateous.control.waiting import Subject
from stateous.engine.commands import Command, EndLocks, ExpireItems
from stateous.store.ending import end
from stateous.store.store import Store

LOOKS_EVERY = timedelta(seconds=5)
CHUNK = 500
AT_ONCE = 50
"""So many items are forgotten in one command: one that somebody holds keeps back the others of its command."""

Found = tuple[int, list[tuple[Command, Subject]]]
"""How many items a page has, and what is to be done with them."""

Look = Callable[[datetime, int], Awaitable[Found]]

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class ItemClock:
    """Looks for what is over, page by page, and has each decided on the lane."""

    def __init__(self, store: Store, lane: TokenLane) -> None:
        self._store = store
        self._errands = Errands(lane)
        self._looked_at: datetime | None = None
        self._running: asyncio.Task[None] | None = None

    def look(self, now: datetime) -> None:
        """Begin to look, unless that was just done, or is still going on."""
        is_running = self._running is not None and not self._running.done()
        if is_running or (self._looked_at is not None and now - self._looked_at < LOOKS_EVERY):
            return
        self._looked_at = now
        self._running = asyncio.get_running_loop().create_task(self._run(now))

    async def _run(self, now: datetime) -> None:
        try:
            await self.tick(now)
        except Exception as fault:
            log.exception("the clock of items failed (%s); it tries again", type(fault).__name__)

    async def stop(self) -> None:
        """Look no more; what is on its way is decided."""
        if self._running is not None:
            await end({self._running})

    async def tick(self, now: datetime, *, joins: bool = False) -> None:
        """Do all that is due at this time."""
        await self._all(now, self._locks_over, joins=joins)
        await self._all(now, self._items_due, joins=joins)

    async def _all(self, now: datetime, look: Look, *, joins: bool) -> None:
        while True:
            found, commands = await look(now, CHUNK + self._errands.under_way)
            done = await self._errands.send(commands, joins=joins)
            if found < CHUNK or not done:
                return

    async def _locks_over(self, now: datetime, limit: int) -> Found:
        tasks = await self._store.locks_over(now, limit=limit)
        return sum(locks for _, _, locks in tasks), [
            (EndLocks(task), ("family", root)) for task, root, _ in tasks
        ]

    async def _items_due(self, now: datetime, limit: int) -> Found:
        keys = await self._store.items_due(now, limit=limit)
        parts = [tuple(keys[at : at + AT_ONCE]) for at in range(0, len(keys), AT_ONCE)]
        return len(keys), [(ExpireItems(part), ("items", repr(part[0]))) for part in parts]
