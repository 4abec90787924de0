"""Claims that found no task and wait for one: called in the order in which they came."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from stateous.engine.commands import Claim


class Waiter:
    """A claim on its way, until `until`, a time of the event loop; when `waits` is not set it looks once.

    `called` are the queues that it was called to and has not looked into since. `is_ended`: nobody wants to
    hear of it any more; whatever it is granted is somebody else's.
    """

    __slots__ = ("_bell", "called", "claim", "is_ended", "until", "waits")

    def __init__(self, claim: Claim, *, until: float, waits: bool) -> None:
        self.claim = claim
        self.until = until
        self.waits = waits
        self.called: set[str] = set()
        self.is_ended = False
        self._bell: asyncio.Future[None] | None = None

    def is_over(self) -> bool:
        """Whether it is to be answered with what it has."""
        loop = asyncio.get_running_loop()
        return self.is_ended or not self.waits or loop.time() >= self.until

    async def sleep(self, *, at_most: float | None = None) -> None:
        """Return when it is called, when its time is over, or after `at_most` seconds."""
        if self.called or self.is_over():
            return
        loop = asyncio.get_running_loop()
        until = self.until if at_most is None else min(self.until, loop.time() + at_most)
        self._bell = loop.create_future()
        timer = loop.call_at(until, self._ring)
        try:
            await self._bell
        finally:
            timer.cancel()
            self._bell = None

    def call(self, queue: str) -> None:
        """Say that a task is ready in one of its queues."""
        self.called.add(queue)
        self._ring()

    def hurry(self) -> None:
        """Let it wait no longer: it is answered with what it finds now."""
        self.waits = False
        self._ring()

    def end(self) -> None:
        """Let it go without an answer to speak of."""
        self.is_ended = True
        self._ring()

    def _ring(self) -> None:
        if self._bell is not None and not self._bell.done():
            self._bell.set_result(None)


class Waiters:
    """All waiters by the queues that they wait for, the first come first.

    Whoever learns that tasks are ready calls `wake`: after a commit, after a look into the database, after
    a message from elsewhere. A waiter may be called for nothing, but no ready task is left lying while one
    waits for it: a waiter is added before it looks, looks again when it was called meanwhile, and passes
    its call on when it leaves without having looked.
    """

    def __init__(self) -> None:
        # Dicts keep their order, and a waiter leaves the middle of one at no cost.
        self._by_queue: dict[str, dict[Waiter, None]] = {}
        self._all: set[Waiter] = set()

    def __len__(self) -> int:
        return len(self._all)

    @property
    def queues(self) -> tuple[str, ...]:
        """The queues that somebody waits for."""
        return tuple(self._by_queue)

    def add(self, waiter: Waiter) -> None:
        self._all.add(waiter)
        for queue in waiter.claim.states:
            self._by_queue.setdefault(queue, {})[waiter] = None

    def remove(self, waiter: Waiter) -> Mapping[str, int]:
        """Forget it, if it was added, and call somebody else to what it did not look into; what `wake` answers."""
        if waiter not in self._all:
            return {}
        self._all.remove(waiter)
        for queue in waiter.claim.states:
            waiting = self._by_queue[queue]
            del waiting[waiter]
            if not waiting:
                del self._by_queue[queue]
        return self.wake(dict.fromkeys(waiter.called, 1))

    def wake(self, ready: Mapping[str, int]) -> Mapping[str, int]:
        """Call as many waiters as can take this many tasks of each queue; the tasks for which there was nobody."""
        nobodys: dict[str, int] = {}
        for queue, count in ready.items():
            left = count
            for waiter in self._by_queue.get(queue, ()):
                if left <= 0:
                    break
                if waiter.waits and not waiter.called:
                    waiter.call(queue)
                    left -= waiter.claim.max
            if left > 0:
                nobodys[queue] = left
        return nobodys

    def wake_all(self, queues: Iterable[str]) -> None:
        """Call everybody who waits for one of these queues: how many tasks they have is not known."""
        for queue in queues:
            for waiter in self._by_queue.get(queue, ()):
                waiter.call(queue)

    def hurry_those_of(self, supervisors: Iterable[str]) -> None:
        """Let the claims of these supervisors wait no longer."""
        of = frozenset(supervisors)
        for waiter in self._all:
            if waiter.claim.supervisor in of:
                waiter.hurry()

    def hurry(self) -> None:
        """Let nobody wait any longer."""
        for waiter in self._all:
            waiter.hurry()
