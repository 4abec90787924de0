"""Finds out which version Stateous's tables have, and makes or upgrades them."""

from __future__ import annotations

import asyncio

import psycopg
from psycopg import sql

from stateous.store import migrate
from stateous.store.postgres.session import Connection, Place
from stateous.store.scripts import VERSION_TABLE

_TRIES = 10
_REST = 1.0


async def version_of(connection: Connection, schema: str) -> str | None:
    """The version of the tables in this schema, None when there are none. Raises psycopg.Error."""
    cursor = await connection.execute(
        "select to_regclass(%s) is not null", (f'"{schema}".{VERSION_TABLE}',)
    )
    row = await cursor.fetchone()
    if row is None or not row[0]:
        return None
    cursor = await connection.execute(
        sql.SQL("select version_num from {}").format(sql.Identifier(schema, VERSION_TABLE))
    )
    row = await cursor.fetchone()
    return None if row is None else row[0]


async def make_tables(place: Place, connection: Connection) -> None:
    """Bring the schema up to date; `connection` has the hold. Raises psycopg.Error, CannotOpen."""
    cursor = await connection.execute(
        "select 1 from pg_namespace where nspname = %s", (place.schema,)
    )
    if await cursor.fetchone() is None:
        await connection.execute(sql.SQL("create schema {}").format(sql.Identifier(place.schema)))
    for tried in range(1, _TRIES + 1):
        try:
            await asyncio.to_thread(
                migrate.upgrade,
                url="postgresql+psycopg://",
                schema=place.schema,
                connect=place.connect_blocking,
            )
            return
        except Exception as error:
            # Somebody reads a table that is to be altered: lock_timeout is short so that nobody else
            # queues up behind us, and we come back.
            if not _is_lock_timeout(error) or tried == _TRIES:
                raise
            await asyncio.sleep(_REST)


def _is_lock_timeout(error: Exception) -> bool:
    return isinstance(error, psycopg.errors.LockNotAvailable)
