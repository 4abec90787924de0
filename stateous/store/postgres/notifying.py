"""Tells other processes of the schema what became ready: after the commit, and what comes together once.

A NOTIFY inside a transaction that writes would take a lock of the whole server at its commit, and transactions
would commit one by one. So it has a connection of its own, whose commits wait for no disk.
"""

from __future__ import annotations

import asyncio

import psycopg
import structlog

from stateous.store.ending import end
from stateous.store.news import News, news_text, together
from stateous.store.postgres.load import run
from stateous.store.postgres.session import Connection, Place, reason_of
from stateous.store.store import CannotOpen

REST = 0.01
"""How long at least there is between two notifications (seconds); what comes meanwhile is sent together."""

REST_WHEN_LOST = 0.2
LAST_WORD_WITHIN = 1.0

SETTINGS = {"application_name": "stateous notifies", "synchronous_commit": "off"}

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Notifying:
    """Sends news, the first at once. While the database is away they are kept, as one."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._unsaid: News | None = None
        self._sending: asyncio.Task[None] | None = None
        self._connection: Connection | None = None

    def say(self, news: News) -> None:
        """Send the news soon. Nobody waits for it."""
        self._unsaid = together(self._unsaid, news)
        if self._sending is None:
            self._sending = asyncio.get_running_loop().create_task(self._send())

    async def close(self) -> None:
        """Send what is unsaid, if that can be done at once, and close the connection."""
        if self._sending is not None:
            _, late = await asyncio.wait([self._sending], timeout=LAST_WORD_WITHIN)
            await end(late)
        await self._close()

    async def _send(self) -> None:
        try:
            while self._unsaid is not None:
                news, self._unsaid = self._unsaid, None
                try:
                    await self._notify(news)
                except (psycopg.Error, CannotOpen) as error:
                    log.warning("notifying.failed", reason=reason_of(error))
                    self._unsaid = together(self._unsaid, news)
                    await self._close()
                    await asyncio.sleep(REST_WHEN_LOST)
                else:
                    await asyncio.sleep(REST)
        finally:
            self._sending = None

    async def _notify(self, news: News) -> None:
        if self._connection is None:
            self._connection = await self._place.connect(SETTINGS)
        values = {"channel": self._place.channel, "payload": news_text(news)}
        await run(self._connection, "notify", values)

    async def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()
