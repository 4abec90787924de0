"""The supervisor's loop: what an earlier run left is sent, then tasks are claimed and run until it is stopped."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from typing import Final

from stateous.client import calls
from stateous.client.answers import Grant
from stateous.model.refusals import Refusal
from stateous_supervisor.delivery import Delivery, Fate
from stateous_supervisor.heartbeat import Heartbeat
from stateous_supervisor.link import GaveUp, Link
from stateous_supervisor.log import Log
from stateous_supervisor.mailbox import Mailbox
from stateous_supervisor.outbox import Message, Outbox
from stateous_supervisor.routine import Routine
from stateous_supervisor.run import Run, begins
from stateous_supervisor.signals import Stop, wait_for_any

EMPTY_FOR: Final = 1.0
REFUSED_FOR: Final = 30.0
CANCEL_FOR: Final = 2.0
"""Seconds: after a claim that found no task, after one that was refused, and for routines to be cancelled."""


class Supervisor:
    """Claims tasks of the routines' states under `name`, at most `tasks` at once."""

    def __init__(
        self,
        link: Link,
        outbox: Outbox,
        *,
        routines: Mapping[str, Routine],
        name: str,
        tasks: int,
        lease_for: float | None,
        stop: Stop,
        log: Log,
    ) -> None:
        self._link = link
        self._outbox = outbox
        self._routines = routines
        self._name = name
        self._tasks = tasks
        self._stop = stop
        self._log = log
        self._runs: dict[asyncio.Task[None], Run] = {}
        self._wake = asyncio.Event()
        # Set when nothing is left to do but to deliver: then nobody is waited for for ever.
        self._last_call = asyncio.Event()
        self._delivery = Delivery(link, outbox, name=name, last_call=self._last_call, log=log)
        self._heartbeat = Heartbeat(
            link,
            name=name,
            lease_for=lease_for,
            held=lambda: [run for run in self._runs.values() if not run.lost],
            last_call=self._last_call,
            log=log,
        )

    async def run(self) -> int:
        """Run until a signal; the exit code: 0 when all routines could end, 1 when they were cancelled."""
        served = ", ".join(self._routines)
        self._log.info(f"{self._name} serves {served}; the control plane is {self._link.url}")
        working = asyncio.create_task(self._work())
        beating = asyncio.create_task(self._heartbeat.beat_on())
        ended = asyncio.Event()
        working.add_done_callback(lambda _: ended.set())
        try:
            await wait_for_any(self._stop.asked, ended)
            # An idle supervisor can be at its end before we come to speak; it says so all the same.
            if self._stop.asked.is_set():
                self._say_stopping()
                self._changed()
            await wait_for_any(self._stop.now, ended)
            if ended.is_set():
                await working
                return 0
            self._log.warning(f"stopping now: cancelling {self._running()} routine(s)")
            return 1
        finally:
            await self._cancel(working, beating)

    async def _work(self) -> None:
        await self._send_left()
        await self._claim_on()
        while self._runs:
            await self._wait_for_change()

    async def _send_left(self) -> None:
        """Send what the outbox held at the start. What stands behind a message that did not go stays."""
        left: dict[int, list[Message]] = {}
        for message in self._outbox.left:
            left.setdefault(message.task, []).append(message)
        if left:
            count = len(self._outbox.left)
            self._log.info(f"sending {count} message(s) left in the outbox")
        for messages in left.values():
            for message in messages:
                if await self._delivery.deliver(message) is Fate.KEPT:
                    self._delivery.stays(messages[-1])
                    break

    async def _claim_on(self) -> None:
        prefix, count = secrets.token_hex(8), 0
        while True:
            while len(self._runs) >= self._tasks and not self._stop.asked.is_set():
                await self._wait_for_change()
            if self._stop.asked.is_set():
                return
            count += 1
            request = f"{prefix}-{count}"
            self._wake.clear()
            try:
                grant = await self._claim(request)
            except GaveUp:
                return
            except Refusal as refusal:
                self._log.warning(f"the control plane refused a claim: {refusal.sentence}")
                await wait_for_any(self._stop.asked, within=REFUSED_FOR)
                continue
            if grant is None:
                await wait_for_any(self._wake, within=EMPTY_FOR)
            else:
                self._start(grant)

    async def _claim(self, request: str) -> Grant | None:
        claim = calls.claim(self._name, self._routines, request)
        grants = await self._link.ask(claim, until=self._stop.asked)
        return grants[0] if grants else None

    def _start(self, grant: Grant) -> None:
        routine = self._routines.get(grant.state)
        if routine is None:
            self._log.error(f"{begins(grant)}: not a state that was asked for; it is left alone")
            return
        self._log.info(begins(grant))
        mailbox = Mailbox(grant.task, grant.token, outbox=self._outbox, delivery=self._delivery)
        run = Run(grant, routine, name=self._name, mailbox=mailbox, log=self._log)
        task = asyncio.create_task(run.work(changed=self._changed))
        self._runs[task] = run
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        run = self._runs.pop(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            self._log.error(f"task {run.task}: the supervisor failed on it", exc_info=problem)
        self._changed()

    def _changed(self) -> None:
        """A run went on, or the supervisor was told to stop."""
        if self._stop.asked.is_set() and not self._running():
            self._last_call.set()
        self._wake.set()

    async def _wait_for_change(self) -> None:
        await self._wake.wait()
        self._wake.clear()

    def _running(self) -> int:
        return sum(run.running for run in self._runs.values())

    def _say_stopping(self) -> None:
        running = self._running()
        waits = f"; waiting for {running} routine(s) (signal again to stop now)" if running else ""
        self._log.info(f"stopping: no new tasks{waits}")

    async def _cancel(self, *tasks: asyncio.Task[None]) -> None:
        """Cancel all that still runs; a routine that does not let itself be cancelled is left behind."""
        pending = [task for task in (*tasks, *self._runs) if not task.done()]
        for task in pending:
            task.cancel()
        if pending:
            await asyncio.wait(pending, timeout=CANCEL_FOR)
