"""One attempt of one task: the routine runs, and its end is reported."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import Future
from inspect import isawaitable
from threading import Thread
from typing import Literal

from stateous.client.answers import Grant
from stateous_supervisor.context import RunContext
from stateous_supervisor.delivery import Fate
from stateous_supervisor.log import Log
from stateous_supervisor.mailbox import Mailbox
from stateous_supervisor.outcome import Outcome, failure_of, outcome_of, report_body
from stateous_supervisor.routines import Routine


class Run:
    """`running` until the report is written; `lost` once the control plane gave the task to nobody or another."""

    def __init__(
        self, grant: Grant, routine: Routine, *, name: str, mailbox: Mailbox, log: Log
    ) -> None:
        self.task = grant.task
        self.running = True
        self.lost = False
        self._grant = grant
        self._routine = routine
        self._name = name
        self._mailbox = mailbox
        self._log = log
        self._context = RunContext(grant, write=self._write)
        self._ending: asyncio.Future[Outcome] | None = None

    async def work(self, *, changed: Callable[[], None]) -> None:
        """Run the routine, report its outcome. `changed` is called when the routine does not run any more."""
        self._ending = self._begin()
        delivering = asyncio.create_task(self._mailbox.deliver())
        delivering.add_done_callback(self._delivered)
        try:
            await asyncio.wait([self._ending])
            self.running = False
            changed()
            if self.lost:
                return
            self._mailbox.write("report", self._report(self._ending.result()))
            if await delivering is Fate.KEPT:
                self._mailbox.say_what_stays()
        finally:
            self._ending.cancel()
            delivering.cancel()

    def lose(self) -> None:
        """The control plane took the task back. Once the routine ended, the report's answer says so."""
        if self.lost or not self.running or self._ending is None:
            return
        self.lost = True
        self._mailbox.drop()
        ending = "cancelling its routine" if self._routine.awaited else "its result is ignored"
        self._log.warning(f"{self._named}: the control plane took it back; {ending}")
        if self._routine.awaited:
            self._ending.cancel()

    @property
    def _named(self) -> str:
        return f"task {self._grant.task} of {self._grant.token}"

    def _delivered(self, delivering: asyncio.Task[Fate]) -> None:
        ended_well = not delivering.cancelled() and delivering.exception() is None
        if ended_well and delivering.result() is Fate.LOST:
            self.lose()

    def _begin(self) -> asyncio.Future[Outcome]:
        if self._routine.awaited:
            return asyncio.create_task(self._awaited(), name=self._named)
        ended: Future[Outcome] = Future()
        ended.set_running_or_notify_cancel()  # a thread cannot be cancelled, and may always set a result
        # A daemon: a routine that hangs must not keep a supervisor that was told to stop now.
        work = contextvars.copy_context().run
        thread = Thread(target=work, args=(self._in_thread, ended), name=self._named, daemon=True)
        thread.start()
        return asyncio.wrap_future(ended)

    async def _awaited(self) -> Outcome:
        try:
            result = self._routine.function(self._context)
            if isawaitable(result):
                result = await result
        except GeneratorExit:
            raise
        except BaseException as problem:  # SystemExit ends a routine, not the supervisor
            task = asyncio.current_task()
            if isinstance(problem, asyncio.CancelledError) and task and task.cancelling():
                raise
            return self._failure(problem)
        return self._outcome(result)

    def _in_thread(self, ended: Future[Outcome]) -> None:
        try:
            result = self._routine.function(self._context)
        except BaseException as problem:  # noqa: BLE001 - as above
            ended.set_result(self._failure(problem))
        else:
            ended.set_result(self._outcome(result))

    def _outcome(self, result: object) -> Outcome:
        return outcome_of(result, state=self._routine.state, where=self._routine.where)

    def _failure(self, problem: BaseException) -> Outcome:
        if not self.lost:
            if (
                problem.__traceback__ is not None
            ):  # the first line is the call above, not the user's
                problem.__traceback__ = problem.__traceback__.tb_next
            self._log.warning(f"{self._named}: its routine raised", exc_info=problem)
        return failure_of(problem)

    def _report(self, outcome: Outcome) -> bytes:
        return report_body(
            outcome,
            context=self._context.changes,
            schedules=self._context.schedules,
            attempt=self._grant.attempt,
            supervisor=self._name,
        )

    def _write(self, kind: Literal["note", "memory"], body: bytes) -> None:
        self._mailbox.write(kind, body).result()


def begins(grant: Grant) -> str:
    """The log line of a grant."""
    return f"task {grant.task}: {grant.state} of {grant.token}, attempt {grant.attempt}"
