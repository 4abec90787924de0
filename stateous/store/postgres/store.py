"""The store on Postgres: opens, closes, and hands each request to the part that does it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import psycopg
from psycopg_pool import PoolTimeout

from stateous.engine.commands import Beat
from stateous.model.refusals import NotServing
from stateous.store.migrate import is_up_to_date
from stateous.store.postgres.attendance import Attendance
from stateous.store.postgres.batches import Batches, check_held
from stateous.store.postgres.beats import Beats
from stateous.store.postgres.claims import Claims
from stateous.store.postgres.faults import not_committed
from stateous.store.postgres.hold import Hold
from stateous.store.postgres.load import Load, run
from stateous.store.postgres.reads import Reads
from stateous.store.postgres.seats import Seats
from stateous.store.postgres.session import Place, reason_of
from stateous.store.postgres.tables import make_tables, version_of
from stateous.store.reading import Reading
from stateous.store.serving import NOT_SERVING, serving_sentence
from stateous.store.store import (
    MOST_THAT_WAIT,
    Batch,
    Beaten,
    CannotOpen,
    ClaimBatch,
    OnRecord,
    Seen,
)
from stateous.store.values import Row, latest_of

_TRIES = 5
_REST = 0.2


class PostgresStore(Reading):
    """A schema of a Postgres database, served by this control plane."""

    def __init__(self, url: str, *, schema: str, clock: Callable[[], datetime]) -> None:
        self._place = Place(url, schema=schema)
        self._clock = clock
        self._hold = Hold(self._place)
        # A claim and a heartbeat must never wait behind a batch, so each has a connection of its own.
        self._lane_seats = Seats(self._place, count=2)
        # Nor may a batch wait behind one that waits for a lock of somebody else.
        self._waiting_seats = Seats(self._place, count=MOST_THAT_WAIT)
        self._claim_seats = Seats(self._place, count=1)
        self._beat_seats = Seats(self._place, count=1)
        self._reads = Reads(self._place)
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

    async def open(self) -> None:
        try:
            await self._open()
        except BaseException as error:
            await self.close()
            if isinstance(error, psycopg.Error | PoolTimeout):
                raise CannotOpen(f"cannot open the database: {reason_of(error)}") from None
            raise

    async def _open(self) -> None:
        for _ in range(_TRIES):
            if await self._hold.take():
                break
            # Who was killed a moment ago has the hold until the server notices.
            await asyncio.sleep(_REST)
        else:
            raise CannotOpen(await self._who_serves())
        version = await version_of(self._hold.connection, self._place.schema)
        if is_up_to_date(version):
            await self._hold.raise_epoch()
        elif version is None:
            await make_tables(self._place, self._hold.connection)
            await self._hold.raise_epoch()
        else:
            # Whoever served with the older tables, and may not know yet that it lost the hold, must not
            # write while they are altered.
            await self._hold.raise_epoch()
            await make_tables(self._place, self._hold.connection)
        await self._reads.open()

    async def _who_serves(self) -> str:
        """The sentence that names the control plane which has the hold."""
        connection = await self._place.connect({})
        try:
            if await version_of(connection, self._place.schema) is None:
                return "another control plane serves this database"
            cursor = await run(connection, "graph_read")
            row = await cursor.fetchone()
        finally:
            await connection.close()
        return serving_sentence(row[2] if row else "", row[3] if row else None)

    async def close(self) -> None:
        await self._reads.close()
        for seats in (
            self._lane_seats,
            self._waiting_seats,
            self._claim_seats,
            self._beat_seats,
        ):
            await seats.close()
        # The hold goes last, so that nobody else serves while we still write.
        await self._hold.give_up()

    async def graph_on_record(self) -> OnRecord:
        found = await self._reads.rows("graph_read")
        live = await self._reads.rows("live_find")
        return OnRecord(structure=found[0][0], checksum=found[0][1], live_tokens=bool(live))

    async def graph_record(
        self, *, structure: str, checksum: str, graph: str, serving: str
    ) -> None:
        values = {
            "structure": structure,
            "checksum": checksum,
            "graph": graph,
            "serving": serving,
            "since": self._clock(),
        }
        await self._write("graph_write", values)

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
