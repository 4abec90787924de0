"""Who is there: the supervisors that claim and beat, kept in memory and written down now and then, for people."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from math import inf

import structlog

from stateous.model.refusals import StateousError
from stateous.store.store import Seen, Store

WRITTEN_EVERY = 10.0
LOOK_EVERY = 1.0
MOST_AT_ONCE = 1000

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class _Heard:
    """A supervisor: when it was heard of last, how many claims it has under way, and when it was written down."""

    __slots__ = ("at", "claims", "states", "written_at")

    def __init__(self) -> None:
        self.at = -inf
        self.claims = 0
        self.states: tuple[str, ...] | None = None
        self.written_at = -inf

    def is_due(self, now: float) -> bool:
        """Whether there is something to write: soon when it is new, else only now and then."""
        return self.has_news() and now - self.written_at >= WRITTEN_EVERY

    def is_gone(self, now: float) -> bool:
        """Whether it was not heard of for a while, so that it is new when it comes again."""
        return not self.has_news() and now - self.written_at >= WRITTEN_EVERY

    def has_news(self) -> bool:
        return self.claims > 0 or self.at > self.written_at


class Attendance:
    """Hears who claims and who beats; `run` writes it down. Nobody waits for it, and nothing is decided by it.

    It counts in real time, whatever clock decides.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._heard: dict[str, _Heard] = {}
        self._anybody = asyncio.Event()

    @contextmanager
    def claims(self, supervisor: str, queues: tuple[str, ...]) -> Generator[None]:
        """A claim of the supervisor is under way; one that waits is there all the time."""
        heard = self._hear(supervisor)
        if heard.states != queues:
            heard.states = queues
            heard.written_at = -inf
        heard.claims += 1
        try:
            yield
        finally:
            heard.claims -= 1
            heard.at = asyncio.get_running_loop().time()

    def beats(self, supervisor: str) -> None:
        """The supervisor says that it works."""
        self._hear(supervisor)

    async def run(self) -> None:
        """Write down who is there, until cancelled: whoever is new after a second, the others each ten seconds."""
        while True:
            await self._anybody.wait()
            await asyncio.sleep(LOOK_EVERY)
            try:
                await self.write()
            except StateousError as fault:
                log.warning("attendance.not_written", reason=str(fault))
            except Exception:
                log.exception("attendance.not_written")

    async def write(self) -> None:
        """Write down whoever is due. Raises what Store.supervisors_see raises; they are due again then."""
        now = asyncio.get_running_loop().time()
        due = {name: heard for name, heard in self._heard.items() if heard.is_due(now)}
        while len(due) > MOST_AT_ONCE:
            due.popitem()
        seen = [
            Seen(name=name, states=heard.states, ago=0.0 if heard.claims else now - heard.at)
            for name, heard in due.items()
        ]
        # Before the write, so that what is heard meanwhile is news again.
        for heard in due.values():
            heard.written_at = now
        if seen:
            try:
                await self._store.supervisors_see(seen)
            except BaseException:
                for heard in due.values():
                    heard.written_at = -inf
                raise
        for name in [name for name, heard in self._heard.items() if heard.is_gone(now)]:
            del self._heard[name]
        if not self._heard:
            self._anybody.clear()

    def _hear(self, supervisor: str) -> _Heard:
        heard = self._heard.setdefault(supervisor, _Heard())
        heard.at = asyncio.get_running_loop().time()
        self._anybody.set()
        return heard
