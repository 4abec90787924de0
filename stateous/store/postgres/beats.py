"""Heartbeats: one set-wise statement renews all leases, locks no family, and waits for nobody's row."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import psycopg

from stateous.engine.commands import Beat
from stateous.model.refusals import NotServing
from stateous.store.beating import Beating
from stateous.store.postgres.batches import check_held
from stateous.store.postgres.faults import not_committed, roll_back
from stateous.store.postgres.hold import Hold
from stateous.store.postgres.load import Load, run
from stateous.store.postgres.seats import Seats
from stateous.store.serving import NOT_SERVING
from stateous.store.store import Beaten


class Beats:
    """Runs heartbeats on their own connection."""

    def __init__(self, hold: Hold, load: Load, *, seats: Seats) -> None:
        self._hold = hold
        self._load = load
        self._seats = seats

    async def renew(
        self, beats: Sequence[Beat], *, now: datetime, leased_until: datetime
    ) -> list[Beaten]:
        """As Store.tasks_beat. A beat whose COMMIT was lost may be sent again: it only renews."""
        check_held(self._hold)
        beating = Beating(beats)
        if not beating.rows:
            return beating.answers(())
        values = {
            **beating.values(now=now, leased_until=leased_until),
            "epoch": self._hold.epoch,
        }
        async with self._seats.taken() as connection:
            try:
                async with connection.pipeline():
                    await self._load.begin(connection)
                    answered = await run(connection, "tasks_beat", values)
                    await connection.execute("commit")
            except psycopg.Error as error:
                refused = not_committed(error, connection)
                await roll_back(connection)
                raise refused from None
            rows = await answered.fetchall()
        if not rows:
            self._hold.lose()
            raise NotServing(NOT_SERVING)
        return beating.answers(rows)
