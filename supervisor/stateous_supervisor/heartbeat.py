"""The heartbeat: a thread that says which tasks are worked on, and hears which were taken back.

It has a connection of its own and needs nothing of the loop: a routine may block the loop, or compute in Python,
for as long as it likes, and keeps its lease. Only code that keeps Python's lock keeps the heartbeat, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event, Thread
from typing import Final, Protocol

from stateous.client import Client, calls
from stateous.client.answering import sentence_of
from stateous.client.errors import Again, NotStateous
from stateous.client.patience import TRY_FOR, nominal_wait, spread
from stateous.model.refusals import Refusal
from stateous_supervisor.log import Log
from stateous_supervisor.outage import Outage
from stateous_supervisor.run import Run

BEATS: Final = 4
"""Heartbeats for which a lease has time."""
LEASE_FOR: Final = 120.0
"""Seconds of a lease when the control plane does not say."""
MOST: Final = 1000
"""Tasks that one request may name."""
SHORTEST_TRY: Final = 2.0
"""Seconds that a heartbeat may take, however short a lease is."""


class Between(Protocol):
    """What is done with the heartbeat's connection after a heartbeat, within so many seconds."""

    def __call__(self, client: Client, /, *, within: float) -> None: ...


class Heartbeat:
    """Beats each quarter of a lease, from `start` to `stop`.

    `held` returns the runs whose tasks are worked on, `lost` is told those whose tasks are not ours any more,
    `between` is called after each heartbeat, with the seconds that it may take, `ended` at the end; all of them in
    the thread. The log has what goes wrong.
    """

    def __init__(
        self,
        client: Client,
        *,
        name: str,
        held: Callable[[], Sequence[Run]],
        lost: Callable[[Sequence[Run]], None],
        ended: Callable[[], None],
        between: Between,
        outage: Outage,
        log: Log,
    ) -> None:
        self._client = client
        self._name = name
        self._held = held
        self._lost = lost
        self._ended = ended
        self._between = between
        self._outage = outage
        self._log = log
        self._every = LEASE_FOR / BEATS
        self._tries = 0
        self._again_in: float | None = None
        self._changed = Event()
        self._stopped = False
        self._thread = Thread(target=self._beat_on, name="heartbeat", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Beat no more. A heartbeat that is under way ends by itself."""
        self._stopped = True
        self._changed.set()

    def lease_lasts(self, seconds: float | None) -> None:
        """From now on, leases last so long; None: the control plane does not say."""
        every = (LEASE_FOR if seconds is None else seconds) / BEATS
        if every != self._every:
            self._every = every
            self._changed.set()

    def _beat_on(self) -> None:
        with self._client:
            while not self._stopped:
                wait = self._every if self._again_in is None else self._again_in
                if self._changed.wait(min(wait, self._every)):
                    self._changed.clear()  # it is to stop, or to beat at another pace
                else:
                    self._again_in = self._beat()
        self._ended()

    def _beat(self) -> float | None:
        """One heartbeat; returns in how many seconds to try again when there was no answer."""
        tell_end = self._outage.answered
        try:
            held = self._held()
            for first in range(0, len(held), MOST):
                self._beat_for(held[first : first + MOST])
            if not held:
                tell_end = self._outage.forget
            self._between(self._client, within=self._try_for())
        except Again as again:
            return self._failed(sentence_of(again, shown=self._client.url), again.retry_after)
        except NotStateous as foreign:
            return self._failed(str(foreign), None)
        except Refusal as refusal:
            self._log.warning(
                f"the control plane refused a heartbeat: {refusal.sentence}",
                kind="heartbeat.refused",
                code=refusal.code,
            )
        except Exception as problem:  # noqa: BLE001 - the next heartbeat must come all the same
            self._log.error("a heartbeat failed", kind="heartbeat.failed", exc_info=problem)
        if self._tries:
            self._tries = 0
            tell_end(self)
        return None

    def _beat_for(self, runs: Sequence[Run]) -> None:
        call = calls.beat(self._name, {run.task for run in runs})
        lost = set(self._client.send_once(call, within=self._try_for()).lost)
        # Runs, not tasks: a task that was queued again may be ours again by now, in another run.
        if lost:
            self._lost([run for run in runs if run.task in lost])

    def _try_for(self) -> float:
        return min(TRY_FOR, max(SHORTEST_TRY, self._every))

    def _failed(self, why: str, asked: float | None) -> float:
        self._tries += 1
        wait = min(nominal_wait(self._tries, retry_after=asked), self._every)
        self._outage.failed(self, why, wait=wait)
        return spread(wait)
