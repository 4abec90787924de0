"""A claim from when it comes in until it is answered: it looks for tasks, and may wait for one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

import structlog

from stateous.control.bell import Bell
from stateous.control.claims import ClaimLane
from stateous.control.waiters import Waiter, Waiters
from stateous.engine.answers import Granted
from stateous.engine.commands import Claim
from stateous.engine.rules import Rules
from stateous.model.refusals import Refusal
from stateous.store.ending import end
from stateous.store.store import Store

LOOKS_WHEN_SHORT = 4
REST_WHEN_SHORT = 0.005
LONG_REST_WHEN_SHORT = 0.05
LOOK_EVERY = 5.0
REST_AFTER_FAULT = 0.2
MOST_RELEASED = 10_000

log: structlog.stdlib.BoundLogger = structlog.get_logger()

Key = tuple[str, str]
"""A supervisor, and the request of a claim of it."""


class Claiming:
    """Answers claims. A cancelled one is granted nothing, unless its batch is decided already.

    Waits take real time, whatever clock decides.
    """

    def __init__(self, store: Store, rules: Rules) -> None:
        self._store = store
        self._lane = ClaimLane(store, rules, left=self._call_next)
        self._waiters = Waiters()
        self._on_their_way: dict[Key, list[Waiter]] = {}
        self._released: dict[str, str] = {}
        self._may_wait = True
        self._looking: asyncio.Task[None] | None = None
        self._look_now = Bell()

    @property
    def waiting(self) -> int:
        """How many claims wait for a task, those included that look for one now."""
        return len(self._waiters)

    async def claim(self, claim: Claim, *, wait: float = 0.0) -> Granted:
        """What the claim got within `wait` seconds, empty if no task is ready.

        A later claim with the same request takes the place of one that waits, which gets nothing. Raises
        DatabaseBusy, NotServing, Unexpected.
        """
        if self._was_released(claim):
            return Granted(())
        until = asyncio.get_running_loop().time() + wait
        waiter = Waiter(claim, until=until, waits=wait > 0 and self._may_wait)
        self._enter(waiter)
        try:
            granted = await self._look(waiter)
        finally:
            self._leave(waiter)
        return Granted(()) if waiter.is_ended else granted

    def wake(self, ready: Mapping[str, int]) -> None:
        """Say how many tasks became ready in each queue, here; the others are told of those that nobody here takes."""
        self._tell(self._waiters.wake(ready))

    def heard(self, ready: Mapping[str, int]) -> None:
        """Say how many tasks became ready in each queue, elsewhere."""
        self._waiters.wake(ready)

    def look(self) -> None:
        """Say that tasks may be ready of which nobody told."""
        self._look_now.ring()

    def hurry(self) -> None:
        """Answer everybody who waits, and let nobody wait from now on."""
        self._may_wait = False
        self._waiters.hurry()

    def end_waits_of(self, supervisors: Iterable[str]) -> None:
        """Answer the claims of these that wait: who let a lease end may sleep, or be cut off, and would let the next one end.

        Who is there all the same asks again.
        """
        self._waiters.hurry_those_of(supervisors)

    async def end(self, supervisor: str, request: str) -> None:
        """End the claim of this request: it gets nothing. Returns when what it was granted is on disk.

        One that comes in later, overtaken on its way, gets nothing either, until the supervisor's next request.
        """
        self._released[supervisor] = request
        if len(self._released) > MOST_RELEASED:
            del self._released[next(iter(self._released))]
        for waiter in self._on_their_way.get((supervisor, request), ()):
            waiter.end()
        await self._lane.settle()

    async def drain(self) -> None:
        """Wait until every claim in a batch has been answered."""
        self.hurry()
        await self._lane.drain()
        if self._looking is not None:
            await end([self._looking])

    def _was_released(self, claim: Claim) -> bool:
        released = self._released.get(claim.supervisor)
        if claim.request is None or released is None:
            return False
        if released == claim.request:
            return True
        del self._released[claim.supervisor]
        return False

    def _enter(self, waiter: Waiter) -> None:
        claim = waiter.claim
        if claim.request is not None:
            same = self._on_their_way.setdefault((claim.supervisor, claim.request), [])
            for other in same:
                if other.waits:
                    other.end()
            same.append(waiter)
        if waiter.waits:
            # Before it looks: what becomes ready behind its back calls it, and it looks again.
            self._waiters.add(waiter)
            if self._looking is None:
                self._looking = asyncio.get_running_loop().create_task(self._look_by_itself())

    def _leave(self, waiter: Waiter) -> None:
        claim = waiter.claim
        if claim.request is not None:
            same = self._on_their_way[claim.supervisor, claim.request]
            same.remove(waiter)
            if not same:
                del self._on_their_way[claim.supervisor, claim.request]
        self._tell(self._waiters.remove(waiter))

    def _tell(self, nobodys: Mapping[str, int]) -> None:
        if nobodys:
            self._store.notify(nobodys)

    async def _look(self, waiter: Waiter) -> Granted:
        """Look, and look again when it is called, or while ready tasks are only locked by somebody."""
        short = 0
        while True:
            is_last = waiter.waits and waiter.is_over()
            granted, is_short = await self._look_once(waiter)
            short = short + 1 if is_short else 0
            if granted.grants or waiter.is_ended or is_last:
                return granted
            if short:
                if short >= LOOKS_WHEN_SHORT and waiter.is_over():
                    return granted
                await self._rest(waiter, short)
            else:
                await waiter.sleep()
                if waiter.is_over() and not waiter.called:
                    return granted

    async def _rest(self, waiter: Waiter, short: int) -> None:
        """Let who has ready tasks locked go on; what it was called to by its own look is no news."""
        called, waiter.called = waiter.called, set()
        try:
            if short < LOOKS_WHEN_SHORT:
                await asyncio.sleep(REST_WHEN_SHORT)
            else:
                await waiter.sleep(at_most=LONG_REST_WHEN_SHORT)
        finally:
            waiter.called |= called

    async def _look_once(self, waiter: Waiter) -> tuple[Granted, bool]:
        called, waiter.called = waiter.called, set()
        try:
            return await self._lane.look(waiter.claim)
        except BaseException:
            waiter.called |= called
            raise

    def _call_next(self, left: frozenset[str]) -> None:
        """Claims left ready tasks in these queues: they took others, or somebody had locked them."""
        self._waiters.wake(dict.fromkeys(left, 1))

    async def _look_by_itself(self) -> None:
        """Find what nobody told of, one look for all who wait, as long as somebody does: now and then, or when asked."""
        try:
            while self._waiters.queues:
                # Silent before the look: what happens during it is looked for once more.
                asked = await self._look_now.heard(within=LOOK_EVERY)
                if not self._store.is_serving:
                    self.hurry()
                    return
                if not await self._look_for_all(asked=asked) and asked:
                    self._look_now.ring()
                    await asyncio.sleep(REST_AFTER_FAULT)
        finally:
            self._looking = None

    async def _look_for_all(self, *, asked: bool) -> bool:
        """Whether the look succeeded. When it was asked for, all are called who wait for what is ready."""
        try:
            ready = await self._store.queues_look(self._waiters.queues)
        except Refusal as fault:
            log.warning("claims.not_looked", reason=str(fault))
            return False
        if asked:
            self._waiters.wake_all(ready)
        else:
            self._waiters.wake(dict.fromkeys(ready, 1))
        return True
