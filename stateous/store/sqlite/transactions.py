"""A transaction on an SQLite file: begun so that no other process writes beside it, and never left open."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from stateous.store.sqlite.files import BUSY_FOR
from stateous.store.store import NotCommitted


@contextmanager
def transaction(
    connection: sqlite3.Connection, *, wait_for: float | None = None
) -> Generator[None, None, None]:
    """A transaction that no other process writes beside. Raises NotCommitted for a database error."""
    limit = BUSY_FOR if wait_for is None else wait_for
    try:
        connection.execute(f"pragma busy_timeout = {max(1, round(limit * 1000))}")
        connection.execute("begin immediate")
        yield
        connection.execute("commit")
    except sqlite3.Error as error:
        # What another process or the disk does is no command's fault.
        alone = not isinstance(error, sqlite3.OperationalError)
        raise NotCommitted(f"the database refused a batch: {error}", alone=alone) from None
    finally:
        # A full disk may have ended it already.
        if connection.in_transaction:
            connection.execute("rollback")
