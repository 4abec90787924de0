"""The store on Postgres: opens, closes, and hands each request to the part that does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import psycopg
import structlog

from stateous.engine.commands import Beat
from stateous.model.refusals import NotServing
from stateous.store.news import Listener, News
from stateous.store.postgres.attendance import Attendance
from stateous.store.postgres.batches import Batches, check_held
from stateous.store.postgres.beats import Beats
from stateous.store.postgres.claims import Claims
from stateous.store.postgres.faults import not_committed
from stateous.store.postgres.hold import LASTS_FOR, Clock, Hold
from stateous.store.postgres.holders import names_renew, session_name
from stateous.store.postgres.listening import Listening
from stateous.store.postgres.load import Load, run
from stateous.store.postgres.notifying import Notifying
from stateous.store.postgres.opening import Opening
from stateous.store.postgres.reads import Reads
from stateous.store.postgres.seats import Seats
from stateous.store.postgres.session import Place, reason_of
from stateous.store.reading import Reading
from stateous.store.serving import NOT_SERVING, Candidate, Mode
from stateous.store.store import (
    MOST_THAT_WAIT,
    Batch,
    Beaten,
    CannotOpen,
    ClaimBatch,
    Seen,
)
from stateous.store.values import Row, latest_of, time_value

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class PostgresStore(Reading):
    """A schema of a Postgres database, served by this control plane."""

    def __init__(
        self,
        url: str,
        *,
        schema: str,
        clock: Callable[[], datetime],
        hold_for: timedelta | None = None,
    ) -> None:
        self._place = Place(url, schema=schema)
        self._hold = Hold(self._place, lasts_for=hold_for or LASTS_FOR)
        self._replica = ""
        # A claim and a heartbeat must never wait behind a batch, so each has a connection of its own.
        self._lane_seats = Seats(self._place, count=2)
        # Nor may a batch wait behind one that waits for a lock of somebody else.
        self._waiting_seats = Seats(self._place, count=MOST_THAT_WAIT)
        self._claim_seats = Seats(self._place, count=1)
        self._beat_seats = Seats(self._place, count=1)
        self._reads = Reads(self._place)
        self._notifying = Notifying(self._place)
        self._listening: Listening | None = None
        load = Load(self._place)
        self._batches = Batches(
            self._place,
            self._hold,
            load,
            seats=self._lane_seats,
            waiting_seats=self._waiting_seats,
            clock=clock,
        )
        self._claims = Claims(self._place, self._hold, load, seats=self._claim_seats, clock=clock)
        self._beats = Beats(self._hold, load, seats=self._beat_seats)
        self._attendance = Attendance(self._hold, load, seats=self._beat_seats)

    @property
    def is_serving(self) -> bool:
        return self._hold.is_held

    async def open(
        self,
        *,
        mode: Mode = "alone",
        candidate: Candidate | None = None,
        migrates: bool = True,
    ) -> None:
        name = candidate.name if candidate is not None else ""
        self._hold.name = session_name(mode, name)
        self._replica = name if mode == "replica" else ""
        opening = Opening(
            self._place,
            self._hold,
            mode=mode,
            candidate=candidate,
            migrates=migrates,
        )
        try:
            await opening.run()
            await self._reads.open()
        except BaseException as error:
            await self.close()
            if isinstance(error, psycopg.Error):
                raise CannotOpen(f"cannot open the database: {reason_of(error)}") from None
            raise

    async def close(self) -> None:
        if self._listening is not None:
            await self._listening.close()
        await self._notifying.close()
        await self._reads.close()
        for seats in (
            self._lane_seats,
            self._waiting_seats,
            self._claim_seats,
            self._beat_seats,
        ):
            await seats.close()
        if self._hold.is_held:
            await self._names_renew(leaves=True)
        # The hold goes last, so that nobody else serves while we still write.
        await self._hold.give_up()

    async def clock_try(self) -> bool:
        match await self._hold.clock_try():
            case Clock.OURS:
                return True
            case Clock.ANOTHERS:
                return False
            case Clock.TAKEN:
                log.info("clock.taken")
                # Whoever ran it before may have gone without a word.
                await self._names_renew()
                return True

    async def _names_renew(self, *, leaves: bool = False) -> None:
        """Put on record which replicas serve. Nothing rests on it."""
        if self._replica:
            with suppress(psycopg.Error):
                await names_renew(self._hold, self._place, own=self._replica, leaves=leaves)

    async def time_read(self) -> datetime | None:
        return time_value((await self._reads.rows("time_read"))[0][0])

    def listen(self, listener: Listener) -> None:
        self._listening = Listening(self._place, listener, own=self._replica)

    def notify(
        self,
        ready: Mapping[str, int] | None,
        *,
        due: datetime | None = None,
        gone: frozenset[str] = frozenset(),
    ) -> None:
        # Alone there is nobody else whose supervisors could wait.
        if self._replica:
            said = None if ready is None else dict(ready)
            self._notifying.say(News(self._replica, said, due, gone))

    async def clock_read(self) -> datetime | None:
        return latest_of((await self._reads.rows("clock_read"))[0])

    async def clock_write(self, now: datetime) -> None:
        await self._write("clock_write", {"clock": now})

    async def _write(self, name: str, values: dict[str, Any]) -> None:
        """Run a statement that writes behind the epoch. Raises NotCommitted, NotServing."""
        check_held(self._hold)
        async with self._lane_seats.taken() as connection:
            try:
                cursor = await run(connection, name, {**values, "epoch": self._hold.epoch})
                written = await cursor.fetchall()
            except psycopg.Error as error:
                raise not_committed(error, connection) from None
        if not written:
            self._hold.lose()
            raise NotServing(NOT_SERVING)

    async def batch_decide(self, batch: Batch, *, wait_for: float | None = None) -> None:
        await self._batches.decide(batch, wait_for=wait_for)

    async def claims_decide(self, batch: ClaimBatch) -> frozenset[str]:
        return await self._claims.decide(batch)

    async def tasks_beat(
        self, beats: Sequence[Beat], *, now: datetime, leased_until: datetime
    ) -> list[Beaten]:
        return await self._beats.renew(beats, now=now, leased_until=leased_until)

    async def supervisors_see(self, seen: Sequence[Seen]) -> None:
        await self._attendance.see(seen)

    async def _rows(self, name: str, values: dict[str, Any] | None = None) -> Sequence[Row]:
        return await self._reads.rows(name, values)
