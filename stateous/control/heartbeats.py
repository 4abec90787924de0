"""The heartbeat lane: one set-wise statement renews the leases of all supervisors that beat together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from stateous.control.gathering import Gatherer
from stateous.engine.commands import Beat
from stateous.model.refusals import DatabaseBusy
from stateous.store.store import Beaten, NotCommitted, Store

REST_WHEN_BUSY = 0.005
DEADLINE_FOR = 10.0


class HeartbeatLane:
    """Renews leases. A task whose row another transaction has locked is tried again, never called lost."""

    def __init__(
        self, store: Store, *, clock: Callable[[], datetime], lease_for: timedelta
    ) -> None:
        self._store = store
        self._clock = clock
        self._lease_for = lease_for
        self._gatherer: Gatherer[Beat, Beaten] = Gatherer(self._handle)

    async def beat(self, beat: Beat) -> tuple[int, ...]:
        """The tasks that the supervisor no longer holds, ascending; raises DatabaseBusy, NotServing."""
        lost: set[int] = set()
        asked = Beat(beat.supervisor, tuple(sorted(set(beat.tasks))))
        loop = asyncio.get_running_loop()
        until = loop.time() + DEADLINE_FOR
        while asked.tasks:
            if loop.time() >= until:
                msg = "the database did not get to the heartbeat in time: try again"
                raise DatabaseBusy(msg)
            beaten = await self._gatherer.submit(asked)
            lost.update(beaten.lost)
            asked = Beat(beat.supervisor, beaten.busy)
            if beaten.busy:
                await asyncio.sleep(REST_WHEN_BUSY)
        return tuple(sorted(lost))

    async def drain(self) -> None:
        """Wait until every heartbeat in flight has been answered."""
        await self._gatherer.drain()

    async def _handle(self, beats: Sequence[Beat]) -> Sequence[Beaten | Exception]:
        now = self._clock()
        try:
            return await self._store.tasks_beat(beats, now=now, leased_until=now + self._lease_for)
        except NotCommitted:
            # Nothing was renewed and nothing is known to be lost: all of it is tried again.
            await asyncio.sleep(REST_WHEN_BUSY)
            return [Beaten(lost=(), busy=beat.tasks) for beat in beats]
