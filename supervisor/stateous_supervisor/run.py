"""One attempt of one task: the routine runs, and its end is reported."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Literal

from stateous.client.answers import Grant
from stateous_supervisor.attempt import Attempt, End
from stateous_supervisor.fates import Fate
from stateous_supervisor.log import Log
from stateous_supervisor.mailbox import Mailbox
from stateous_supervisor.process import InProcess
from stateous_supervisor.routine import Routine
from stateous_supervisor.ways import InThread, OnLoop, Way


class Run:
    """`running` until the report is written; `lost` once the control plane gave the task to nobody or another.

    `begun` is the monotonic clock when it began.
    """

    def __init__(
        self, grant: Grant, routine: Routine, *, name: str, mailbox: Mailbox, log: Log
    ) -> None:
        self.task = grant.task
        self.grant = grant
        self.begun = monotonic()
        self.running = True
        self.lost = False
        self._named = f"task {grant.task} of {grant.token}"
        self._fields = {"task": grant.task, "token": grant.token}
        self._mailbox = mailbox
        self._log = log
        self._attempt = Attempt(grant, routine, name=name, write=self._write)
        self._way: Way
        if routine.isolate:
            self._way = InProcess(grant, name=name, write=self._write)
        else:
            self._way = OnLoop() if routine.awaited else InThread()

    async def work(self, *, changed: Callable[[], None]) -> None:
        """Run the routine, report its outcome. `changed` is called when the routine does not run any more."""
        ending = self._begin()
        self._mailbox.ended.add_done_callback(self._delivered)
        try:
            await asyncio.wait([ending])
            self.running = False
            changed()
            if self.lost:
                return
            end = self._end(ending)
            if end.traceback is not None:
                self._say_raised(end.traceback)
            self._mailbox.write("report", end.report)
            await self._mailbox.ended
        finally:
            if self._way.stop() and not ending.done():
                await asyncio.wait([ending])

    def lose(self) -> None:
        """The control plane took the task back. Once the routine ended, the report's answer says so."""
        if self.lost or not self.running:
            return
        self.lost = True
        self._mailbox.drop()
        self._log.warning(
            f"{self._named}: the control plane took it back; {self._way.stopping}",
            kind="task.lost",
            **self._fields,
        )
        self._way.stop()

    def _begin(self) -> asyncio.Future[End]:
        try:
            return self._way.begin(self._attempt, name=self._named)
        except Exception as problem:  # noqa: BLE001 - such as no thread that can be started
            ended: asyncio.Future[End] = asyncio.get_running_loop().create_future()
            ended.set_result(self._attempt.raised(problem))
            return ended

    def _end(self, ending: asyncio.Future[End]) -> End:
        """The end, also of a routine whose task on the loop was cancelled before it began."""
        if ending.cancelled():
            return self._attempt.raised(asyncio.CancelledError())
        return ending.result()

    def _delivered(self, ended: asyncio.Future[Fate]) -> None:
        if not ended.cancelled() and ended.result() is Fate.LOST:
            self.lose()

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
