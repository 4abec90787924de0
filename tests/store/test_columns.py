"""Both texts of a statement answer the same columns, as the databases themselves describe them."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import psycopg

from stateous.store.statements import parameters, postgres_statement, sqlite_statement
from tests.databases import Database, new_database

SQL = Path(__file__).parents[2] / "sql"
BOTH = sorted(
    {path.stem for path in (SQL / "postgres").glob("*.sql")}
    & {path.stem for path in (SQL / "sqlite").glob("*.sql")}
)
# A write whose rows are counted is told by Postgres in a row of its own, and by sqlite3 as `rowcount`.
COUNTED = {"written"}
# Statements of SQLite are run, on an empty database, so that it says what they answer.
VALUES = {"rows": "[]", "tokens": "[]", "tasks": "[]", "ids": "[]", "roots": "[]"}


def columns_on_postgres(connection: psycopg.Connection, name: str) -> list[str]:
    text = postgres_statement(name).decode()
    for number, parameter in enumerate(sorted(parameters_of(name)), start=1):
        text = text.replace(f"%({parameter})s", f"${number}")
    prepared = connection.pgconn.prepare(name.encode(), text.replace("%%", "%").encode())
    assert prepared.status == psycopg.pq.ExecStatus.COMMAND_OK, (name, prepared.error_message)
    described = connection.pgconn.describe_prepared(name.encode())
    names = [described.fname(number) for number in range(described.nfields)]
    return [found.decode() for found in names if found is not None]


def parameters_of(name: str) -> frozenset[str]:
    return parameters((SQL / "postgres" / f"{name}.sql").read_text())


def columns_on_sqlite(connection: sqlite3.Connection, name: str) -> list[str]:
    values = {parameter: VALUES.get(parameter, 1) for parameter in parameters_of(name)}
    cursor = connection.execute(sqlite_statement(name), values)
    return [column[0] for column in cursor.description or ()]


def test_both_dialects_answer_the_same_columns(postgres: Database, tmp_path: Path) -> None:
    assert BOTH
    with (
        psycopg.connect(postgres.url, autocommit=True) as served,
        new_database("sqlite", tmp_path) as file,
    ):
        served.execute("set search_path = stateous")
        connection = sqlite3.connect(re.sub("^sqlite:///", "", file.url), isolation_level=None)
        differing = {
            name: (theirs, ours)
            for name in BOTH
            if (theirs := columns_on_postgres(served, name))
            != (ours := columns_on_sqlite(connection, name))
            and not (set(theirs) == COUNTED and not ours)
        }
        connection.close()
    assert not differing
