"""Lock, then read: everything that a batch needs, in one round trip of several statements.

In READ COMMITTED each statement sees what was committed when it began. So the locks come first, in
statements of their own, and what is read after them, under a fresh snapshot, is what the locks protect.
Locks are taken in the order fence, top tokens by id, ids that are about to be started, tasks by id, rows of
the inbox by id, items by key. For rows of the inbox nobody ever waits.

Items are shared by families. Those that are there are locked first, then those that are missing are made: who makes one
waits for nobody's lock but that of others who make the same one, and they do so in the same order. What an item's
row says comes from the statement that locks it, which reads it anew when it had to wait; it looks at no other row.
"""

from __future__ import annotations

from typing import Any

import msgspec
from psycopg import AsyncCursor

from stateous.engine.facts import Need
from stateous.store.gathering import Gathered, Leftovers
from stateous.store.postgres.session import SETTINGS, Connection, Place
from stateous.store.statements import postgres_statement
from stateous.store.wanted import Wanted, key_rows, rows_text

Cursor = AsyncCursor[tuple[Any, ...]]

MAKES_FOR = 0.2
"""How long a batch waits for others who make the same items (seconds)."""

BRIEFLY = 1.0
"""How long a need waits for a lock (seconds) while the batch already holds others."""


class Loaded(msgspec.Struct):
    """What a load brought: the facts, the epoch that was read, and the transaction's number."""

    gathered: Gathered
    epoch: int
    xid: str


async def run(connection: Connection, name: str, values: dict[str, Any] | None = None) -> Cursor:
    """Run a statement by its name; inside a pipeline it is only sent."""
    return await connection.execute(postgres_statement(name), values)


