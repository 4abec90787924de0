"""A migration's script: it belongs to one dialect, and runs statement by statement."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from stateous.store.resources import resource_folder

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

VERSION_TABLE = "stateous_version"
_GRANTS = "stateous_view_grants"


def run_script(connection: Connection, name: str) -> None:
    """Run the script of this name that is written for the connection's database.

    On Postgres the views for people are dropped before, and made after the newest script, as are the functions
    for programs: they are written for its tables, and those of the versions in between had others.
    """
    cursor: Any = connection.connection.cursor()
    try:
        if connection.dialect.name == "sqlite":
            # sqlite3 takes one statement, and its `executescript` would commit first.
            for statement in statements_of(_text("sqlite", name)):
                cursor.execute(statement)
            return
        from stateous.store.postgres import functions, views  # noqa: PLC0415 - one of the two

        # Several scripts may run one after the other, and only the first one meets the views.
        grants = [*connection.info.get(_GRANTS, ()), *views.set_aside(cursor)]
        connection.info[_GRANTS] = grants
        # psycopg takes a whole script when it has no parameters.
        cursor.execute(_text("postgres", name).encode())
        if name == newest_script():
            views.make(cursor, grants)
            functions.make(cursor)
    finally:
        cursor.close()


def newest_script() -> str:
    """The name of the newest script; it is that of its file in `versions`."""
    folder = resource_folder("migrations") / "versions"
    return max(path.stem for path in folder.glob("[0-9]*_*.py"))


def _text(dialect: str, name: str) -> str:
    path = resource_folder("migrations") / dialect / f"{name}.sql"
    return path.read_text(encoding="utf-8")


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
