"""The supervisor's loop: what an earlier run left is sent, then tasks are claimed and run until it is stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from stateous.client import Client
from stateous.client.answers import Grant, Health
from stateous.model.refusals import StateousError
from stateous_supervisor.claiming import Claims
from stateous_supervisor.delivery import Delivery
from stateous_supervisor.folder import Settings
from stateous_supervisor.heartbeat import Heartbeat
from stateous_supervisor.link import Link
from stateous_supervisor.log import Log
from stateous_supervisor.mailbox import Mailbox
from stateous_supervisor.outbox import Outbox
from stateous_supervisor.routine import Routine
from stateous_supervisor.run import Run, begins
from stateous_supervisor.signals import Stop, wait_for_any
from stateous_supervisor.stuck import Stuck

SIGNALS_EVERY: Final = 0.5
CANCEL_FOR: Final = 2.0
"""Seconds for routines to be cancelled, and for what else ends with the supervisor."""


class Supervisor:
    """Claims tasks of the routines' states under the settings' `name`, at most `tasks` at once.

    `check` is given the health of the control plane. When that is not the one that the routines are for, it raises
    the StateousError with which the supervisor is to end.
    """

    def __init__(
        self,
        link: Link,
        outbox: Outbox,
        *,
        settings: Settings,
        routines: Mapping[str, Routine],
        check: Callable[[Health], None],
        stop: Stop,
        log: Log,
    ) -> None:
        self._link = link
        self._outbox = outbox
        self._routines = routines
        self._settings = settings
        self._name = name = settings.name
        self._check = check
        self._outdated: StateousError | None = None
        self._stop = stop
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._runs: dict[Run, None] = {}
        self._signals_at = 0.0
        self._wake = asyncio.Event()
        self._no_more = asyncio.Event()
        # Set when nothing is left to do but to deliver: then nobody is waited for for ever.
        self._last_call = asyncio.Event()
        self._delivery = Delivery(link, outbox, name=name, last_call=self._last_call, log=log)
        self._claims = Claims(
            link,
            name=name,
            states=routines,
            free=self._free,
            start=self._start,
            no_more=self._no_more,
            log=log,
        )
        self._still = asyncio.Event()  # the heartbeat has ended
        self._heartbeat = Heartbeat(
            Client(settings.url),
            name=name,
            held=lambda: [run for run in self.runs if not run.lost],
            lost=lambda runs: self._in_loop(self._lose, runs),
            ended=lambda: self._in_loop(self._still.set),
            between=Stuck(self._claims, name=name, log=log).look,
            outage=link.outage,
            log=log,
        )
        link.when_looked(self._looked)

    @property
    def runs(self) -> tuple[Run, ...]:
        """The tasks that are worked on, from any thread."""
        return tuple(self._runs)

    async def run(self) -> int:
        """Run until a signal; the exit code: 0 when all routines could end, 1 when they were cancelled.

        Raises what `check` raised, when all routines have ended, if that was why.
        """
        served = ", ".join(self._routines)
        self._log.info(
            f"{self._name} serves {served}; the control plane is {self._link.url}",
            kind="supervisor.started",
            supervisor=self._name,
            states=list(self._routines),
            url=self._link.url,
        )
        self._heartbeat.start()
        working = asyncio.create_task(self._work())
        ended = asyncio.Event()
        working.add_done_callback(lambda _: ended.set())
        try:
            await wait_for_any(self._stop.asked, ended)
            # An idle supervisor can be at its end before we come to speak; it says so all the same.
            if self._stop.asked.is_set():
                self._take_no_more()
            await wait_for_any(self._stop.now, ended)
            if ended.is_set():
                await working
                if self._outdated is not None:
                    raise self._outdated
                return 0
            running = self._running()
            self._log.warning(
                f"stopping now: cancelling {running} routine(s)",
                kind="supervisor.stopping_now",
                running=running,
            )
            return 1
        finally:
            await self._end(working)

    async def _work(self) -> None:
        await self._delivery.send_left()
        await self._claims.claim_on()
        self._changed()
        while self._runs:
            self._wake.clear()
            await self._wake.wait()

    def _free(self) -> int:
        """How many tasks may start. Those that wait for the answers to their reports are not counted, up to as many."""
        tasks = self._settings.tasks
        return min(tasks - self._running(), 2 * tasks - len(self._runs))

    def _start(self, grant: Grant) -> None:
        self._log.info(
            begins(grant),
            kind="task.claimed",
            task=grant.task,
            token=grant.token,
            state=grant.state,
            attempt=grant.attempt,
        )
        mailbox = Mailbox(grant.task, grant.token, outbox=self._outbox, delivery=self._delivery)
        run = Run(
            grant,
            self._routines[grant.state],
            name=self._name,
            mailbox=mailbox,
            link=self._link,
            changed=self._changed,
            ended=self._ended,
            log=self._log,
        )
        self._runs[run] = None
        run.begin()

    def _ended(self, run: Run, problem: Exception | None) -> None:
        self._runs.pop(run, None)
        if problem is not None:
            self._log.error(
                f"task {run.task}: the supervisor failed on it",
                kind="task.broken",
                task=run.task,
                exc_info=problem,
            )
        self._keep_the_signals()
        self._changed()

    def _keep_the_signals(self) -> None:
        """Take signals back that a routine has taken. It is looked for now and then, and before the loop rests."""
        now = self._loop.time()
        if self._runs and now < self._signals_at:
            return
        self._signals_at = now + SIGNALS_EVERY
        if self._stop.listen_again():
            self._log.warning(
                "a routine took the signals that stop the supervisor; they are taken back",
                kind="signals.taken",
            )

    def _changed(self) -> None:
        """A run went on, or there will be no more tasks."""
        if self._no_more.is_set() and not self._claims.is_under_way and not self._running():
            self._last_call.set()
        self._claims.look_again()
        self._wake.set()

    def _running(self) -> int:
        return sum(run.running for run in self._runs)

    def _looked(self, health: Health) -> None:
        """The control plane was asked who it is."""
        self._heartbeat.lease_lasts(health.lease_for)
        if self._outdated is not None:
            return
        try:
            self._check(health)
        except StateousError as outdated:
            self._outdated = outdated
            self._log.error(str(outdated), kind="contract.outdated")
            self._take_no_more()

    def _take_no_more(self) -> None:
        running = self._running()
        waits = f"; waiting for {running} routine(s) (signal again to stop now)" if running else ""
        self._log.info(
            f"stopping: no new tasks{waits}", kind="supervisor.stopping", running=running
        )
        self._no_more.set()
        self._changed()

    def _lose(self, runs: Sequence[Run]) -> None:
        for run in runs:
            run.lose()

    def _in_loop(self, call: Callable[..., object], *values: object) -> None:
        """Have this called on the loop, from another thread."""
        with suppress(RuntimeError):  # the loop is closed: nobody needs it any more
            self._loop.call_soon_threadsafe(call, *values)

    async def _end(self, working: asyncio.Task[None]) -> None:
        """Cancel all that still runs; a routine that does not let itself be cancelled is left behind."""
        self._no_more.set()
        self._last_call.set()
        self._heartbeat.stop()
        stopping = [ending for run in self._runs if (ending := run.stop()) is not None]
        # A claim that is under way is withdrawn meanwhile, so that no task has to wait for its lease.
        await asyncio.wait([working, *stopping], timeout=CANCEL_FOR)
        working.cancel()
        self._delivery.stop()
        await asyncio.wait([working], timeout=CANCEL_FOR)
        await wait_for_any(self._still, within=CANCEL_FOR)
