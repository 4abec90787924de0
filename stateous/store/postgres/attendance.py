"""Who was heard of: written down on the connection of the heartbeats, which has the time; no decision reads it."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from stateous.model.refusals import NotServing
from stateous.store.postgres.batches import check_held
from stateous.store.postgres.faults import not_committed, roll_back
from stateous.store.postgres.hold import Hold
from stateous.store.postgres.load import BRIEFLY, Load, run
from stateous.store.postgres.seats import Seats
from stateous.store.rows import json_text, seen_row
from stateous.store.serving import NOT_SERVING
from stateous.store.store import FORGOTTEN_AFTER, Seen


class Attendance:
    """Writes who was heard of. The rows are locked by nothing else that anybody waits for."""

    def __init__(self, hold: Hold, load: Load, *, seats: Seats) -> None:
        self._hold = hold
        self._load = load
        self._seats = seats

    async def see(self, seen: Sequence[Seen]) -> None:
        """As Store.supervisors_see."""
        check_held(self._hold)
        values = {"rows": json_text([seen_row(each) for each in seen]), "epoch": self._hold.epoch}
        async with self._seats.taken() as connection:
            try:
                async with connection.pipeline():
                    # Somebody may have locked the table; heartbeats must not wait for that.
                    await self._load.begin(connection, wait_for=BRIEFLY)
                    answered = await run(connection, "supervisors_see", values)
                    await run(connection, "supervisors_forget", {"seconds": FORGOTTEN_AFTER})
                    await connection.execute("commit")
            except psycopg.Error as error:
                refused = not_committed(error, connection)
                await roll_back(connection)
                raise refused from None
            rows = await answered.fetchall()
        if seen and not rows:
            self._hold.lose()
            raise NotServing(NOT_SERVING)
