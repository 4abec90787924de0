"""The connections for what is read outside the corridor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from stateous.model.refusals import DatabaseBusy
from stateous.store.postgres.session import READ_SETTINGS, Connection, Place, reason_of
from stateous.store.statements import postgres_statement
from stateous.store.values import Row

_WAITS_FOR = 10.0
_SIZE = 4


class Reads:
    """A small pool of connections that only read."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._pool: AsyncConnectionPool[Connection] | None = None

    async def open(self) -> None:
        """Connect the first of them. Raises psycopg.Error or PoolTimeout."""
        self._pool = AsyncConnectionPool(
            self._place.url,
            min_size=1,
            max_size=_SIZE,
            open=False,
            timeout=_WAITS_FOR,
            kwargs={
                "autocommit": True,
                "prepare_threshold": 0,
                **self._place.connect_arguments(),
            },
            configure=self._configure,
            name="stateous-reads",
        )
        await self._pool.open(wait=True, timeout=_WAITS_FOR)

    async def _configure(self, connection: Connection) -> None:
        await self._place.prepare(connection, READ_SETTINGS)

    async def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()

    async def rows(self, name: str, values: dict[str, Any] | None = None) -> Sequence[Row]:
        """All rows of a statement. Raises DatabaseBusy when the database cannot be asked."""
        if self._pool is None:
            raise DatabaseBusy("the database is closed")
        last: Exception | None = None
        # After the server was away, every connection of the pool fails once before it is made anew.
        for _ in range(_SIZE + 1):
            try:
                async with self._pool.connection() as connection:
                    cursor = await connection.execute(postgres_statement(name), values)
                    return await cursor.fetchall()
            except psycopg.OperationalError as error:
                last = error
                lost = error.sqlstate is None or error.sqlstate.startswith("57P")
                if isinstance(error, PoolTimeout) or not lost:
                    break
        said = reason_of(last) if last else ""
        raise DatabaseBusy(f"the database did not answer a read: {said}")
