"""Claims: ready tasks are locked, read, granted and saved in one transaction of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import psycopg

from stateous.engine.facts import ClaimAsk, Need
from stateous.store.claiming import (
    SPARES,
    demand_of,
    is_passed_over,
    looks_of,
    queues_left,
    supervisors_of,
    within_reach,
)
from stateous.store.gathering import Gathered
from stateous.store.postgres.batches import check_epoch, check_held, decide
from stateous.store.postgres.faults import not_committed, roll_back
from stateous.store.postgres.hold import Hold
from stateous.store.postgres.load import BRIEFLY, Load, run
from stateous.store.postgres.save import save
from stateous.store.postgres.seats import Seats
from stateous.store.postgres.session import Connection, Place
from stateous.store.store import ClaimBatch
from stateous.store.wanted import rows_text


class Claims:
    """Runs batches of claims on their own connection."""

    def __init__(
        self, place: Place, hold: Hold, load: Load, *, seats: Seats, clock: Callable[[], datetime]
    ) -> None:
        self._place = place
        self._hold = hold
        self._load = load
        self._seats = seats
        self._clock = clock

    async def decide(self, batch: ClaimBatch) -> frozenset[str]:
        """As Store.claims_decide."""
        check_held(self._hold)
        async with self._seats.taken() as connection:
            gathered = Gathered()
            try:
                epoch, xid, looked = await self._read(connection, gathered, batch.asks)
            except psycopg.Error as error:
                refused = not_committed(error, connection)
                await roll_back(connection)
                raise refused from None
            await check_epoch(self._hold, connection, epoch)
            try:
                await decide(
                    batch,
                    gathered.facts,
                    now=self._clock(),
                    connection=connection,
                    fetch=lambda need: self._fetch(connection, gathered, need),
                )
                changes = batch.changes(gathered.facts)
            except BaseException:
                await roll_back(connection)
                raise
            await save(connection, changes, gathered, place=self._place, xid=xid)
            return queues_left(looked, changes)

    async def _read(
        self, connection: Connection, gathered: Gathered, asks: Sequence[ClaimAsk]
    ) -> tuple[int, str, dict[int, str]]:
        """Lock ready tasks, then read them. Also returns the first ready tasks, locked or not, by queue.

        The tasks to read are known only when the locks are held, so this takes two round trips.
        """
        ids, looked = await self._lock(connection, asks)
        supervisors = supervisors_of(asks)
        async with connection.pipeline():
            epoch_read = await run(connection, "epoch_read")
            families, memory, flows = await self._read_tasks(connection, ids)
            remembered = await run(connection, "remembered_read", {"supervisors": supervisors})
        gathered.add_families(await families.fetchall(), locked=None)
        gathered.add_ready(ids)
        gathered.add_memory(ids, await memory.fetchall())
        gathered.add_whole_flows(await flows.fetchall())
        gathered.add_remembered(await remembered.fetchall())
        row = await epoch_read.fetchone()
        epoch, xid = row or (-1, "0")
        return epoch, xid, looked

    async def _lock(
        self, connection: Connection, asks: Sequence[ClaimAsk]
    ) -> tuple[list[int], dict[int, str]]:
        """Begin, and lock ready tasks; they, by id, and the first ready ones, locked or not, by queue.

        Only when others hold the head of a queue, farther than is looked at first, more is looked at, in a
        round trip of its own: however many are busy, whoever stands behind them is found.
        """
        looks = looks_of(asks)
        demand = demand_of(asks, spare=SPARES[0])
        async with connection.pipeline():
            await self._load.begin(connection)
            locking = await run(connection, "ready_lock", rows_text(demand)) if demand else None
            looking = await run(connection, "ready_look", rows_text(looks)) if looks else None
        locked = await locking.fetchall() if locking is not None else []
        looked = {row[0]: row[1] for row in await looking.fetchall()} if looking is not None else {}
        for spare in SPARES[1:]:
            if not is_passed_over(demand, locked, looked):
                break
            demand = demand_of(asks, spare=spare)
            locked = await (await run(connection, "ready_lock", rows_text(demand))).fetchall()
        return within_reach({row[1]: row[2] for row in locked}), looked

    async def _read_tasks(self, connection: Connection, ids: list[int]) -> tuple[Any, Any, Any]:
        families = await run(connection, "families_read", {"tokens": [], "tasks": ids})
        memory = await run(connection, "memory_read", {"tasks": ids})
        flows = await run(connection, "flows_read", {"tasks": ids})
        return families, memory, flows

    async def _fetch(self, connection: Connection, gathered: Gathered, need: Need) -> None:
        """Lock and read what a supervisor was given before; waits briefly, for it is its own."""
        ids = sorted({task for task, _ in need.grants})
        async with connection.pipeline():
            await run(connection, "limit_set", {"limit": str(round(BRIEFLY * 1000))})
            await run(connection, "families_wait", {"tokens": [], "tasks": ids})
            await run(connection, "tasks_wait", {"tasks": ids})
            families, memory, flows = await self._read_tasks(connection, ids)
            tasks = await run(connection, "tasks_read", {"tasks": ids})
        gathered.add_families(await families.fetchall(), locked=None)
        gathered.add_tasks(await tasks.fetchall())
        gathered.add_memory(ids, await memory.fetchall())
        gathered.add_whole_flows(await flows.fetchall())
