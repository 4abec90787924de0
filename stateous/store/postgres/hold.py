"""The right to serve a schema: an advisory lock on a connection of its own, pinged so that it is missed when lost.

The hold keeps order, it does not keep the data right: that is the epoch's part, which every batch reads
behind the fence.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import psycopg
import structlog

from stateous.store.postgres.load import run
from stateous.store.postgres.session import HOLD_SETTINGS, Connection, Place, reason_of

_PINGED_EVERY = 3.0
_ANSWERED_WITHIN = 5.0

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Hold:
    """One control plane's hold. `is_held` turns False for good when it was lost and not taken back."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._connection: Connection | None = None
        self._pinging: asyncio.Task[None] | None = None
        self.epoch = 0
        self.is_held = False

    async def take(self) -> bool:
        """Try to take the hold; False when another has it. Raises psycopg.Error."""
        connection = await self._place.connect(HOLD_SETTINGS)
        cursor = await run(connection, "hold_try", {"hold": self._place.hold})
        row = await cursor.fetchone()
        if row is None or not row[0]:
            await connection.close()
            return False
        self._connection = connection
        return True

    async def raise_epoch(self) -> None:
        """Wait until nobody writes with the old epoch, raise it, and begin to ping. Raises psycopg.Error."""
        connection = self._connection
        if connection is None:
            raise RuntimeError("the epoch is raised by who has the hold")
        async with connection.transaction():
            await run(connection, "fence_take", {"fence": self._place.fence})
            cursor = await run(connection, "epoch_raise")
            row = await cursor.fetchone()
        if row is None:
            raise LookupError("the row of control_plane is missing")
        self.epoch = row[0]
        self.is_held = True
        self._pinging = asyncio.create_task(self._ping(), name="stateous-hold")

    def lose(self, reason: str) -> None:
        """Note that the database is another's now."""
        if self.is_held:
            self.is_held = False
            log.error("hold.lost", reason=reason)

    async def give_up(self) -> None:
        """Stop pinging and close the connection, which lets the lock go."""
        self.is_held = False
        pinging, self._pinging = self._pinging, None
        if pinging is not None:
            pinging.cancel()
            with suppress(asyncio.CancelledError):
                await pinging
        await self._close()

    async def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _ping(self) -> None:
        while True:
            await asyncio.sleep(_PINGED_EVERY)
            try:
                await self.ping()
            except (psycopg.Error, TimeoutError) as error:
                log.warning("hold.cut", reason=reason_of(error))
            else:
                continue
            # Batches are refused while it is not known who serves.
            self.is_held = False
            if not await self._take_back():
                log.error("hold.lost", reason="it could not be taken back")
                return
            self.is_held = True
            log.info("hold.taken_back", epoch=self.epoch)

    async def ping(self) -> None:
        """Show the server that we live. Raises psycopg.Error or TimeoutError when it does not answer."""
        if self._connection is None:
            raise psycopg.OperationalError("the connection of the hold is closed")
        async with asyncio.timeout(_ANSWERED_WITHIN):
            await self._connection.execute("select 1")

    async def _take_back(self) -> bool:
        """Try once to take the hold on a new connection; True if nobody had it in between."""
        await self._close()
        try:
            if not await self.take() or self._connection is None:
                return False
            cursor = await run(self._connection, "epoch_read")
            row = await cursor.fetchone()
        except psycopg.Error as error:
            log.warning("hold.not_taken_back", reason=reason_of(error))
            return False
        return row is not None and row[0] == self.epoch
