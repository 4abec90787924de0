"""The right to serve a schema: an advisory lock on a connection of its own, pinged so that it is missed when lost.

The hold keeps order, it does not keep the data right: that is the epoch's part, which every batch reads
behind the fence. So a hold whose connection was cut is taken back without haste, and it is lost only when
the epoch is seen to be another's.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import psycopg
import structlog

from stateous.store.postgres.load import run
from stateous.store.postgres.session import HOLD_SETTINGS, Connection, Place, reason_of
from stateous.store.serving import NO_ROW
from stateous.store.store import CannotOpen

_PINGED_EVERY = 3.0

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Hold:
    """One control plane's hold. `is_held` turns False for good once the epoch was raised by another."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._connection: Connection | None = None
        self._pinging: asyncio.Task[None] | None = None
        self.epoch = 0
        self.is_held = False

    @property
    def connection(self) -> Connection:
        """The connection that has the hold. Raises psycopg.Error when there is none."""
        if self._connection is None:
            raise psycopg.OperationalError("the connection of the hold is closed")
        return self._connection

    async def take(self) -> bool:
        """Try to take the hold; False when another has it. Raises psycopg.Error."""
        connection = await self._place.connect(HOLD_SETTINGS)
        try:
            cursor = await run(connection, "hold_try", {"hold": self._place.hold})
            row = await cursor.fetchone()
        except BaseException:
            await connection.close()
            raise
        if row is None or not row[0]:
            await connection.close()
            return False
        self._connection = connection
        return True

    async def raise_epoch(self) -> None:
        """Wait until nobody writes with the old epoch, raise it, and begin to ping.

        Raises psycopg.Error, and CannotOpen when there is no epoch.
        """
        connection = self.connection
        async with connection.transaction():
            await run(connection, "fence_take", {"fence": self._place.fence})
            cursor = await run(connection, "epoch_raise")
            row = await cursor.fetchone()
        if row is None:
            raise CannotOpen(NO_ROW)
        self.epoch = row[0]
        self.is_held = True
        self._pinging = asyncio.create_task(self._ping_on(), name="stateous-hold")

    def lose(self) -> None:
        """Note that the database is another's now."""
        if self.is_held:
            self.is_held = False
            log.error("hold.lost", reason="another control plane raised the epoch")

    async def give_up(self) -> None:
        """Stop pinging, let the lock go, close the connection."""
        self.is_held = False
        pinging, self._pinging = self._pinging, None
        if pinging is not None:
            pinging.cancel()
            with suppress(asyncio.CancelledError):
                await pinging
        if self._connection is not None:
            # A connection that was cut has lost the lock already, or will when the server notices.
            with suppress(psycopg.Error):
                await run(self._connection, "hold_release", {"hold": self._place.hold})
        await self._close()

    async def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _ping_on(self) -> None:
        while self.is_held:
            await asyncio.sleep(_PINGED_EVERY)
            await self.ping()

    async def ping(self) -> None:
        """Show the server that we live, and see whether the epoch is still ours.

        A connection that was cut is made anew, and the lock taken back when nobody has it. Our own session
        may still have it for a while, when the server has not noticed that it was cut.
        """
        try:
            if self._connection is None and await self.take():
                log.info("hold.taken_back", epoch=self.epoch)
            if await self._epoch_now() != self.epoch:
                self.lose()
        except (psycopg.Error, CannotOpen) as error:
            # Whatever answers now: the next ping must come all the same.
            log.warning("hold.cut", reason=reason_of(error))
            await self._close()

    async def _epoch_now(self) -> int:
        connection = self._connection or await self._place.connect({})
        try:
            cursor = await run(connection, "graph_read")
            row = await cursor.fetchone()
        finally:
            if connection is not self._connection:
                await connection.close()
        # Without its row the database is nobody's.
        return -1 if row is None else row[4]
