"""The heartbeat: says each quarter of a lease which tasks are worked on, and hears which were taken back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from stateous.client import calls
from stateous.model.refusals import Refusal
from stateous_supervisor.link import GaveUp, Link
from stateous_supervisor.log import Log
from stateous_supervisor.run import Run

EVERY: Final = 30.0
"""Seconds between heartbeats when the control plane does not say how long a lease is."""


class Heartbeat:
    """Beats for the runs that `held` returns, until it is cancelled."""

    def __init__(
        self,
        link: Link,
        *,
        name: str,
        lease_for: float | None,
        held: Callable[[], Sequence[Run]],
        last_call: asyncio.Event,
        log: Log,
    ) -> None:
        self._link = link
        self._name = name
        self._every = EVERY if lease_for is None else lease_for / 4
        self._held = held
        self._last_call = last_call
        self._log = log

    async def beat_on(self) -> None:
        while True:
            await asyncio.sleep(self._every)
            try:
                await self._beat()
            except GaveUp:
                return
            except Refusal as refusal:
                self._log.warning(f"the control plane refused a heartbeat: {refusal.sentence}")
            except Exception as problem:  # noqa: BLE001 - the next heartbeat must come all the same
                self._log.error("a heartbeat failed", exc_info=problem)

    async def _beat(self) -> None:
        runs = self._held()
        if not runs:
            return
        tasks = [run.task for run in runs]
        answer = await self._link.ask(calls.beat(self._name, tasks), until=self._last_call)
        lost = set(answer.lost)
        for run in runs:
            if run.task in lost:
                run.lose()
