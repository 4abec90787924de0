"""Stores that are closed at the end, and statements that go around them."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from typing import Any

from stateous.store.postgres.session import Place
from stateous.store.store import Store
from stateous.store.values import time_value
from tests.databases import Database


@asynccontextmanager
async def opened(store: Store) -> AsyncGenerator[Store, None]:
    """The store, open, and closed at the end."""
    await store.open()
    try:
        yield store
    finally:
        await store.close()


async def raw(database: Database, statement: str) -> list[Any]:
    """Run a statement on a connection of its own, committed at once; its rows, if it has any."""
    if database.dialect == "sqlite":
        return await asyncio.to_thread(_raw_sqlite, database.url, statement)
    connection = await Place(database.url, schema="stateous").connect({})
    try:
        cursor = await connection.execute(statement.encode())
        return await cursor.fetchall() if cursor.description else []
    finally:
        await connection.close()


async def since_on_record(database: Database) -> str:
    """Since when the database is served, as a sentence says it."""
    ((since,),) = await raw(database, "select since from control_plane")
    return time_value(since).strftime("%Y-%m-%dT%H:%M:%SZ")


def _raw_sqlite(url: str, statement: str) -> list[Any]:
    path = url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        return connection.execute(statement).fetchall()
