"""Finds out which version Stateous's tables have, and makes or upgrades them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Event
from typing import Any

import psycopg
import structlog
from psycopg import sql

from stateous.store import migrate
from stateous.store.contents import (
    damage_sentence,
    foreign_sentence,
    is_needed,
    missing_of,
    ours_of,
)
from stateous.store.postgres import functions, views
from stateous.store.postgres.load import run
from stateous.store.postgres.session import Connection, Place, reason_of
from stateous.store.scripts import VERSION_TABLE
from stateous.store.statements import postgres_statement
from stateous.store.store import CannotOpen

TRIES = 10
"""How often locks on the tables are tried to be had, before an upgrade gives up."""

REST = 1.0
"""How long others may work between two of these tries (seconds)."""

CANCELLED_WITHIN = 1.0
CANCELLED_AGAIN = 0.05

Connect = Callable[[], psycopg.Connection[Any]]

log: structlog.stdlib.BoundLogger = structlog.get_logger()


async def version_of(connection: Connection, schema: str) -> str | None:
    """The version of the tables in this schema, None when there are none. Raises psycopg.Error, CannotOpen."""
    cursor = await connection.execute(
        "select to_regclass(%s) is not null", (f'"{schema}".{VERSION_TABLE}',)
    )
    row = await cursor.fetchone()
    if row is None or not row[0]:
        return None
    cursor = await connection.execute(
        sql.SQL("select version_num from {}").format(sql.Identifier(schema, VERSION_TABLE))
    )
    return migrate.the_version(await cursor.fetchall())


async def contents_of(connection: Connection) -> list[str]:
    """What is in the schema and in that of its views, each thing as a line. Raises psycopg.Error."""
    cursor = await run(connection, "contents_read")
    return ours_of(row[0] for row in await cursor.fetchall())


async def check_tables(connection: Connection) -> None:
    """Raise CannotOpen when tables of the newest version lack what is needed to serve. Raises psycopg.Error."""
    missing = missing_of("postgres", await contents_of(connection))
    if any(map(is_needed, missing)):
        raise CannotOpen(damage_sentence(missing))


async def check_room(connection: Connection) -> None:
    """Raise CannotOpen when something is where the first version is to be made. Raises psycopg.Error."""
    reason = foreign_sentence("postgres", await contents_of(connection))
    if reason is not None:
        raise CannotOpen(reason)


async def make_tables(place: Place, connection: Connection) -> None:
    """Bring the schema up to date; `connection` has the hold. Raises psycopg.Error, CannotOpen."""

    def upgrade(connect: Connect) -> None:
        migrate.upgrade(url="postgresql+psycopg://", schema=place.schema, connect=connect)

    await _at_a_quiet_moment(place, upgrade, connection)


async def make_again(place: Place, connection: Connection) -> None:
    """Make the views for people and the functions for programs as they are written now.

    Raises psycopg.Error, CannotOpen.
    """

    def make(connect: Connect) -> None:
        with connect() as blocking, blocking.cursor() as cursor:
            # There is no hold for this: two at once would make the same view twice.
            cursor.execute(postgres_statement("turn_take"), {"turn": place.views})
            views.renew(cursor)
            functions.make(cursor)

    await _at_a_quiet_moment(place, make, connection)


async def _at_a_quiet_moment(
    place: Place, change: Callable[[Connect], None], connection: Connection
) -> None:
    """Run a change of the schema, once nobody uses what it alters. Each try is one transaction.

    A try waits for a lock for a short time only, for whoever asks for the table meanwhile queues up behind it.
    """
    for tried in range(1, TRIES + 1):
        try:
            await _done_or_undone(place, change)
            return
        except psycopg.errors.LockNotAvailable:
            users = await _who_uses(connection)
            if tried == TRIES:
                raise CannotOpen(
                    f"the tables could not be changed, for they are in use{users}, and nothing was: "
                    "end those transactions, or try again later"
                ) from None
            log.warning("tables.in_use", reason=f"they are to be changed and are in use{users}")
            await asyncio.sleep(REST)
        except psycopg.errors.InsufficientPrivilege as error:
            raise CannotOpen(
                f"this role may not change the tables ({reason_of(error)}): "
                "run stateous db upgrade as the role that owns them"
            ) from None


async def _done_or_undone(place: Place, change: Callable[[Connect], None]) -> None:
    """Run a change in a thread. Whoever cancels it gets it rolled back first: nobody else may change the tables beside it."""
    made: list[psycopg.Connection[Any]] = []
    is_cancelled = Event()

    def connect() -> psycopg.Connection[Any]:
        made.append(place.connect_blocking())
        if is_cancelled.is_set():
            made[-1].close()
        return made[-1]

    running = asyncio.ensure_future(asyncio.to_thread(change, connect))
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        is_cancelled.set()
        while not running.done():
            # Between two statements there is nothing to cancel, so it is tried again.
            for blocking in made:
                await asyncio.to_thread(blocking.cancel_safe, timeout=CANCELLED_WITHIN)
            await asyncio.wait([running], timeout=CANCELLED_AGAIN)
        # What it failed with is that it was cancelled.
        with suppress(psycopg.Error, CannotOpen):
            running.result()
        raise


async def _who_uses(connection: Connection) -> str:
    """The sessions that have a lock on something in the schema, to be put into a sentence."""
    cursor = await run(connection, "users_read")
    rows = await cursor.fetchall()
    return f" by {', '.join(_session(*row) for row in rows)}" if rows else ""


def _session(pid: int, name: str | None) -> str:
    return f"{name} (pid {pid})" if name else f"pid {pid}"
