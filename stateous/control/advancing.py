"""Moves a manual clock: the time is kept in the database, then everything that it brings is decided."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import structlog

from stateous.control.clocks import ManualClock
from stateous.control.ticking import Ticker
from stateous.engine.clockwork import advanced
from stateous.model.refusals import DatabaseBusy, Unexpected
from stateous.store.store import NotCommitted, Store

REST_AFTER_FAULT = 0.05
DEADLINE_FOR = 10.0

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Advancer:
    """Moves the clock, one move at a time, each with one tick."""

    def __init__(self, store: Store, ticker: Ticker, *, clock: ManualClock) -> None:
        self._store = store
        self._ticker = ticker
        self._clock = clock
        self._turn = asyncio.Lock()

    @property
    def now(self) -> datetime:
        """The time that decisions are made at."""
        return self._clock()

    async def advance(self, by: timedelta) -> datetime:
        """Move the clock on, end the leases that are over, fire the timers that are due; the time after it.

        What is locked elsewhere is on its way when this returns. Raises InvalidArgument, DatabaseBusy and
        NotServing before the clock has moved, Unexpected when it has and the tick failed.
        """
        async with self._turn:
            now = advanced(self._clock(), by)
            # Kept first: after a crash the clock is never behind what was decided.
            await self._keep(now)
            self._clock.move_to(now)
            try:
                await self._ticker.tick()
            except Exception as fault:
                # No refusal that invites to do the same again: the clock would move twice.
                raise Unexpected("the clock was moved, but its tick failed") from fault
            return now

    async def _keep(self, now: datetime) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + DEADLINE_FOR
        while True:
            try:
                await self._store.clock_write(now)
            except NotCommitted as fault:
                log.warning("clock.not_kept", reason=str(fault))
                if loop.time() >= until:
                    msg = "the database did not get to the clock in time: try again"
                    raise DatabaseBusy(msg) from fault
                await asyncio.sleep(REST_AFTER_FAULT)
            else:
                return
