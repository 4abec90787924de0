"""Looks after the tables of an SQLite file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from stateous.store.sqlite.files import connect, contents_of, version_of
from stateous.store.sqlite.load import run
from stateous.store.store import CannotOpen
from stateous.store.upkeep import Found


class SqliteUpkeep:
    """As Upkeep. It is asked by itself, so that it may block."""

    dialect = "sqlite"

    def __init__(self, path: Path) -> None:
        self._path = path

    async def look(self) -> Found:
        if not self._path.exists():
            return Found(version=None, contents=[])
        try:
            with closing(connect(self._path, read_only=True)) as connection:
                # In one transaction, so that an upgrade is seen as a whole or not at all.
                connection.execute("begin")
                version, contents = version_of(connection), contents_of(connection)
                if version is None or "table control_plane" not in contents:
                    return Found(version=version, contents=contents)
                has_row = bool(run(connection, "graph_read"))
                return Found(version=version, contents=contents, has_row=has_row)
        except sqlite3.Error as error:
            raise CannotOpen(f"cannot open {self._path}: {error}") from None

    async def make_again(self) -> None:
        """Nothing: views and functions are Postgres's."""
