"""Write all changes of a batch and commit, in one round trip; and find out what became of a lost COMMIT."""

from __future__ import annotations

import asyncio

import msgspec
import psycopg

from stateous.engine.changes import Changes
from stateous.engine.family import Entry
from stateous.store.gathering import Gathered
from stateous.store.postgres.faults import not_committed, roll_back
from stateous.store.postgres.load import run
from stateous.store.postgres.session import Connection, Place, reason_of
from stateous.store.store import CannotOpen, NotCommitted, OutcomeUnknown
from stateous.store.writes import Write, writes_of

_ASKED_FOR = 15.0
_ASKED_AGAIN_AFTER = 0.25


async def save(
    connection: Connection, changes: Changes, gathered: Gathered, *, place: Place, xid: str
) -> bool:
    """Write and commit. Returns only when it is sure that the transaction committed; False: nothing to write.

    Raises NotCommitted when it surely did not, OutcomeUnknown when it cannot be told.
    """
    try:
        writes = list(writes_of(changes, gathered.before))
    except (ValueError, TypeError, msgspec.MsgspecError) as error:
        # A value that cannot be written is one command's, and its neighbours go on without it.
        await roll_back(connection)
        raise NotCommitted(f"a change cannot be written: {reason_of(error)}", alone=True) from error
    if not writes:
        await roll_back(connection)
        return False
    proof = changes.entries[0] if changes.entries else None
    await commit(connection, writes, place=place, xid=xid, proof=proof)
    return True


async def commit(
    connection: Connection, writes: list[Write], *, place: Place, xid: str, proof: Entry | None
) -> None:
    """As `save`, for statements that are made already; `proof` is an entry that they write.

    The statements and COMMIT are sent together. When one fails, the server passes over all that is behind
    it, COMMIT too; statements that have to write a number of rows fail by themselves (`confirmed`).
    """
    try:
        async with connection.pipeline():
            for write in writes:
                await run(connection, write.name, write.values)
            await connection.execute("commit")
    except psycopg.Error as error:
        refused = not_committed(error, connection)
        if not connection.closed and error.sqlstate is not None:
            await roll_back(connection)
            raise refused from None
        await connection.close()
        await _settle(place, xid, proof, error)


async def _settle(place: Place, xid: str, proof: Entry | None, error: psycopg.Error) -> None:
    """Ask on a new connection what became of the transaction whose connection was lost."""
    lost = f"the connection was lost at a commit ({reason_of(error)})"
    loop = asyncio.get_running_loop()
    until = loop.time() + _ASKED_FOR
    while loop.time() < until:
        try:
            connection = await place.connect({})
            try:
                status = await _outcome(connection, xid, proof)
            finally:
                await connection.close()
        except (psycopg.Error, CannotOpen):
            await asyncio.sleep(_ASKED_AGAIN_AFTER)
            continue
        match status:
            case "committed":
                return
            case "aborted":
                raise NotCommitted(lost, alone=False)
            case "in progress":
                # The server has not noticed yet that we are gone.
                await asyncio.sleep(_ASKED_AGAIN_AFTER)
            case _:
                break
    raise OutcomeUnknown(f"{lost}, and whether it was done cannot be told")


async def _outcome(connection: Connection, xid: str, proof: Entry | None) -> str | None:
    """What became of the transaction: committed, aborted, in progress; None when it is too long ago.

    The number alone is no proof. A server that crashed forgets the numbers of what it had not written to
    disk, and gives them out again: another transaction may have committed under ours.
    A standby is not asked: what it does not know yet may have been committed all the same. Raises psycopg.Error.
    """
    try:
        cursor = await run(connection, "outcome_read", {"xid": xid})
    except psycopg.errors.InvalidParameterValue:
        # The number is still to come: the server crashed, and what we did is gone.
        return "aborted"
    row = await cursor.fetchone()
    status, follows = row or (None, False)
    if follows:
        raise psycopg.OperationalError("a standby does not know what was committed")
    if status == "committed" and proof is not None:
        # A statement of its own: its snapshot must be newer than the status.
        asked = {"token": proof.token, "seq": proof.seq, "at": proof.at}
        cursor = await run(connection, "entry_find", asked)
        if await cursor.fetchone() is None:
            return "aborted"
    return status
