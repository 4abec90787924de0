"""Empties the inbox: what programs asked for by SQL goes through the token lane, each row once and in its turn."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

import structlog

from stateous.control.bell import Bell
from stateous.control.inbox_rows import command_of
from stateous.control.lane import TokenLane
from stateous.engine.commands import FromInbox, Unreadable
from stateous.engine.inbox import instead_of
from stateous.model.refusals import DatabaseBusy, NotServing, Refusal, StateousError, Unexpected
from stateous.store.store import InboxRow, OutcomeUnknown, Store

LOOK_EVERY = 5.0
"""How long it sleeps at most (seconds): whoever put something in tells of it, but that may be lost."""

TRIED_AGAIN_AFTER = 1.0
"""How long it sleeps when something was left (seconds)."""

MOST_AT_ONCE = 200
MOST_BYTES = 8 * 1024 * 1024
PATIENCE = 0.25
MOST_ON_THEIR_WAY = 1000
FAILURES_BEFORE_REFUSED = 3

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Inbox:
    """Looks into the inbox when it is woken, and now and then; only while this control plane runs the clock.

    The database says what is pending, so nothing is lost with this process, and nothing here is remembered
    but which rows are on their way, and which ones failed. Rows of a token that is locked elsewhere are long
    on their way; the others go on without them.
    """

    def __init__(self, store: Store, lane: TokenLane) -> None:
        self._store = store
        self._lane = lane
        self._woken = Bell()
        self._turn = asyncio.Lock()
        self._on_their_way: dict[int, tuple[str, asyncio.Task[bool]]] = {}
        self._failures: Counter[int] = Counter()

    def wake(self) -> None:
        """Look now: something was put into the inbox, here or by a process that told of it."""
        self._woken.ring()

    async def run(self) -> None:
        """Empty it until cancelled; what fails is logged, and tried again."""
        while True:
            is_empty = False
            try:
                is_empty = not await self._store.clock_try() or await self.empty()
            except StateousError as fault:
                log.warning("inbox.not_read", reason=str(fault))
            except Exception:
                log.exception("inbox.failed")
            # Silent before the look: what comes during it is looked for once more.
            await self._woken.heard(within=LOOK_EVERY if is_empty else TRIED_AGAIN_AFTER)

    async def empty(self) -> bool:
        """Have everything decided that is pending now; whether nothing was left, or is still on its way.

        Raises DatabaseBusy.
        """
        async with self._turn:
            return await self._empty()

    async def _empty(self) -> bool:
        passed: set[str] = set()
        while len(self._on_their_way) < MOST_ON_THEIR_WAY:
            passed.update(place for place, _ in self._on_their_way.values())
            rows = await self._store.inbox_look(passed=passed, limit=MOST_AT_ONCE, size=MOST_BYTES)
            if not rows:
                break
            settled = await self._decide(rows)
            # What was not settled is tried at the next look, and everything behind it waits for it.
            passed.update(row.place for row in rows if row.row not in settled)
        if not passed:
            self._failures.clear()
        return not passed

    async def _decide(self, rows: Sequence[InboxRow]) -> set[int]:
        """Those of the rows that are settled, after all have been, or nothing came back for a while."""
        # One that failed goes alone, so that no other row has its fault.
        alone = [row for row in rows if self._failures[row.row]]
        settled = await self._submit([row for row in rows if not self._failures[row.row]])
        for row in alone:
            settled |= await self._submit([row])
        return settled

    async def _submit(self, rows: Sequence[InboxRow]) -> set[int]:
        loop = asyncio.get_running_loop()
        sent: dict[asyncio.Task[bool], int] = {}
        for row in rows:
            task = loop.create_task(self._settle(row))
            self._on_their_way[row.row] = row.place, task
            sent[task] = row.row
        settled: set[int] = set()
        pending = set(sent)
        while pending:
            done, pending = await asyncio.wait(
                pending, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED
            )
            if not done:
                # What waits behind them in the inbox is looked for when they come back.
                for task in pending:
                    task.add_done_callback(lambda _: self.wake())
                break
            settled.update(sent[task] for task in done if task.result())
        return settled

    async def _settle(self, row: InboxRow) -> bool:
        """Whether the row is settled now, or was already."""
        command = command_of(row)
        try:
            await self._lane.submit(self._tried(command), size=row.size)
        except (DatabaseBusy, NotServing) as refusal:
            log.warning("inbox.put_off", row=row.row, token=row.token, reason=str(refusal))
            return False
        except Unexpected as refusal:
            # Whether it was done is known to the database: the next look finds the row, or does not.
            self._failures[row.row] += not isinstance(refusal.__cause__, OutcomeUnknown)
            log.warning("inbox.failed", row=row.row, token=row.token, reason=str(refusal))
            return False
        except Refusal as refusal:
            log.info("inbox.refused", row=row.row, token=row.token, code=refusal.code)
        finally:
            del self._on_their_way[row.row]
        if isinstance(command.asked, Unreadable):
            log.info("inbox.refused", row=row.row, token=row.token, code=command.asked.code)
        return True

    def _tried(self, command: FromInbox) -> FromInbox:
        """The command, or its refusal once it has failed too often."""
        if self._failures[command.row] < FAILURES_BEFORE_REFUSED:
            return command
        refusal = Unexpected("the control plane failed on this row; its log says how")
        return instead_of(command, refusal) or command
