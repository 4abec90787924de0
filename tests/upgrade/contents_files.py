"""Writes what a fresh database has in it to `migrations/<dialect>/contents.txt`: `python -m tests.upgrade.contents_files`."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from stateous.store.postgres.session import Place
from stateous.store.postgres.tables import contents_of
from stateous.store.sqlite import files
from tests.databases import DIALECTS, SHARED_VARIABLE, Database, new_database
from tests.postgres import stop_server_in

FOLDER = Path(__file__).parents[2] / "migrations"
HOW = "python -m tests.upgrade.contents_files"


async def lines_of(database: Database) -> list[str]:
    """What is in this database."""
    if database.dialect == "sqlite":
        path = database.url.removeprefix("sqlite:///")
        with closing(sqlite3.connect(path)) as connection:
            return files.contents_of(connection)
    connection = await Place(database.url, schema="stateous").connect({})
    try:
        return await contents_of(connection)
    finally:
        await connection.close()


def file_of(dialect: str) -> Path:
    return FOLDER / dialect / "contents.txt"


def write() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ[SHARED_VARIABLE] = folder
        # What is promised now is no longer so: it must not keep the new tables from being made.
        for dialect in DIALECTS:
            file_of(dialect).write_text("")
        try:
            for dialect in DIALECTS:
                with new_database(dialect, Path(folder)) as database:
                    lines = asyncio.run(lines_of(database))
                file_of(dialect).write_text("".join(f"{line}\n" for line in lines))
        finally:
            stop_server_in(Path(folder))


if __name__ == "__main__":
    write()