class Load:
    """Loads batches from one place; leftover ids are shared by all of them."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.leftovers = Leftovers()

    async def begin(self, connection: Connection, *, wait_for: float | None = None) -> None:
        """Send the statements that begin a transaction: its limit for locks, and the fence."""
        await connection.execute("begin")
        if wait_for is not None:
            await run(connection, "limit_set", {"limit": _milliseconds(wait_for)})
        await run(connection, "fence_share", {"fence": self._place.fence})

    async def load(
        self, connection: Connection, wanted: Wanted, *, wait_for: float | None
    ) -> Loaded:
        """Begin a transaction, lock what is wanted, read it. Raises psycopg.Error."""
        gathered = Gathered()
        ids = self.leftovers.take(wanted.ids)
        gathered.offer_ids(ids)
        async with connection.pipeline():
            await self.begin(connection, wait_for=wait_for)
            locks = await self._lock(connection, wanted, waits=wait_for is not None)
            if wanted.items:
                locks |= await self._lock_items(connection, wanted, wait_for=wait_for)
            epoch_read = await run(connection, "epoch_read")
            reads = await self._read(connection, wanted, ids=wanted.ids - len(ids))
        await _gather(gathered, wanted, locks=locks, reads=reads)
        epoch, xid = await _row(epoch_read)
        return Loaded(gathered, epoch, xid)

    async def fetch(
        self, connection: Connection, gathered: Gathered, need: Need, *, waits: bool = False
    ) -> None:
        """Bring what a decision needs on top, in the same transaction. Raises psycopg.Error."""
        wanted = Wanted(tokens=need.tokens, tasks=need.tasks, flows=need.flows, ids=need.ids)
        wanted.new = sorted(need.free)
        ids = self.leftovers.take(need.ids)
        gathered.offer_ids(ids)
        async with connection.pipeline():
            # The family is locked already, and ids of children are not reserved: a thousand of them would
            # fill the server's table of locks. Should another start take one meanwhile, `tokens_add` meets
            # it, nothing is committed, and the command is decided anew.
            reads = await self._read(connection, wanted, ids=need.ids - len(ids))
            held = await run(connection, "held_read", {"root": need.root}) if need.held else None
            if need.items_of:
                tasks = {"tasks": list(need.items_of)}
                locked = await run(connection, "locks_wait" if waits else "locks_lock", tasks)
                locks = await run(connection, "locks_read", tasks)
                reads |= {"locked": locked, "locks": locks}
        await _gather(gathered, wanted, locks={}, reads=reads)
        gathered.add_needed_tokens(need)
        if held is not None:
            gathered.add_held(need.root, await held.fetchall())
        if need.items_of:
            locked = await reads["locked"].fetchall()
            gathered.add_locks(need.items_of, await reads["locks"].fetchall(), locked=locked)

    async def _lock(
        self, connection: Connection, wanted: Wanted, *, waits: bool
    ) -> dict[str, Cursor]:
        sent: dict[str, Cursor] = {}
        if wanted.tokens or wanted.tasks:
            name = "families_wait" if waits else "families_lock"
            sent["families"] = await run(connection, name, wanted.families)
        if wanted.new:
            sent["new"] = await self._lock_new(connection, wanted.new, waits=waits)
        if wanted.tasks:
            name = "tasks_wait" if waits else "tasks_lock"
            sent["tasks"] = await run(connection, name, {"tasks": wanted.tasks})
        if wanted.inbox:
            sent["inbox"] = await run(connection, "inbox_lock", {"inbox": wanted.inbox})
        return sent

    async def _lock_items(
        self, connection: Connection, wanted: Wanted, *, wait_for: float | None
    ) -> dict[str, Cursor]:
        keys = rows_text(key_rows(wanted.items))
        if wait_for is not None:
            return {"items": await run(connection, "items_wait", keys)}
        # It waits for nobody's lock, but for those who make the same items; their transactions may stand still.
        await run(connection, "limit_set", {"limit": _milliseconds(MAKES_FOR)})
        locked = await run(connection, "items_lock", keys)
        await run(connection, "limit_set", {"limit": SETTINGS["lock_timeout"]})
        return {"items": locked}

    async def _lock_new(self, connection: Connection, ids: list[str], *, waits: bool) -> Cursor:
        name = "new_ids_wait" if waits else "new_ids_lock"
        return await run(connection, name, {"ids": ids, "seed": self._place.start})

    async def _read(self, connection: Connection, wanted: Wanted, *, ids: int) -> dict[str, Cursor]:
        sent: dict[str, Cursor] = {}
        if wanted.tokens or wanted.tasks:
            sent["families"] = await run(connection, "families_read", wanted.families)
        if wanted.tasks:
            sent["tasks"] = await run(connection, "tasks_read", {"tasks": wanted.tasks})
        if wanted.keys:
            sent["keys"] = await run(connection, "keys_read", rows_text(wanted.keys))
        if wanted.memory_keys:
            values = rows_text(wanted.memory_keys)
            sent["memory_keys"] = await run(connection, "memory_keys_read", values)
        if wanted.flows:
            sent["flows"] = await run(connection, "flows_find", rows_text(wanted.flows))
        if wanted.new:
            sent["new"] = await run(connection, "new_ids_find", {"ids": wanted.new})
        if wanted.inbox:
            sent["inbox"] = await run(connection, "inbox_read", {"inbox": wanted.inbox})
        if ids > 0:
            sent["ids"] = await run(connection, "ids_reserve", {"count": ids})
        return sent


async def _gather(
    gathered: Gathered, wanted: Wanted, *, locks: dict[str, Cursor], reads: dict[str, Cursor]
) -> None:
    """Put the answers of a load or a need into the facts."""
    locked: set[str] | None = None
    if "families" in locks:
        locked = {row[0] for row in await locks["families"].fetchall()}
    unlocked_tokens: set[str] = set()
    unlocked_tasks: set[int] = set()
    if "families" in reads:
        unlocked_tokens = gathered.add_families(await reads["families"].fetchall(), locked=locked)
    if "tasks" in reads:
        read = await reads["tasks"].fetchall()
        unlocked_tasks = gathered.add_tasks(read)
        if "tasks" in locks:
            held = {row[0] for row in await locks["tasks"].fetchall()}
            unlocked_tasks |= {row[0] for row in read if row[0] not in held}
    gathered.add_busy(wanted, tokens=unlocked_tokens, tasks=unlocked_tasks)
    if "keys" in reads:
        gathered.add_keys(wanted, await reads["keys"].fetchall())
    if "memory_keys" in reads:
        gathered.add_memory_keys(wanted, await reads["memory_keys"].fetchall())
    if "flows" in reads:
        gathered.add_flows(wanted, await reads["flows"].fetchall())
    if "new" in reads:
        unreserved: set[str] = set()
        if "new" in locks:
            unreserved = {row[0] for row in await locks["new"].fetchall() if not row[1]}
        found = await reads["new"].fetchall()
        gathered.add_taken(found, asked=wanted.tokens, unreserved=unreserved)
    if "inbox" in reads:
        held = {row[0] for row in await locks["inbox"].fetchall()}
        gathered.add_inbox(await reads["inbox"].fetchall(), locked=held)
    if "items" in locks:
        gathered.add_items(wanted, await locks["items"].fetchall(), all_there=False)
    if "ids" in reads:
        gathered.offer_ids([row[0] for row in await reads["ids"].fetchall()])


async def _row(cursor: Cursor) -> tuple[Any, ...]:
    row = await cursor.fetchone()
    if row is None:
        raise LookupError("a statement that always answers one row answered none")
    return row


def _milliseconds(seconds: float) -> str:
    # Zero would mean to wait for ever.
    return str(max(1, round(seconds * 1000)))
