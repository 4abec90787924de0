"""The clock of the control plane: it sleeps until a lease is over or a timer is due, ends the one and fires the other."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import structlog

from stateous.control.bell import Bell
from stateous.control.errands import PATIENCE, Errands
from stateous.control.item_clock import ItemClock
from stateous.control.lane import TokenLane
from stateous.engine.commands import EndLease, FireTimer
from stateous.store.store import Store

TICK_EVERY = 5.0
"""How long the clock sleeps at most (seconds): somebody else may have set a timer and not told."""

TRY_EVERY = 1.0
CHUNK = 500
SHORTEST_REST = 0.002
"""What is due within so many seconds is done together."""

JUST_AFTER = 0.001
"""Sleeps are counted in milliseconds, and a timer must not be looked for before it is due (seconds)."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


def _nobody() -> None:
    """Nobody is to be told."""


def _nobody_of(_supervisors: frozenset[str]) -> None:
    """Nobody is to be told of them."""


def _first(*moments: datetime | None) -> datetime | None:
    return min((moment for moment in moments if moment is not None), default=None)


class Ticker:
    """Submits what the clock finds as commands, each decided alone and failing alone.

    Commands of tokens that are locked elsewhere are long on their way. When nothing else has come back for
    `PATIENCE` seconds the tick is over, and the next ones pass over them. `taken` is told when the clock becomes
    ours, `gone` of the supervisors whose leases are over, before the leases are ended.
    """

    def __init__(
        self,
        store: Store,
        lane: TokenLane,
        *,
        clock: Callable[[], datetime],
        lease_for: timedelta,
        taken: Callable[[], None] = _nobody,
        gone: Callable[[frozenset[str]], None] = _nobody_of,
    ) -> None:
        self._store = store
        self._clock = clock
        self._taken = taken
        self._gone = gone
        # A lease that begins now is seen before it can end.
        self._looks_every = min(timedelta(seconds=TICK_EVERY), lease_for)
        self._is_ours = False
        self._lease_at: datetime | None = None
        self._leases_read_at: datetime | None = None
        self._timer_at: datetime | None = None
        self._heard_at: datetime | None = None
        self._until = clock()
        self._woken = Bell()
        self._errands = Errands(lane)
        self._items = ItemClock(store, lane)

    async def run(self) -> None:
        """Do what is due whenever it is, while the clock is ours; until cancelled. What fails is tried again."""
        while True:
            try:
                rest = await self._turn()
            except Exception as fault:
                rest = PATIENCE
                log.exception(
                    "the clock's tick failed (%s); it tries again in %s seconds",
                    type(fault).__name__,
                    rest,
                )
            await self._sleep(rest)

    def expect(self, due: datetime) -> None:
        """A timer was set here, and is due then. Whoever runs the clock is told, if it may not see it in time."""
        if self._is_ours:
            self.hear(due)
        elif due - self._clock() < timedelta(seconds=TICK_EVERY):
            self._store.notify({}, due=due)

    def hear(self, due: datetime) -> None:
        """A timer is due then: the clock does not sleep beyond it."""
        self._heard_at = _first(self._heard_at, due)
        if due < self._until:
            self._woken.ring()

    async def _turn(self) -> float:
        """Do what is due; how many seconds to sleep then."""
        if not await self._take():
            return TRY_EVERY
        now = self._clock()
        is_lease_due = self._lease_at is not None and self._lease_at < now
        timer_at = _first(self._timer_at, self._heard_at)
        is_timer_due = timer_at is not None and timer_at <= now
        ended = await self._end_leases(now) if is_lease_due else 0
        # Listed after the last lease was decided.
        fired = await self._fire_timers(now) if is_timer_due else 0
        self._items.look(now)
        await self._plan(now)
        if self._is_due(now) and (is_lease_due or is_timer_due) and not ended + fired:
            # What is left is held up elsewhere.
            return PATIENCE
        return self._until_next()

    async def _take(self) -> bool:
        """Whether the clock is ours. Who takes it over has everybody look: its last owner may have told nothing."""
        had, self._is_ours = self._is_ours, await self._store.clock_try()
        if self._is_ours and not had:
            self._lease_at = self._timer_at = self._leases_read_at = None
            self._store.notify(None)
            self._taken()
        return self._is_ours

    async def _plan(self, now: datetime) -> None:
        """Read when something is due. A lease is only ever renewed, and a new one is long enough to wait for."""
        read_at = self._leases_read_at
        if (
            read_at is None
            or now - read_at >= self._looks_every
            or (self._lease_at is not None and self._lease_at < now)
        ):
            self._lease_at = await self._store.lease_next()
            self._leases_read_at = now
        # What is heard of during the read is maybe not in it.
        self._heard_at = None
        self._timer_at = await self._store.timer_next()

    def _is_due(self, now: datetime) -> bool:
        return any(due is not None and due <= now for due in (self._lease_at, self._timer_at))

    def _until_next(self) -> float:
        """How many seconds there are until something is due, or leases are to be looked at again."""
        looked_at = self._leases_read_at or self._clock()
        look_at = looked_at + self._looks_every
        first = _first(self._lease_at, self._timer_at, self._heard_at, look_at) or look_at
        return max(SHORTEST_REST, (first - self._clock()).total_seconds() + JUST_AFTER)

    async def _sleep(self, seconds: float) -> None:
        """Return then, or when something is due before."""
        self._until = self._clock() + timedelta(seconds=seconds)
        self._woken.hush()
        await self._woken.heard(within=seconds)

    async def tick(self) -> None:
        """Do all that is due now. Leases first; the timers are listed after the last lease was decided; items last.

        What the running clock has begun already is waited for too.
        """
        now = self._clock()
        await self._end_leases(now, joins=True)
        await self._fire_timers(now, joins=True)
        await self._items.tick(now, joins=True)

    async def stop(self) -> None:
        """Begin nothing any more."""
        await self._items.stop()

    async def _end_leases(self, now: datetime, *, joins: bool = False) -> int:
        decided = 0
        while True:
            tasks = await self._store.leases_over(now, limit=CHUNK + self._errands.under_way)
            if tasks:
                self._gone(frozenset(supervisor for _, _, supervisor in tasks))
            ended = await self._errands.send(
                [(EndLease(task), ("family", root)) for task, root, _ in tasks], joins=joins
            )
            decided += ended
            if len(tasks) < CHUNK or not ended:
                return decided

    async def _fire_timers(self, now: datetime, *, joins: bool = False) -> int:
        decided = 0
        while True:
            timers = await self._store.timers_due(now, limit=CHUNK + self._errands.under_way)
            fired = await self._errands.send(
                [(FireTimer(timer, token), ("family", root)) for timer, token, root in timers],
                joins=joins,
            )
            decided += fired
            if len(timers) < CHUNK or not fired:
                return decided
