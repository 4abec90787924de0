"""Sets the clock by the database's, so that control planes on computers with different clocks agree on the time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from datetime import datetime

import msgspec
import structlog

from stateous.control.bell import Bell
from stateous.control.clocks import SystemClock, elapsed_ns, since_1970_ns
from stateous.model.refusals import Refusal
from stateous.store.store import Store

SET_EVERY = 10.0
AT_FIRST = 5
KEPT = 12
DRIFT = 1e-4
"""How much two clocks may come apart in a while, as a share of it."""

SURELY_NS = 50_000_000
TOLD_FROM_NS = 1_000_000_000

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Sample(msgspec.Struct, frozen=True):
    """The database's clock, read at `at` of our own, both in nanoseconds, on a round trip of `trip`."""

    at: int
    offset: int
    trip: int

    def doubt(self, now: int) -> float:
        """How far the offset may be from the truth by now: half the trip, and what clocks drift."""
        return self.trip / 2 + (now - self.at) * DRIFT


def best_of(samples: deque[Sample]) -> Sample:
    """The sample to go by: the one with the shortest round trip, unless it is old.

    When the last one contradicts it the database's clock was set, or it is another database now: what was
    before counts no more, and is removed.
    """
    last = samples[-1]
    best = min(samples, key=lambda sample: sample.doubt(last.at))
    if abs(best.offset - last.offset) > best.doubt(last.at) + last.doubt(last.at) + SURELY_NS:
        samples.clear()
        samples.append(last)
        return last
    return best


class Timekeeper:
    """Asks the database for the time, and sets the clock by it; one that is no SystemClock is left alone.

    So is the clock of a database that has none itself.
    """

    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._clock = clock if isinstance(clock, SystemClock) else None
        self._samples: deque[Sample] = deque(maxlen=KEPT)
        self._asked = Bell()

    async def begin(self) -> None:
        """Set the clock before anything is decided by it. Raises DatabaseBusy."""
        for _ in range(AT_FIRST if self._clock else 0):
            await self.sample()

    async def run(self) -> None:
        """Set it again each ten seconds, and whenever somebody asks for it, until cancelled."""
        while True:
            await self._asked.heard(within=SET_EVERY)
            try:
                await self.sample()
            except Refusal as fault:
                log.warning("clock.not_set", reason=str(fault))
            except Exception:
                log.exception("clock.not_set")

    def ask(self) -> None:
        """Have it set soon: it may be another database."""
        self._asked.ring()

    async def sample(self) -> None:
        """Read the database's clock once, and set ours by the best of what was read. Raises DatabaseBusy."""
        clock = self._clock
        if clock is None:
            return
        before = elapsed_ns()
        read = await self._store.time_read()
        after = elapsed_ns()
        if read is None:
            return
        middle = (before + after) // 2
        self._samples.append(Sample(after, since_1970_ns(read) - middle, after - before))
        by = clock.set_to(best_of(self._samples).offset)
        if abs(by) >= TOLD_FROM_NS:
            log.warning("clock.set", by=round(by / 1e9, 3))
