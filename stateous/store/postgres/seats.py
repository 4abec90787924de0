"""A fixed number of connections for one purpose: each is used by one batch at a time, and made anew when lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import psycopg
from psycopg.pq import TransactionStatus

from stateous.store.postgres.session import LANE_SETTINGS, Connection, Place, reason_of
from stateous.store.store import CannotOpen, NotCommitted

# Plans are made for the size that a table has at that moment. Thrown away this often, none grows old
# while its table grows from nothing to a hundred thousand rows.
_PLANS_LAST_FOR = 5.0

# A server that is away is asked this seldom, however many commands wait for it (seconds).
_ASKED_AGAIN_AFTER = 0.2


class Seat:
    """One of the connections, None while there is none."""

    def __init__(self) -> None:
        self.connection: Connection | None = None
        self.planned_at = 0.0

    @property
    def is_usable(self) -> bool:
        connection = self.connection
        return (
            connection is not None
            and not connection.closed
            and connection.info.transaction_status is TransactionStatus.IDLE
        )

    async def close(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            await connection.close()


class Seats:
    """Hands out connections with these settings, made at their first use; waits when all are taken."""

    def __init__(
        self, place: Place, *, count: int, settings: dict[str, str] = LANE_SETTINGS
    ) -> None:
        self._place = place
        self._settings = settings
        self._free: asyncio.Queue[Seat] = asyncio.Queue()
        self._every = [Seat() for _ in range(count)]
        for seat in self._every:
            self._free.put_nowait(seat)

    async def close(self) -> None:
        """Close all; the server ends what is still in flight on them."""
        for seat in self._every:
            await seat.close()

    @asynccontextmanager
    async def taken(self) -> AsyncGenerator[Connection, None]:
        """A connection that is idle. Raises NotCommitted when none can be made."""
        seat = await self._free.get()
        try:
            yield await self._ready(seat)
        finally:
            # Whatever left a transaction behind is not trusted to end it; the server will.
            if not seat.is_usable:
                await seat.close()
            self._free.put_nowait(seat)

    async def _ready(self, seat: Seat) -> Connection:
        now = asyncio.get_running_loop().time()
        try:
            if seat.connection is None or not seat.is_usable:
                await seat.close()
                seat.connection = await self._place.connect(self._settings)
                seat.planned_at = now
            elif now - seat.planned_at > _PLANS_LAST_FOR:
                await seat.connection.execute("discard plans")
                seat.planned_at = now
        except (psycopg.Error, CannotOpen) as error:
            if seat.connection is None:
                await asyncio.sleep(_ASKED_AGAIN_AFTER)
            raise NotCommitted(
                f"cannot reach the database: {reason_of(error)}", alone=False
            ) from None
        return seat.connection
