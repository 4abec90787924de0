"""The SQL functions for programs: written anew from `sql/functions` after the newest migration, with the same grants."""

from __future__ import annotations

from typing import Any

import psycopg

from stateous.store.resources import resource_folder

Cursor = psycopg.Cursor[Any]

_OURS = """
select p.oid::regprocedure::text
from pg_proc p
join pg_namespace n on n.oid = p.pronamespace
where n.nspname = current_schema() and p.proname = any(%s)
"""


def function_names() -> list[str]:
    """The names of the functions."""
    return sorted(path.stem for path in (resource_folder("sql") / "functions").glob("*.sql"))


def make(cursor: Cursor) -> None:
    """Make the functions in the current schema, or replace their bodies.

    Nobody may call one that is new, before somebody says so; who may call one that there was still may.
    """
    cursor.execute("select quote_ident(current_schema())")
    row = cursor.fetchone()
    schema = row[0] if row else ""
    before = _signatures(cursor)
    # They call each other, and are made one after the other.
    cursor.execute("set local check_function_bodies = off")
    for name in function_names():
        cursor.execute(_text(name).replace(':"schema"', schema).encode())
    for signature in sorted(_signatures(cursor) - before):
        # A signature is what the server spelled, quoted where that is needed.
        cursor.execute(f"revoke all on function {signature} from public".encode())


def _signatures(cursor: Cursor) -> set[str]:
    cursor.execute(_OURS, (function_names(),))
    return {row[0] for row in cursor.fetchall()}


def _text(name: str) -> str:
    path = resource_folder("sql") / "functions" / f"{name}.sql"
    return path.read_text(encoding="utf-8")
