"""A database's URL: which store it opens, and how it is shown without its password."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from stateous.store.passwords import without_password_of
from stateous.store.store import CannotOpen, Store
from stateous.store.upkeep import Upkeep

SCHEMA_NAME = re.compile(r"(?!pg_|information_schema\Z)[A-Za-z_][A-Za-z0-9_]{0,56}")
"""What a schema may be called: an identifier that needs no thought in psql, and none of Postgres's own. The
schema of its views has six characters more, and Postgres's names have 63 at most."""


def open_store(
    url: str,
    *,
    schema: str = "stateous",
    clock: Callable[[], datetime],
    hold_for: timedelta | None = None,
) -> Store:
    """The store for this URL, not open yet. `clock` answers aware UTC datetimes.

    `hold_for` is how long the database is kept for a control plane that gives no sign of life; without it, as
    long as is usual there.

    `sqlite:///file` is beside the working directory, `sqlite:////file` is absolute; a `postgresql://` URL
    goes to libpq as it is. Raises CannotOpen when the URL or the schema's name cannot be used.
    """
    path = read_url(url, schema)
    if path is not None:
        from stateous.store.sqlite.store import SqliteStore  # noqa: PLC0415 - one of the two

        return SqliteStore(path, clock=clock, hold_for=hold_for)
    from stateous.store.postgres.store import PostgresStore  # noqa: PLC0415 - one of the two

    return PostgresStore(url, schema=schema, clock=clock, hold_for=hold_for)


def open_upkeep(url: str, *, schema: str = "stateous") -> Upkeep:
    """What looks after the tables of the database of this URL. Raises CannotOpen as `open_store`."""
    path = read_url(url, schema)
    if path is not None:
        from stateous.store.sqlite.upkeep import SqliteUpkeep  # noqa: PLC0415 - one of the two

        return SqliteUpkeep(path)
    from stateous.store.postgres.upkeep import PostgresUpkeep  # noqa: PLC0415 - one of the two

    return PostgresUpkeep(url, schema=schema)


def read_url(url: str, schema: str) -> Path | None:
    """The SQLite file that the URL names; None: it is Postgres's. Raises CannotOpen."""
    scheme, separator, rest = url.partition("://")
    match scheme if separator else "":
        case "sqlite":
            return _sqlite_path(rest)
        case "postgresql" | "postgres":
            if not SCHEMA_NAME.fullmatch(schema):
                raise CannotOpen(
                    f"{schema!r} cannot be a schema: use letters, digits and _, at most 57 characters, "
                    "and no name of Postgres's own"
                )
            return None
        case _:
            raise CannotOpen(
                f"cannot open {without_password_of(url, url)!r}: "
                "use sqlite:///file.db or postgresql://user@host/database"
            )


def _sqlite_path(rest: str) -> Path:
    path = rest.removeprefix("/")
    if not rest.startswith("/") or not path or path == ":memory:":
        raise CannotOpen(
            f"cannot open 'sqlite://{rest}': "
            "use sqlite:///file.db, or sqlite:////folder/file.db for an absolute path"
        )
    return Path(path)
