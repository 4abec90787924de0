"""One SQLite file: how it is connected to, how its tables are made, and what there is of them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from stateous.store import migrate
from stateous.store.contents import (
    damage_sentence,
    foreign_sentence,
    is_needed,
    missing_of,
    ours_of,
)
from stateous.store.scripts import VERSION_TABLE
from stateous.store.statements import sqlite_statement
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
    """The version of the tables, None when there are none. Raises sqlite3.Error, CannotOpen."""
    there = connection.execute(
        "select 1 from sqlite_schema where type = 'table' and name = ?", (VERSION_TABLE,)
    ).fetchone()
    if there is None:
        return None
    rows = connection.execute(f"select version_num from {VERSION_TABLE}").fetchall()  # noqa: S608
    return migrate.the_version(rows)


def version_in(path: Path) -> str | None:
    """The version of the file's tables, None when there are none or there is no file; none is made.

    Raises CannotOpen.
    """
    if not path.exists():
        return None
    try:
        with closing(connect(path, read_only=True)) as connection:
            return version_of(connection)
    except sqlite3.Error as error:
        raise CannotOpen(f"cannot open {path}: {error}") from None


def contents_of(connection: sqlite3.Connection) -> list[str]:
    """What is in the file, each thing as a line. Raises sqlite3.Error."""
    found = connection.execute(sqlite_statement("contents_read")).fetchall()
    return ours_of(row[0] for row in found)


def check_tables(connection: sqlite3.Connection) -> None:
    """Raise CannotOpen when tables of the newest version lack what is needed to serve. Raises sqlite3.Error."""
    missing = missing_of("sqlite", contents_of(connection))
    if any(map(is_needed, missing)):
        raise CannotOpen(damage_sentence(missing))


def check_room(connection: sqlite3.Connection) -> None:
    """Raise CannotOpen when something is where the first version is to be made. Raises sqlite3.Error."""
    reason = foreign_sentence("sqlite", contents_of(connection))
    # Another control plane may have made the tables this very moment.
    if reason is not None and version_of(connection) is None:
        raise CannotOpen(reason)


def make_tables(path: Path) -> None:
    """Bring the file's tables up to date. Raises sqlite3.Error."""
    migrate.upgrade(url="sqlite://", schema=None, connect=lambda: connect(path))
