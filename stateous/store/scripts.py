"""A migration's script: it belongs to one dialect, and runs statement by statement."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stateous.store.resources import resource_folder

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

VERSION_TABLE = "stateous_version"


def run_script(connection: Connection, name: str) -> None:
    """Run the script of this name that is written for the connection's database."""
    dialect = "sqlite" if connection.dialect.name == "sqlite" else "postgres"
    path = resource_folder("migrations") / dialect / f"{name}.sql"
    text = path.read_text(encoding="utf-8")
    cursor = connection.connection.cursor()
    try:
        # psycopg takes a whole script when it has no parameters; sqlite3 takes one statement, and its
        # `executescript` would commit first.
        for statement in statements_of(text) if dialect == "sqlite" else (text,):
            cursor.execute(statement)
    finally:
        cursor.close()


def statements_of(script: str) -> Iterator[str]:
    """The statements of an SQLite script; a trigger's body stays in one piece."""
    lines: list[str] = []
    for line in script.splitlines():
        if not lines and (not line.strip() or line.lstrip().startswith("--")):
            continue
        lines.append(line)
        statement = "\n".join(lines)
        if sqlite3.complete_statement(statement):
            yield statement
            lines = []
    if lines:
        raise ValueError(f"an SQLite script ends inside a statement: {lines[0]}")
