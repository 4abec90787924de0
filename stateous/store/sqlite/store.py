"""The store in one SQLite file: one thread writes, one thread reads, and neither waits for the other."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import structlog

from stateous.engine.commands import Beat
from stateous.model.refusals import DatabaseBusy, NotServing
from stateous.store.news import Listener
from stateous.store.reading import Reading
from stateous.store.serving import LOST, NEEDS_POSTGRES, NOT_SERVING, Candidate, Mode
from stateous.store.sqlite.files import connect
from stateous.store.sqlite.hold import LASTS_FOR, Hold
from stateous.store.sqlite.load import run
from stateous.store.sqlite.writer import Writer
from stateous.store.store import (
    Batch,
    Beaten,
    CannotOpen,
    ClaimBatch,
    NotCommitted,
    Seen,
)
from stateous.store.values import Row, latest_of

Result = TypeVar("Result")

WAITS_FOR = 0.5
"""How long a control plane that waits for the hold rests between two looks (seconds)."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class SqliteStore(Reading):
    """An SQLite file, served by this control plane."""

    def __init__(
        self, path: Path, *, clock: Callable[[], datetime], hold_for: timedelta | None = None
    ) -> None:
        self._path = path
        self._writer = Writer(path, clock=clock, hold=Hold(lasts_for=hold_for or LASTS_FOR))
        self._reader: sqlite3.Connection | None = None
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="stateous-writer")
        self._reading = ThreadPoolExecutor(1, thread_name_prefix="stateous-reader")
        self._renewing: asyncio.Task[None] | None = None
        self._is_closed = False

    @property
    def is_serving(self) -> bool:
        return self._writer.hold.is_held

    async def open(
        self,
        *,
        mode: Mode = "alone",
        candidate: Candidate | None = None,
        migrates: bool = True,
    ) -> None:
        if mode == "replica":
            raise CannotOpen(NEEDS_POSTGRES)
        try:
            await self._write(partial(self._writer.open, candidate, migrates=migrates))
            await self._take(mode)
            self._reader = await self._on_reader(partial(connect, self._path, read_only=True))
        except BaseException as error:
            await self.close()
            if isinstance(error, sqlite3.Error | NotCommitted | NotServing):
                raise CannotOpen(f"cannot open {self._path}: {error}") from None
            raise
        self._renewing = asyncio.create_task(self._renew(), name="stateous-hold")

    async def _take(self, mode: Mode) -> None:
        """Return when we have the hold. Raises CannotOpen, NotCommitted, NotServing, sqlite3.Error."""
        reason = await self._write(self._writer.take)
        if reason is None:
            return
        if mode == "alone":
            raise CannotOpen(reason)
        log.info("hold.waits", reason=reason)
        if (why_not := await self._write(self._writer.why_not)) is not None:
            log.warning("hold.would_be_refused", reason=why_not)
        while reason is not None:
            await asyncio.sleep(WAITS_FOR)
            try:
                reason = await self._write(self._writer.take)
            except NotCommitted as error:
                log.warning("hold.not_tried", reason=str(error))

    async def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        renewing, self._renewing = self._renewing, None
        if renewing is not None:
            renewing.cancel()
            with suppress(asyncio.CancelledError):
                await renewing
        reader, self._reader = self._reader, None
        if reader is not None:
            await self._on_reader(reader.close)
        await self._write(self._writer.close)
        for threads in (self._reading, self._writing):
            threads.shutdown(wait=False)

    async def _write(self, call: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._writing, call)

    async def _on_reader(self, call: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._reading, call)

    async def _renew(self) -> None:
        while self.is_serving:
            await asyncio.sleep(self._writer.hold.renewed_every)
            try:
                await self._write(self._writer.renew)
            except NotCommitted as error:
                # The row lapses later than the next try comes.
                log.warning("hold.not_renewed", reason=str(error))
            except NotServing:
                return
        log.error("hold.lost", reason=LOST)

    async def _decide(self, call: Callable[[], Result]) -> Result:
        """Run a batch on the writer's thread. It is finished there even when nobody waits any more."""
        if not self.is_serving:
            raise NotServing(NOT_SERVING)
        return await self._write(call)

    async def clock_try(self) -> bool:
        return self.is_serving

    async def time_read(self) -> datetime | None:
        return None

    def listen(self, listener: Listener) -> None:
        """Nobody else is there to be heard."""

    def notify(
        self,
        ready: Mapping[str, int] | None,
        *,
        due: datetime | None = None,
        gone: frozenset[str] = frozenset(),
    ) -> None:
        """Nobody else is there to be told."""

    async def clock_read(self) -> datetime | None:
        return latest_of((await self._rows("clock_read"))[0])

    async def clock_write(self, now: datetime) -> None:
        await self._decide(partial(self._writer.clock_write, now))

    async def batch_decide(self, batch: Batch, *, wait_for: float | None = None) -> None:
        await self._decide(partial(self._writer.batch_decide, batch, wait_for=wait_for))

    async def claims_decide(self, batch: ClaimBatch) -> frozenset[str]:
        return await self._decide(partial(self._writer.claims_decide, batch))

    async def tasks_beat(
        self, beats: Sequence[Beat], *, now: datetime, leased_until: datetime
    ) -> list[Beaten]:
        call = partial(self._writer.tasks_beat, beats, now=now, leased_until=leased_until)
        return await self._decide(call)

    async def supervisors_see(self, seen: Sequence[Seen]) -> None:
        await self._decide(partial(self._writer.supervisors_see, seen))

    async def _rows(self, name: str, values: dict[str, Any] | None = None) -> list[Row]:
        """All rows of a statement that reads. Raises DatabaseBusy when the file cannot be read."""
        reader = self._reader
        if reader is None:
            raise DatabaseBusy("the database is closed")
        try:
            return await self._on_reader(partial(run, reader, name, values))
        except sqlite3.Error as error:
            raise DatabaseBusy(f"the database did not answer a read: {error}") from None
