"""One SQLite file: how it is connected to, and how its tables are made."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from stateous.store import migrate
from stateous.store.scripts import VERSION_TABLE
from stateous.store.store import CannotOpen

OLDEST_SQLITE = (3, 38, 0)
"""The first whose `->>` answers SQL values; strict tables are one older."""

BUSY_FOR = 10.0
"""How long another process may hold the file before a transaction gives up (seconds)."""


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """A connection in autocommit: transactions are begun by hand. Raises sqlite3.Error."""
    connection = sqlite3.connect(
        path, timeout=BUSY_FOR, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("pragma synchronous = full")
        connection.execute("pragma foreign_keys = on")
        if read_only:
            connection.execute("pragma query_only = on")
    except BaseException:
        connection.close()
        raise
    return connection


def open_file(path: Path) -> sqlite3.Connection:
    """The connection of the writer; the file is made when it is not there.

    Raises CannotOpen.
    """
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        wanted = ".".join(map(str, OLDEST_SQLITE[:2]))
        raise CannotOpen(
            f"Stateous needs SQLite {wanted} or newer; this is {sqlite3.sqlite_version}"
        )
    try:
        connection = connect(path)
    except sqlite3.Error as error:
        raise CannotOpen(f"cannot open {path}: {error}") from None
    try:
        # Readers see the last commit and never wait for the writer.
        connection.execute("pragma journal_mode = wal")
    except sqlite3.Error as error:
        connection.close()
        raise CannotOpen(f"cannot open {path}: {error}") from None
    return connection


def identity_of(path: Path) -> tuple[int, int] | None:
    """Which file lies at the path, None when there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def version_of(connection: sqlite3.Connection) -> str | None:
    """The version of the tables, None when there are none. Raises sqlite3.Error."""
    there = connection.execute(
        "select 1 from sqlite_schema where type = 'table' and name = ?", (VERSION_TABLE,)
    ).fetchone()
    if there is None:
        return None
    row = connection.execute(f"select version_num from {VERSION_TABLE}").fetchone()  # noqa: S608
    return None if row is None else row[0]


def make_tables(path: Path) -> None:
    """Bring the file's tables up to date. Raises sqlite3.Error."""
    migrate.upgrade(url="sqlite://", schema=None, connect=lambda: connect(path))
