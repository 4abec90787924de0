"""One attempt of one task: the routine runs, and its end is reported."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Final, Literal

from stateous.client.answers import Grant
from stateous.model.refusals import Refusal
from stateous_supervisor.attempt import Attempt, End, cannot_begin
from stateous_supervisor.checkpoints import Checkpoints
from stateous_supervisor.fates import Fate
from stateous_supervisor.item_desk import ItemDesk
from stateous_supervisor.link import Link
from stateous_supervisor.log import Log
from stateous_supervisor.mailbox import Mailbox
from stateous_supervisor.outcome import failure_of, read_report
from stateous_supervisor.process import InProcess
from stateous_supervisor.routine import Routine
from stateous_supervisor.ways import InThread, OnLoop, Way

FREED_WITHIN: Final = 10.0
"""Seconds in which a handler of the folder may end the locks that an attempt left open."""


class Run:
    """`running` until the report is written; `lost` once the control plane gave the task to nobody or another.

    `begun` is the monotonic clock when it began. `changed` is called when the routine does not run any more,
    `ended` when nothing is left to be done for it, with what the supervisor failed on, if it did. All of it
    happens in callbacks: a task that only waits would cost as much as a small routine.
    """

    def __init__(
        self,
        grant: Grant,
        routine: Routine,
        *,
        name: str,
        mailbox: Mailbox,
        link: Link,
        changed: Callable[[], None],
        ended: Callable[[Run, Exception | None], None],
        log: Log,
    ) -> None:
        self.task = grant.task
        self.grant = grant
        self.begun = monotonic()
        self.running = True
        self.lost = False
        self._stopped = False
        self._named = f"task {grant.task} of {grant.token}"
        self._fields = {"task": grant.task, "token": grant.token}
        self._mailbox = mailbox
        self._changed = changed
        self._ended = ended
        self._log = log
        self._name = name
        self._steps = Checkpoints(grant.task, link=link, lost=self.lose, stale=self._say_stale)
        self._items = ItemDesk(
            grant, supervisor=name, handler=routine.log, link=link, lost=self.lose
        )
        waiting, asking = self._steps.send_and_wait, self._items.ask_and_wait
        is_here = routine.awaited and not routine.isolate
        self._attempt = Attempt(
            grant,
            routine,
            name=name,
            write=self._write,
            send=self._steps.send if is_here else waiting,
            ask=self._items.ask if is_here else asking,
            warn=self._say_ambient,
        )
        self._way: Way
        if routine.isolate:
            self._way = InProcess(
                grant,
                name=name,
                write=self._write,
                send=waiting,
                ask=asking,
                warn=self._say_ambient,
            )
        else:
            self._way = OnLoop() if routine.awaited else InThread()

    def begin(self) -> None:
        """Run the routine, then report its outcome."""
        self._mailbox.ended.add_done_callback(self._delivered)
        self._ending = self._begin()
        self._ending.add_done_callback(self._routine_ended)

    def lose(self) -> None:
        """The control plane took the task back. Once the routine ended, the report's answer says so."""
        if self.lost or not self.running:
            return
        self.lost = True
        self._mailbox.drop()
        self._say_lost(self._way.stopping)
        self._close()
        self._way.stop()

    def stop(self) -> asyncio.Future[End] | None:
        """End the routine for good, as far as that is possible; it is not reported. What to wait for, if anything."""
        self._stopped = True
        self._close()
        return self._ending if self._way.stop() and not self._ending.done() else None

    def _routine_ended(self, ending: asyncio.Future[End]) -> None:
        self.running = False
        self._close()
        if self.lost or self._stopped or not self._items.has_open or self._waits(ending):
            self._finish(ending)
            return
        # Before the report: who comes after it finds the items free.
        self._freeing = asyncio.create_task(self._free_items(), name=f"{self._named}: its items")
        self._freeing.add_done_callback(lambda _: self._finish(ending))

    def _waits(self, ending: asyncio.Future[End]) -> bool:
        return not ending.cancelled() and read_report(ending.result().report).kind == "waiting"

    async def _free_items(self) -> None:
        try:
            async with asyncio.timeout(FREED_WITHIN):
                await self._items.end()
        except Exception as problem:  # noqa: BLE001 - a handler is the user's, and may raise anything
            self._log.warning(
                f"{self._named}: its items stay locked until their time is over: {failure_of(problem).error}",
                kind="items.locked",
                **self._fields,
            )

    def _finish(self, ending: asyncio.Future[End]) -> None:
        problem: Exception | None = None
        try:
            if not self.lost and not self._stopped and self._mailbox.fate is not Fate.LOST:
                self._report(self._end(ending))
        except Exception as raised:  # noqa: BLE001 - it must not stay among the runs for ever
            problem = raised
        self._changed()
        if self.lost or self._stopped or problem is not None or self._mailbox.fate is not None:
            self._ended(self, problem)

    def _report(self, end: End) -> None:
        if end.traceback is not None:
            self._say_raised(end.traceback)
        self._mailbox.write("report", end.report)

    def _close(self) -> None:
        self._steps.close()
        self._items.close()

    def _delivered(self, ended: asyncio.Future[Fate]) -> None:
        if ended.result() is Fate.LOST:
            if not self.running and not self._mailbox.is_answered:
                # Lost by a message before the report, which is forgotten unsent: nobody else says so.
                self._say_lost("its result is ignored")
            self.lose()
        if not self.running and not self.lost:
            self._ended(self, None)

    def _begin(self) -> asyncio.Future[End]:
        ended: asyncio.Future[End] = asyncio.get_running_loop().create_future()
        try:
            end = cannot_begin(self.grant, self._attempt.routine, name=self._name)
            if end is None:
                return self._way.begin(self._attempt, name=self._named)
        except Exception as problem:  # noqa: BLE001 - such as no thread that can be started
            end = self._attempt.raised(problem)
        ended.set_result(end)
        return ended

    def _end(self, ending: asyncio.Future[End]) -> End:
        """The end, also of a routine whose task on the loop was cancelled before it began."""
        if ending.cancelled():
            return self._attempt.raised(asyncio.CancelledError())
        return ending.result()

    def _say_lost(self, consequence: str) -> None:
        self._log.warning(
            f"{self._named}: the control plane took it back; {consequence}",
            kind="task.lost",
            **self._fields,
        )

    def _say_stale(self, refusal: Refusal) -> None:
        self._log.warning(
            f"{self._named}: its routine is stopped: {refusal.sentence}",
            kind="task.stale",
            **self._fields,
        )

    def _say_ambient(self, sentence: str) -> None:
        self._log.warning(f"{self._named}: {sentence}", kind="task.ambient", **self._fields)

    def _say_raised(self, traceback: str) -> None:
        self._log.warning(
            f"{self._named}: its routine raised",
            kind="task.raised",
            traceback=traceback,
            **self._fields,
        )

    def _write(self, kind: Literal["note", "memory"], body: bytes) -> None:
        self._mailbox.write(kind, body).result()


def begins(grant: Grant) -> str:
    """The log line of a grant."""
    return f"task {grant.task}: {grant.state} of {grant.token}, attempt {grant.attempt}"
