"""Whether a session is ours alone: a pooler that lends it for one transaction can carry neither a hold nor LISTEN."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from typing import Any

import psycopg
from psycopg import AsyncConnection

from stateous.store.statements import postgres_statement
from stateous.store.store import CannotOpen

GIVES_WITHIN = 3.0
"""How long a pooler is waited for when it shall give another session (seconds)."""

MOST_SESSIONS = 40
"""How many sessions are asked for: more than a pooler usually keeps idle for one user of one database."""

ROUNDS = 3

LENDS = (
    "the URL leads to a connection pooler (PgBouncer or alike) that lends a session for one transaction only, "
    "and the hold and LISTEN need a session of their own: name the Postgres server itself, "
    "or a pool with pool_mode=session"
)
TOO_FEW = (
    "the URL leads to a connection pooler (PgBouncer or alike) that gives no second session, and a control plane "
    "needs fifteen: name the Postgres server itself, or let the pool have more"
)

Connection = AsyncConnection[tuple[Any, ...]]
Another = Callable[[], Awaitable[Connection]]


async def check_own(connection: Connection, another: Another) -> None:
    """Raise CannotOpen when the session behind the connection may be lent to others; `another` makes one more.

    Nothing is set on any session, for it may be somebody else's a moment later. Raises psycopg.Error.
    """
    pid, _, began = await _session(connection)
    # A pooler makes up the numbers that it sends at the start; the server tells its own.
    if pid == connection.info.backend_pid:
        return
    for _ in range(ROUNDS):
        await _check_kept(pid, began=began, another=another)
        if (await _session(connection))[0] != pid:
            raise CannotOpen(LENDS)


async def _check_kept(pid: int, *, began: int, another: Another) -> None:
    """Raise CannotOpen when the session `pid`, whose connection is silent, is given to anybody else.

    Whoever begins a transaction gets an idle session, if there is any, and keeps it. So once a new session had
    to be made for somebody, or none was left, ours was not among the idle ones.
    """
    async with AsyncExitStack() as stack:
        for taken in range(MOST_SESSIONS):
            try:
                async with asyncio.timeout(GIVES_WITHIN):
                    other = await another()
                    stack.push_async_callback(_leave, other)
                    theirs, made, _ = await _session(other, begins=True)
            except TimeoutError:
                if not taken:
                    raise CannotOpen(TOO_FEW) from None
                return
            except psycopg.errors.ProtocolViolation:
                # It lends a session for one statement, and refuses to begin a transaction.
                raise CannotOpen(LENDS) from None
            if theirs == pid:
                raise CannotOpen(LENDS)
            if made >= began:
                return


async def _session(connection: Connection, *, begins: bool = False) -> tuple[int, int, int]:
    """The session's number, when it was made, and the server's time, in microseconds."""
    if begins:
        await connection.execute("begin", prepare=False)
    cursor = await connection.execute(postgres_statement("session_read"), prepare=False)
    row = await cursor.fetchone()
    if row is None:
        raise psycopg.OperationalError("the server does not tell which session this is")
    return row[0], row[1], row[2]


async def _leave(connection: Connection) -> None:
    # A pooler ends a session whose client leaves in the middle of a transaction.
    with suppress(psycopg.Error):
        if not connection.closed:
            await connection.execute("rollback", prepare=False)
    await connection.close()
