"""The database on which alembic's own command works in a checkout, with the care that `stateous db upgrade` takes."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg

from stateous.store.migrate import make_schema, transaction_on
from stateous.store.postgres.session import Place, reason_of
from stateous.store.serving import serving_sentence
from stateous.store.sqlite.files import connect
from stateous.store.statements import postgres_statement, sqlite_statement
from stateous.store.store import CannotOpen
from stateous.store.urls import read_url

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

DB = "STATEOUS_DB"
OURS = "stateous"
_AT_ONCE = "+0.000 seconds"


@contextmanager
def database_of(
    arguments: Mapping[str, str], *, changes: bool
) -> Generator[tuple[Connection, str | None]]:
    """A transaction on the database of `-x db=URL` or of the environment, and the schema of `-x schema=NAME`.

    Before it `changes` anything, nobody may serve the database. Raises CannotOpen.
    """
    url = arguments.get("db") or os.environ.get(DB)
    if not url:
        raise CannotOpen(f"say which database: {DB}=URL alembic ..., or alembic -x db=URL ...")
    schema = arguments.get("schema") or OURS
    path = read_url(url, schema)
    try:
        if path is None:
            place = Place(url, schema=schema)
            with transaction_on(
                url="postgresql+psycopg://", connect=place.connect_blocking
            ) as connection:
                if changes:
                    _keep_out_postgres(connection, place)
                    make_schema(connection, schema)
                yield connection, schema
        else:
            if not changes and not path.exists():
                raise CannotOpen(f"cannot open {path}: no such file")
            with transaction_on(url="sqlite://", connect=lambda: connect(path)) as connection:
                if changes:
                    _keep_out_sqlite(connection)
                yield connection, None
    except (psycopg.Error, sqlite3.Error) as error:
        raise CannotOpen(f"cannot open the database: {reason_of(error)}") from None


def _keep_out_postgres(connection: Connection, place: Place) -> None:
    """Take the hold until the connection is closed, and raise the epoch of tables that are there."""
    cursor: Any = connection.connection.cursor()
    cursor.execute(postgres_statement("hold_try"), {"hold": place.hold})
    if not cursor.fetchone()[0]:
        raise CannotOpen(serving_sentence("", None))
    cursor.execute("select to_regclass('control_plane') is not null")
    if cursor.fetchone()[0]:
        cursor.execute(postgres_statement("fence_take"), {"fence": place.fence})
        cursor.execute(postgres_statement("epoch_raise"))


def _keep_out_sqlite(connection: Connection) -> None:
    """Raise the epoch of tables that are there, unless somebody has the hold."""
    cursor: Any = connection.connection.cursor()
    cursor.execute("select 1 from sqlite_schema where name = 'control_plane'")
    if cursor.fetchone() is None:
        return
    cursor.execute(sqlite_statement("hold_take"), {"lapse": _AT_ONCE})
    if cursor.fetchone() is None:
        raise CannotOpen(serving_sentence("", None))
