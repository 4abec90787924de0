"""The connections for what is read outside the corridor."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import psycopg

from stateous.model.refusals import DatabaseBusy
from stateous.store.postgres.seats import Seats
from stateous.store.postgres.session import READ_SETTINGS, Place, reason_of
from stateous.store.statements import postgres_statement
from stateous.store.store import NotCommitted
from stateous.store.values import Row

SIZE = 4

DEADLINE_FOR = 10.0
"""How long a read may take (seconds), together with the wait for a connection, or for a server that is away."""


class Reads:
    """A few connections that only read. None is made before it is used."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._seats: Seats | None = None

    async def open(self) -> None:
        """Let them be used."""
        self._seats = Seats(self._place, count=SIZE, settings=READ_SETTINGS)

    async def close(self) -> None:
        """Close them; the server ends what is still in flight on them."""
        seats, self._seats = self._seats, None
        if seats is not None:
            await seats.close()

    async def rows(self, name: str, values: dict[str, Any] | None = None) -> Sequence[Row]:
        """All rows of a statement. Raises DatabaseBusy when the database cannot be asked."""
        fault = ""
        try:
            async with asyncio.timeout(DEADLINE_FOR):
                while True:
                    if self._seats is None:
                        raise DatabaseBusy("the database is closed")
                    try:
                        async with self._seats.taken() as connection:
                            return await _rows(connection, name, values)
                    except NotCommitted as error:
                        # The server is away; whoever was connected to it finds that out here.
                        fault = f": {error}"
        except TimeoutError:
            raise DatabaseBusy(f"the database did not answer a read in time{fault}") from None


async def _rows(
    connection: psycopg.AsyncConnection[Any], name: str, values: dict[str, Any] | None
) -> Sequence[Row]:
    """Raises NotCommitted when the connection was lost, else DatabaseBusy."""
    try:
        cursor = await connection.execute(postgres_statement(name), values)
        return await cursor.fetchall()
    except psycopg.OperationalError as error:
        if connection.closed:
            raise NotCommitted(reason_of(error), alone=False) from None
        raise DatabaseBusy(f"the database did not answer a read: {reason_of(error)}") from None
