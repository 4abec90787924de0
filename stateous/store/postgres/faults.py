"""What a database error means for the batch: whose fault it is, and whether anything was committed."""

from __future__ import annotations

import psycopg

from stateous.store.postgres.session import Connection, reason_of
from stateous.store.store import NotCommitted

# Classes and codes of SQLSTATE for which no command is to blame: the connection, a rollback that the
# server chose (deadlock), resources, an operator, a timeout, a disk.
_INNOCENT_CLASSES = {"08", "40", "53", "57", "58"}
_INNOCENT_CODES = {"55P03", "25P02", "25P03", "25P04"}

_READ_ONLY = "25006"
"""The server takes no writes: it follows another one, or somebody closed it for writing."""


def not_committed(error: BaseException, connection: Connection) -> NotCommitted:
    """The error as what the lane acts on; only for what surely did not commit.

    A connection to a server that takes no writes is closed: the next one may find a server that does.
    """
    state = error.sqlstate if isinstance(error, psycopg.Error) else None
    if state == _READ_ONLY:
        connection.pgconn.finish()
    lost = connection.closed or (isinstance(error, psycopg.OperationalError) and state is None)
    innocent = lost or (
        state is not None and (state[:2] in _INNOCENT_CLASSES or state in _INNOCENT_CODES)
    )
    return NotCommitted(f"the database refused a batch: {reason_of(error)}", alone=not innocent)


async def roll_back(connection: Connection) -> None:
    """End the transaction if the connection still lives; a dead one has ended it by dying."""
    if connection.closed:
        return
    try:
        await connection.execute("rollback", prepare=False)
    except psycopg.Error:
        await connection.close()
