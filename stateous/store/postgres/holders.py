"""Who has the hold of a schema: told by the sessions that have it, and kept as names in the database for people."""

from __future__ import annotations

import msgspec

from stateous.store.postgres.hold import Hold
from stateous.store.postgres.load import run
from stateous.store.postgres.session import Connection, Place
from stateous.store.serving import Mode, id_of, names_alive

_WORDS = 3


class Holders(msgspec.Struct, frozen=True):
    """Sessions that have the hold: the ids of their control planes, and how they have it.

    `come` tells that a replica has it alone: the first one, which makes ready what others will share.
    """

    ids: tuple[str, ...]
    share: bool
    come: bool


def session_name(mode: Mode, name: str) -> str:
    """What the session with the hold is called, so that others can tell who it is."""
    return f"stateous {mode} {id_of(name)}"


async def holders_of(connection: Connection, place: Place) -> Holders:
    """Who has the hold now. Raises psycopg.Error."""
    cursor = await run(connection, "holders_read", {"hold": place.hold})
    rows = await cursor.fetchall()
    words = [row[0].split(" ", _WORDS - 1) for row in rows]
    share = any(row[1] for row in rows)
    return Holders(
        ids=tuple(said[-1] for said in words if len(said) == _WORDS),
        share=share,
        come=not share and any(said[1:2] == ["replica"] for said in words),
    )


async def names_renew(hold: Hold, place: Place, *, own: str, leaves: bool = False) -> None:
    """Put on record which replicas serve: us, unless we leave, and those of the others that still have the hold.

    Raises psycopg.Error.
    """
    epoch = {"epoch": hold.epoch}
    async with hold.in_turn() as connection, connection.transaction():
        cursor = await run(connection, "serving_lock", epoch)
        row = await cursor.fetchone()
        if row is None:
            return
        alive = set((await holders_of(connection, place)).ids) - {id_of(own)}
        names = names_alive(row[0], alive) + ([] if leaves else [own])
        if names:
            await run(connection, "serving_write", {**epoch, "serving": ", ".join(names)})
