"""Decide a batch in one transaction: load, decide, fetch what it needs, decide again, save."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Protocol

import psycopg

from stateous.engine.changes import Changes
from stateous.engine.facts import Facts, Need
from stateous.model.refusals import NotServing
from stateous.store.postgres.faults import not_committed, roll_back
from stateous.store.postgres.hold import Hold
from stateous.store.postgres.load import Load, Loaded
from stateous.store.postgres.save import save
from stateous.store.postgres.seats import Seats
from stateous.store.postgres.session import Connection, Place
from stateous.store.serving import NOT_SERVING
from stateous.store.store import Batch, ItemsBusy
from stateous.store.wanted import wanted_by

_LOCK_NOT_AVAILABLE = "55P03"


class Decided(Protocol):
    """What a batch of commands and a batch of claims have in common."""

    def decide(self, facts: Facts, now: datetime) -> None: ...

    def changes(self, facts: Facts) -> Changes: ...


class Batches:
    """Runs batches of commands on their own connections."""

    def __init__(
        self,
        place: Place,
        hold: Hold,
        load: Load,
        *,
        seats: Seats,
        waiting_seats: Seats,
        clock: Callable[[], datetime],
    ) -> None:
        self._place = place
        self._hold = hold
        self._load = load
        self._seats = seats
        self._waiting_seats = waiting_seats
        self._clock = clock

    async def decide(self, batch: Batch, *, wait_for: float | None) -> None:
        """As Store.batch_decide."""
        check_held(self._hold)
        seats = self._seats if wait_for is None else self._waiting_seats
        async with seats.taken() as connection:
            loaded = await self._begin(connection, batch, wait_for=wait_for)
            gathered = loaded.gathered
            try:
                await decide(
                    batch,
                    gathered.facts,
                    now=self._clock(),
                    connection=connection,
                    fetch=lambda need: self._load.fetch(
                        connection, gathered, need, waits=wait_for is not None
                    ),
                )
                changes = batch.changes(gathered.facts)
            except BaseException:
                await roll_back(connection)
                raise
            if await save(connection, changes, gathered, place=self._place, xid=loaded.xid):
                # A server that crashes forgets the numbers that no commit brought to disk, and hands
                # them out again: those of a batch that wrote nothing are not used.
                self._load.leftovers.give_back(gathered.facts.ids, last=gathered.last_id)

    async def _begin(
        self, connection: Connection, batch: Batch, *, wait_for: float | None
    ) -> Loaded:
        wanted = wanted_by(batch.asks)
        try:
            loaded = await self._load.load(connection, wanted, wait_for=wait_for)
        except psycopg.Error as error:
            refused = not_committed(error, connection)
            await roll_back(connection)
            if wanted.items and wait_for is None and error.sqlstate == _LOCK_NOT_AVAILABLE:
                raise ItemsBusy(str(refused)) from None
            raise refused from None
        await check_epoch(self._hold, connection, loaded.epoch)
        return loaded


def check_held(hold: Hold) -> None:
    """Raise NotServing when the hold is lost."""
    if not hold.is_held:
        raise NotServing(NOT_SERVING)


async def check_epoch(hold: Hold, connection: Connection, epoch: int) -> None:
    """Raise NotServing, and end the transaction, when the epoch that was read is not ours."""
    if epoch != hold.epoch:
        await roll_back(connection)
        hold.lose()
        raise NotServing(NOT_SERVING)


async def decide(
    batch: Decided,
    facts: Facts,
    *,
    now: datetime,
    connection: Connection,
    fetch: Callable[[Need], Awaitable[None]],
) -> None:
    """Decide until nothing more is needed, with one time for all. Raises NotCommitted."""
    while True:
        try:
            batch.decide(facts, now)
        except Need as need:
            try:
                await fetch(need)
            except psycopg.Error as error:
                raise not_committed(error, connection) from None
        else:
            return
