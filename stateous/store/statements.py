"""The SQL statements, each from its own file, in the form that its driver reads."""

from __future__ import annotations

import re
from functools import cache

from stateous.store.resources import resource_folder

# What may hold a colon that is no parameter comes first, so that it is passed over as a whole.
_PIECES = re.compile(
    r"""
      '(?:[^']|'')*'                    # a string
    | "(?:[^"]|"")*"                    # a quoted identifier
    | --[^\n]*                          # a comment to the end of the line
    | /\*.*?\*/                         # a comment in between
    | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$   # a dollar-quoted string
    | ::                                # a cast
    | :(?P<name>[a-z][a-z0-9_]*)        # a parameter
    | %                                 # psycopg reads this, so it is doubled
    """,
    re.VERBOSE | re.DOTALL,
)


def for_psycopg(text: str) -> str:
    """The statement with each `:name` as `%(name)s`, and each other `%` doubled.

    Strings, comments, casts and dollar-quoted bodies keep their colons.
    """

    def piece(match: re.Match[str]) -> str:
        name = match["name"]
        return f"%({name})s" if name else match[0].replace("%", "%%")

    return _PIECES.sub(piece, text)


def parameters(text: str) -> frozenset[str]:
    """The names of the parameters that a statement takes."""
    return frozenset(match["name"] for match in _PIECES.finditer(text) if match["name"])


@cache
def statement_text(name: str, dialect: str) -> str:
    """The text of a statement as it stands in its file: in the dialect's folder, else in `common`."""
    folder = resource_folder("sql")
    own = folder / dialect / f"{name}.sql"
    path = own if own.is_file() else folder / "common" / f"{name}.sql"
    return path.read_text(encoding="utf-8")


@cache
def sqlite_statement(name: str) -> str:
    """A statement for sqlite3, which reads `:name` itself."""
    return statement_text(name, "sqlite")


@cache
def postgres_statement(name: str) -> bytes:
    """A statement for psycopg. Bytes, because they are its type for SQL that is no literal in Python."""
    return for_psycopg(statement_text(name, "postgres")).encode()
