"""The views for people, on Postgres: set aside before a migration, and made anew from `sql/views` after the newest.

A view stands in the way of a change of its tables, and what it shows is never kept: so none is ever altered.
"""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from stateous.store.resources import resource_folder
from stateous.store.store import CannotOpen

Cursor = psycopg.Cursor[Any]

Grants = list[tuple[str, str, bool]]
"""A view, a role that may read it (empty for everybody), and whether the role may hand that on."""

_OURS = """
select distinct v.oid, n.nspname, v.relname
from pg_class t
join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = t.oid and d.classid = 'pg_rewrite'::regclass
join pg_rewrite r on r.oid = d.objid
join pg_class v on v.oid = r.ev_class and v.relkind = 'v'
join pg_namespace n on n.oid = v.relnamespace
where t.relnamespace = %(schema)s::regnamespace
  and v.relname = any(%(names)s) and n.nspname like '%%\\_views'
order by n.nspname, v.relname
"""
"""Found by the tables that they read, so that they are found, too, when a schema was renamed since."""

_GRANTED = """
select v.relname, coalesce(r.rolname, ''), a.is_grantable
from pg_class v
cross join lateral aclexplode(v.relacl) a
left join pg_roles r on r.oid = a.grantee
where v.oid = any(%s) and a.privilege_type = 'SELECT' and a.grantee <> v.relowner
"""


def view_names() -> list[str]:
    """The names of the views."""
    return sorted(path.stem for path in (resource_folder("sql") / "views").glob("*.sql"))


def view_text(name: str, *, schema: sql.Identifier) -> bytes:
    """The statements that make a view in this schema; they run where the tables are in reach."""
    path = resource_folder("sql") / "views" / f"{name}.sql"
    return path.read_text(encoding="utf-8").replace(':"views"', schema.as_string()).encode()


def set_aside(cursor: Cursor) -> Grants:
    """Drop the views over the tables of the current schema; who was allowed to read them.

    Raises CannotOpen when something that is not ours was built on one of them.
    """
    schema = sql.Identifier(_current_schema(cursor)).as_string(cursor)
    cursor.execute(_OURS, {"schema": schema, "names": view_names()})
    found = cursor.fetchall()
    if not found:
        return []
    cursor.execute(_GRANTED, ([oid for oid, _, _ in found],))
    grants = cursor.fetchall()
    views = [sql.Identifier(where, name) for _, where, name in found]
    try:
        cursor.execute(sql.SQL("drop view {}").format(sql.SQL(", ").join(views)))
    except psycopg.errors.DependentObjectsStillExist as error:
        built = " ".join((error.diag.message_detail or "").split())
        raise CannotOpen(
            f"an upgrade makes the views for people anew, and something was built on them ({built}): "
            "drop that, and make it again afterwards"
        ) from None
    return grants


def make(cursor: Cursor, grants: Grants) -> None:
    """Make the views beside the current schema, and let the same roles read them as before."""
    schema = f"{_current_schema(cursor)}_views"
    cursor.execute("select 1 from pg_namespace where nspname = %s", (schema,))
    if cursor.fetchone() is None:
        cursor.execute(sql.SQL("create schema {}").format(sql.Identifier(schema)))
    names = view_names()
    for name in names:
        cursor.execute(view_text(name, schema=sql.Identifier(schema)))
    for view, role, may_hand_on in grants:
        if view in names:
            cursor.execute(
                sql.SQL("grant select on {} to {}{}").format(
                    sql.Identifier(schema, view),
                    sql.Identifier(role) if role else sql.SQL("public"),
                    sql.SQL(" with grant option" if may_hand_on else ""),
                )
            )


def renew(cursor: Cursor) -> None:
    """Make the views anew as they are written now; those that somebody dropped are there again."""
    make(cursor, set_aside(cursor))


def _current_schema(cursor: Cursor) -> str:
    cursor.execute("select current_schema()")
    row = cursor.fetchone()
    if row is None or row[0] is None:
        raise CannotOpen("the schema is gone: it was dropped a moment ago")
    return row[0]
