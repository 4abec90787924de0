"""Opens a schema: takes the hold, makes the tables, and begins an epoch of its own or joins the one of its equals."""

from __future__ import annotations

import asyncio
from datetime import datetime

import psycopg
import structlog

from stateous.store.migrate import is_up_to_date, known_versions, why_not_served
from stateous.store.postgres.hold import Hold
from stateous.store.postgres.holders import holders_of, names_renew
from stateous.store.postgres.load import run
from stateous.store.postgres.session import Place, reason_of
from stateous.store.postgres.tables import check_room, check_tables, make_tables, version_of
from stateous.store.serving import (
    NO_ROW,
    TAKEN_MEANWHILE,
    Candidate,
    Mode,
    OnRecord,
    alone_sentence,
    names_alive,
    older_replicas_sentence,
    replicas_sentence,
    serving_sentence,
    why_not_first,
    why_not_join,
)
from stateous.store.store import CannotOpen

_TRIES = 5
_REST = 0.2
_TWO = 2

WAITS_FOR = 0.5
"""How long a control plane that waits for the hold rests between two tries (seconds).

It does not queue up for the lock: who waits in the server's queue keeps replicas from sharing it, and may be given
it long after it was cut off.
"""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Opening:
    """How one control plane comes to serve a schema. Without a candidate no graph is looked at or recorded.

    One that does not migrate serves tables of the newest version only, and makes none.
    """

    def __init__(
        self,
        place: Place,
        hold: Hold,
        *,
        mode: Mode,
        candidate: Candidate | None,
        migrates: bool,
    ) -> None:
        self._place = place
        self._hold = hold
        self._mode: Mode = mode
        self._candidate = candidate
        self._migrates = migrates
        self._waits = False

    async def run(self) -> None:
        """Return when the schema is served by us. Raises psycopg.Error, CannotOpen."""
        if not await self._take():
            await self._begin()
            if self._mode == "replica":
                await self._hold.share()

    # -- the hold -------------------------------------------------------------------------------------------

    async def _take(self) -> bool:
        """Take the hold; whether we share it with others, whose epoch is ours, too."""
        tries = 0
        while True:
            joined = await self._try()
            if joined is not None:
                return joined
            tries += 1
            if self._mode != "standby" and tries >= _TRIES and not await self._others_come():
                raise CannotOpen(await self._who_serves())
            # Who was killed a moment ago has the hold until the server notices.
            await asyncio.sleep(WAITS_FOR if self._waits else _REST)

    async def _try(self) -> bool | None:
        """Whether we joined others; None when we may not have the hold."""
        try:
            if await self._hold.try_take():
                return False
            if self._mode == "replica" and await self._hold.try_take(shared=True):
                return await self._join() or None
            if self._mode == "standby" and not self._waits:
                self._waits = True
                await self._look_ahead()
        except psycopg.Error as error:
            # Who waits already goes on waiting while the server is away.
            if not self._waits:
                raise
            log.warning("hold.not_tried", reason=reason_of(error))
        return None

    async def _look_ahead(self) -> None:
        """Say for whom we wait, and what would keep us from serving. Raises CannotOpen if nothing can change that."""
        log.info("hold.waits", reason=await self._who_serves())
        if self._is_newest(await version_of(self._hold.connection, self._place.schema)):
            reason = await self._why_not_first()
            if reason is not None:
                log.warning("hold.would_be_refused", reason=reason)

    async def _others_come(self) -> bool:
        if self._mode != "replica":
            return False
        return (await holders_of(self._hold.connection, self._place)).come

    async def _who_serves(self) -> str:
        """The sentence that says who has the hold."""
        connection = self._hold.connection
        holders = await holders_of(connection, self._place)
        serving, since = "", None
        if await version_of(connection, self._place.schema) is not None:
            cursor = await run(connection, "graph_read")
            row = await cursor.fetchone()
            if row is not None:
                # Who was killed is on record until somebody else writes there.
                serving, since = ", ".join(names_alive(row[2], holders.ids)), row[3]
        if holders.share:
            return replicas_sentence(serving, since)
        if self._mode == "replica":
            return alone_sentence(serving, since)
        return serving_sentence(serving, since)

    # -- alone, or the first --------------------------------------------------------------------------------

    async def _begin(self) -> None:
        hold = self._hold
        version = await version_of(hold.connection, self._place.schema)
        is_newest = self._is_newest(version)
        if version is None:
            await check_room(hold.connection)
        elif not is_newest:
            # Whoever served with the older tables, and may not know yet that it lost the hold, must not
            # write while they are altered.
            await hold.raise_epoch()
        if not is_newest:
            await make_tables(self._place, hold.connection)
        await check_tables(hold.connection)
        reason = await self._why_not_first()
        if reason is not None:
            raise CannotOpen(reason)
        if not hold.is_held:
            await hold.raise_epoch()
        await self._record()

    def _is_newest(self, version: str | None) -> bool:
        """Whether nothing is to be made. Raises CannotOpen when something is, and it is not ours to make."""
        if not self._migrates and (reason := why_not_served(version)) is not None:
            raise CannotOpen(reason)
        return is_up_to_date(version)

    async def _why_not_first(self) -> str | None:
        if self._candidate is None:
            return None
        return why_not_first(self._candidate, await self._on_record())

    async def _record(self) -> None:
        candidate = self._candidate
        if candidate is None:
            return
        values = {
            "structure": candidate.structure,
            "checksum": candidate.checksum,
            "graph": candidate.graph,
            "serving": candidate.name,
            # People compare it with the server's log; our own clock may be wrong, and is not set yet.
            "since": await self._now(),
            "epoch": self._hold.epoch,
        }
        cursor = await run(self._hold.connection, "graph_write", values)
        if not await cursor.fetchall():
            raise CannotOpen(TAKEN_MEANWHILE)

    async def _now(self) -> datetime:
        (row,) = await (await run(self._hold.connection, "time_read")).fetchall()
        return row[0]

    # -- together with others -------------------------------------------------------------------------------

    async def _join(self) -> bool:
        """Take over the epoch of those who share the hold; False when there is none but us.

        Raises CannotOpen when they serve something else.
        """
        if len((await holders_of(self._hold.connection, self._place)).ids) < _TWO:
            # Whoever had it has gone since we asked for it alone: we can be the first.
            await self._hold.give_up()
            return False
        reason, epoch = await self._why_not_join()
        if reason is not None:
            raise CannotOpen(reason)
        self._hold.adopt_epoch(epoch)
        if self._candidate is not None:
            await names_renew(self._hold, self._place, own=self._candidate.name)
        return True

    async def _why_not_join(self) -> tuple[str | None, int]:
        version = await version_of(self._hold.connection, self._place.schema)
        if not is_up_to_date(version):
            return older_replicas_sentence(version or "none", known_versions()[-1]), 0
        on_record = await self._on_record()
        if self._candidate is None:
            return None, on_record.epoch
        return why_not_join(self._candidate, on_record), on_record.epoch

    async def _on_record(self) -> OnRecord:
        connection = self._hold.connection
        row = await (await run(connection, "graph_read")).fetchone()
        if row is None:
            raise CannotOpen(NO_ROW)
        live = await (await run(connection, "live_find")).fetchall()
        return OnRecord(
            structure=row[0],
            checksum=row[1],
            serving=row[2],
            since=row[3],
            epoch=row[4],
            live_tokens=bool(live),
        )
