"""Hears what other processes say: a connection of its own that listens, is pinged, and is made anew when lost."""

from __future__ import annotations

import asyncio

import psycopg
import structlog
from psycopg import sql

from stateous.store.ending import end
from stateous.store.news import Listener, tell
from stateous.store.postgres.session import Connection, Place, reason_of
from stateous.store.store import CannotOpen

PINGED_EVERY = 5.0
ANSWERS_WITHIN = 5.0
FIRST_REST = 0.05
LONGEST_REST = 2.0
LASTS = 1.0
"""A connection that lasted so long is a good one: the next loss is a new beginning (seconds)."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Listening:
    """Tells a listener what is said on the schema's channel by others than `own`.

    Whenever a connection begins to listen, the listener is told that anything may have happened before.
    """

    def __init__(self, place: Place, listener: Listener, *, own: str) -> None:
        self._place = place
        self._listener = listener
        self._own = own
        self._task = asyncio.get_running_loop().create_task(self._run(), name="stateous-listening")

    async def close(self) -> None:
        """Listen no longer."""
        await end([self._task])

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        rest = FIRST_REST
        while True:
            began = loop.time()
            try:
                await self._listen()
            except (psycopg.Error, CannotOpen, TimeoutError) as error:
                log.warning("listening.lost", reason=reason_of(error))
            except Exception:
                log.exception("listening.failed")
            if loop.time() - began > LASTS:
                rest = FIRST_REST
            await asyncio.sleep(rest)
            rest = min(rest * 2, LONGEST_REST)

    async def _listen(self) -> None:
        connection = await self._place.connect({"application_name": "stateous listens"})
        try:
            await connection.execute(
                sql.SQL("listen {}").format(sql.Identifier(self._place.channel))
            )
            # Only now: what is committed from here on is heard, and what was before is looked for.
            self._listener.anything()
            while True:
                await self._hear(connection)
                async with asyncio.timeout(ANSWERS_WITHIN):
                    await connection.execute("select 1")
        finally:
            await connection.close()

    async def _hear(self, connection: Connection) -> None:
        async for said in connection.notifies(timeout=PINGED_EVERY):
            tell(self._listener, said.payload, own=self._own)
