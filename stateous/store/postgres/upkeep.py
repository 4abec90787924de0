"""Looks after the tables of a schema of Postgres."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import psycopg

from stateous.store.postgres.load import run
from stateous.store.postgres.session import Connection, Place, reason_of
from stateous.store.postgres.tables import contents_of, make_again, version_of
from stateous.store.store import CannotOpen
from stateous.store.upkeep import Found


class PostgresUpkeep:
    """As Upkeep, each time on a connection of its own."""

    dialect = "postgres"

    def __init__(self, url: str, *, schema: str) -> None:
        self._place = Place(url, schema=schema)

    async def look(self) -> Found:
        async with self._connected() as connection:
            while True:
                version = await version_of(connection, self._place.schema)
                contents = await contents_of(connection)
                # An upgrade in between would show a part of it.
                if version == await version_of(connection, self._place.schema):
                    break
            has_row = True
            if version is not None and "table control_plane" in contents:
                has_row = await (await run(connection, "graph_read")).fetchone() is not None
            return Found(version=version, contents=contents, has_row=has_row)

    async def make_again(self) -> None:
        async with self._connected() as connection:
            await make_again(self._place, connection)

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[Connection]:
        try:
            connection = await self._place.connect({})
            try:
                yield connection
            finally:
                await connection.close()
        except psycopg.Error as error:
            raise CannotOpen(f"cannot open the database: {reason_of(error)}") from None
