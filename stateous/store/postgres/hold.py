"""The right to serve a schema: an advisory lock on a connection of its own, pinged so that it is missed when lost.

The hold keeps order, it does not keep the data right: that is the epoch's part, which every batch reads
behind the fence. So a hold whose connection was cut is taken back without haste, and it is lost only when
the epoch is seen to be another's.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from enum import Enum, auto

import psycopg
import structlog

from stateous.store.ending import end
from stateous.store.postgres.load import run
from stateous.store.postgres.session import Connection, Place, hold_settings, reason_of
from stateous.store.serving import LOST, NO_ROW
from stateous.store.store import CannotOpen

LASTS_FOR = timedelta(seconds=15)
"""How long the server keeps the hold of a control plane from which nothing comes."""

_PINGS = 5
"""How many pings fall into that time."""

_AGAIN_AFTER = 0.5
"""How soon a hold that was cut is tried to be taken back (seconds)."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Clock(Enum):
    """Whose part it is to end leases and fire timers."""

    OURS = auto()
    TAKEN = auto()
    """Ours from now on."""
    ANOTHERS = auto()


class Hold:
    """One control plane's hold. `is_held` turns False for good once the epoch was raised by another.

    `name` is what the session is called in `pg_stat_activity`.
    """

    def __init__(self, place: Place, *, lasts_for: timedelta = LASTS_FOR) -> None:
        self._place = place
        self._settings = hold_settings(lasts_for)
        self.name = "stateous"
        self._pinged_every = lasts_for.total_seconds() / _PINGS
        self._connection: Connection | None = None
        self._pinging: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self._has_lock = False
        self._is_shared = False
        self._has_clock = False
        self.epoch = 0
        self.is_held = False

    @property
    def connection(self) -> Connection:
        """The connection that has the hold. Raises psycopg.Error when there is none."""
        if self._connection is None:
            raise psycopg.OperationalError("the connection of the hold was cut")
        return self._connection

    async def take(self) -> bool:
        """Try to take the hold; False when another has it, and then no connection is left. Raises psycopg.Error."""
        if await self.try_take():
            return True
        await self._close()
        return False

    async def try_take(self, *, shared: bool = False) -> bool:
        """Try to take the hold, alone or `shared`, and begin to ping; False when others have it.

        The connection is kept for the next try. Raises psycopg.Error.
        """
        try:
            if self._connection is None:
                settings = {**self._settings, "application_name": self.name}
                self._connection = await self._place.connect(settings)
            name = "hold_share" if shared else "hold_try"
            cursor = await run(self._connection, name, {"hold": self._place.hold})
            row = await cursor.fetchone()
        except BaseException:
            await self._close()
            raise
        if row is None or not row[0]:
            return False
        self._has_lock = True
        self._is_shared = shared
        if self._pinging is None:
            # From now on: to make tables may take longer than a silent session lasts.
            self._pinging = asyncio.create_task(self._ping_on(), name="stateous-hold")
        return True

    @asynccontextmanager
    async def in_turn(self) -> AsyncGenerator[Connection]:
        """The connection for several statements, between which nobody else uses it. Raises psycopg.Error."""
        async with self._turn:
            yield self.connection

    async def share(self) -> None:
        """Let others in that serve the same. At no time is the lock free. Raises psycopg.Error."""
        async with self.in_turn() as connection:
            self._is_shared = True
            await run(connection, "hold_share", {"hold": self._place.hold})
            await run(connection, "hold_release", {"hold": self._place.hold})

    async def raise_epoch(self) -> None:
        """Wait until nobody writes with the old epoch, and raise it.

        Raises psycopg.Error, and CannotOpen when there is no epoch.
        """
        async with self.in_turn() as connection, connection.transaction():
            await run(connection, "fence_take", {"fence": self._place.fence})
            cursor = await run(connection, "epoch_raise")
            row = await cursor.fetchone()
        if row is None:
            raise CannotOpen(NO_ROW)
        self.adopt_epoch(row[0])

    def adopt_epoch(self, epoch: int) -> None:
        """Serve with this epoch: it is ours, or that of those whom we join."""
        self.epoch = epoch
        self.is_held = True

    async def clock_try(self) -> Clock:
        """Whether this control plane is the one that runs the clock; if nobody does, it is from now on."""
        if not self.is_held:
            return Clock.ANOTHERS
        if not self._is_shared:
            return Clock.OURS
        try:
            async with self.in_turn() as connection:
                if self._has_clock:
                    return Clock.OURS
                cursor = await run(connection, "clock_try", {"clock": self._place.clock})
                row = await cursor.fetchone()
        except psycopg.Error:
            # The next ping finds out what it was.
            return Clock.ANOTHERS
        self._has_clock = row is not None and row[0]
        return Clock.TAKEN if self._has_clock else Clock.ANOTHERS

    def lose(self) -> None:
        """Note that the database is another's now."""
        if self.is_held:
            self.is_held = False
            log.error("hold.lost", reason=LOST)

    async def give_up(self) -> None:
        """Stop pinging, let the locks go, close the connection."""
        self.is_held = False
        pinging, self._pinging = self._pinging, None
        if pinging is not None:
            await end([pinging])
        if self._connection is not None:
            # A connection that was cut has lost its locks already, or will when the server notices.
            with suppress(psycopg.Error):
                await run(self._connection, "holds_release")
        await self._close()

    async def _close(self) -> None:
        connection, self._connection = self._connection, None
        self._has_lock = self._has_clock = False
        if connection is not None:
            await connection.close()

    async def _ping_on(self) -> None:
        while True:
            is_cut = self.is_held and not self._has_lock
            await asyncio.sleep(
                min(_AGAIN_AFTER, self._pinged_every) if is_cut else self._pinged_every
            )
            await self.ping()

    async def ping(self) -> None:
        """Show the server that we live, and see whether the epoch is still ours.

        A connection that was cut is made anew, and the lock taken back when nobody has it; not while the
        database is opened, for others may have altered it. Our own session may still have it for a while,
        when the server has not noticed that it was cut.
        """
        try:
            async with self._turn:
                await self._ping()
        except (psycopg.Error, CannotOpen) as error:
            # Whatever answers now: the next ping must come all the same.
            if self._connection is None or self._connection.closed:
                log.warning("hold.cut", reason=reason_of(error))
                await self._close()
            else:
                log.warning("hold.not_pinged", reason=reason_of(error))

    async def _ping(self) -> None:
        if not self.is_held:
            if self.epoch:
                # It was lost. While we finish our requests, others wait for the clock.
                await run(self.connection, "holds_release")
            elif self._connection is not None:
                await self._connection.execute("select 1")
            return
        if not self._has_lock and await self.try_take(shared=self._is_shared):
            log.info("hold.taken_back", epoch=self.epoch)
        cursor = await run(self.connection, "graph_read")
        row = await cursor.fetchone()
        # Without its row the database is nobody's.
        if row is None or row[4] != self.epoch:
            self.lose()
