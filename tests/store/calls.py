"""Programs that use SQL: connections of their own, and the calls that they make."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import psycopg
from psycopg import AsyncConnection, sql
from psycopg.rows import dict_row

from tests.databases import Database

START_AND_FIRE = (
    "stateous.start(text, text), stateous.start(text, json), stateous.start(text, jsonb), "
    "stateous.fire(text, text, text, text), stateous.fire(text, text, json, text), "
    "stateous.fire(text, text, jsonb, text)"
)
"""All that a program may call."""


class Program:
    """A program with one connection, in autocommit. It has none of Stateous's settings."""

    def __init__(self, connection: AsyncConnection[dict[str, Any]]) -> None:
        self.connection = connection

    async def run(self, statement: str, *values: object) -> list[dict[str, Any]]:
        """The rows of a statement, if it has any."""
        cursor = await self.connection.execute(statement.encode(), values or None)
        return await cursor.fetchall() if cursor.description else []

    async def start(self, token: str, context: str | None = None) -> int:
        (row,) = await self.run("select stateous.start(%s, %s) as row", token, context)
        return row["row"]

    async def fire(
        self, token: str, event: str, payload: str | None = None, key: str | None = None
    ) -> int:
        call = "select stateous.fire(%s, %s, %s, %s) as row"
        (row,) = await self.run(call, token, event, payload, key)
        return row["row"]

    async def inbox(self, *columns: str) -> list[tuple[Any, ...]]:
        """These columns of the view, by id."""
        asked = ", ".join(columns)
        rows = await self.run(f"select {asked} from stateous_views.inbox order by id")  # noqa: S608
        return [tuple(row.values()) for row in rows]


@asynccontextmanager
async def program(database: Database, *, role: str | None = None) -> AsyncGenerator[Program]:
    """A program that is connected, as the owner of the tables or as this role."""
    connection = await AsyncConnection[dict[str, Any]].connect(
        database.url, autocommit=True, row_factory=dict_row
    )
    try:
        if role is not None:
            await connection.execute(sql.SQL("set role {}").format(sql.Identifier(role)))
        yield Program(connection)
    finally:
        await connection.close()


@asynccontextmanager
async def new_role(database: Database, *grants: str) -> AsyncGenerator[str]:
    """A role that has these grants and nothing else; roles belong to the whole server."""
    role = f"shop_{uuid4().hex[:12]}"
    async with await psycopg.AsyncConnection.connect(database.url, autocommit=True) as owner:
        await owner.execute(sql.SQL("create role {} nologin").format(sql.Identifier(role)))
        try:
            for grant in grants:
                await owner.execute(f"grant {grant} to {role}".encode())
            yield role
        finally:
            await owner.execute(f"drop owned by {role}; drop role {role}".encode())
