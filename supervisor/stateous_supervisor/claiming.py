"""Claims: asks the control plane for as many tasks as there is room for, one request at a time."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from time import monotonic
from typing import Final

from stateous.client import calls
from stateous.client.answers import Grant
from stateous.model.refusals import MethodNotAllowed, NotFound, Refusal
from stateous_supervisor.link import GaveUp, Link
from stateous_supervisor.log import Log
from stateous_supervisor.signals import wait_for_any

WAIT: Final = 30.0
"""Seconds that a claim waits at the control plane for a task; proxies cut what is silent for 60."""
EMPTY_FOR: Final = 1.0
"""Seconds between two claims that get nothing, whoever does not wait."""
REFUSED_FOR: Final = 30.0
LOOK_EVERY: Final = 30.0
"""Seconds after which the control plane's health is looked at before the next claim."""
WITHDRAWN_WITHIN: Final = 1.0
WITHDRAWALS: Final = 3
"""A claim that is withdrawn is answered soon; if not, the request to end it overtook it, and is sent again."""


class Claims:
    """Claims under `name` until `no_more` is set. `free` says how many tasks may start, `start` takes them.

    One claim is under way at a time: the control plane remembers a supervisor's last one, so that it can be
    asked again when its answer was lost. It asks for what is free when it is sent; if more gets free while
    it waits, the next one asks for that, as soon as there is a task at all.
    """

    def __init__(
        self,
        link: Link,
        *,
        name: str,
        states: Collection[str],
        free: Callable[[], int],
        start: Callable[[Grant], None],
        no_more: asyncio.Event,
        log: Log,
    ) -> None:
        self._link = link
        self._name = name
        self._states = states
        self._free = free
        self._start = start
        self._no_more = no_more
        self._log = log
        self.is_under_way = False
        self._changed = asyncio.Event()
        self._run = secrets.token_hex(8)
        self._count = 0

    def look_again(self) -> None:
        """There may be room for a task now."""
        self._changed.set()

    async def claim_on(self) -> None:
        while not self._no_more.is_set():
            self._changed.clear()
            free = self._free()
            if free < 1:
                await wait_for_any(self._changed, self._no_more)
                continue
            await self._link.look_again(after=LOOK_EVERY, until=self._no_more)
            if self._no_more.is_set():
                return
            begun_at = monotonic()
            try:
                grants = await self._claim(free)
            except Refusal as refusal:
                self._say(f"the control plane refused a claim: {refusal.sentence}", refusal)
                await wait_for_any(self._no_more, within=REFUSED_FOR)
                continue
            strangers = [grant.task for grant in grants if grant.state not in self._states]
            for grant in grants:
                if grant.state in self._states:
                    self._start(grant)
            if strangers:
                await self._give_back(tasks=strangers)
            if len(grants) == len(strangers):
                rest = begun_at + EMPTY_FOR - monotonic()
                if rest > 0:
                    await wait_for_any(self._changed, self._no_more, within=rest)

    async def _claim(self, most: int) -> Sequence[Grant]:
        """The tasks of one claim that are to be run. Raises Refusal."""
        self._count += 1
        request = f"{self._run}-{self._count}"
        claim = calls.claim(self._name, self._states, request, wait=WAIT, most=most)
        give_up = asyncio.Event()
        claiming = asyncio.create_task(self._link.ask(claim, until=give_up))
        self.is_under_way = True
        try:
            await wait_for_any(claiming, self._no_more)
            if not self._no_more.is_set():
                return claiming.result()
            return await self._withdraw(request, claiming, give_up=give_up)
        finally:
            self.is_under_way = False
            claiming.cancel()

    async def _withdraw(
        self, request: str, claiming: asyncio.Task[tuple[Grant, ...]], *, give_up: asyncio.Event
    ) -> Sequence[Grant]:
        """End a claim, and give back what it was granted; returns what cannot be given back."""
        for _ in range(WITHDRAWALS):
            try:
                await self._release(request=request)
            except (NotFound, MethodNotAllowed):
                # This control plane does not wait, and takes nothing back: what it gives is run.
                give_up.set()
                await asyncio.wait([claiming])
                return self._granted(claiming)
            except GaveUp:
                return ()
            await asyncio.wait([claiming], timeout=WITHDRAWN_WITHIN)
            if claiming.done():
                break
        tasks = [grant.task for grant in self._granted(claiming)]
        if tasks:
            await self._give_back(tasks)
        return ()

    def _granted(self, claiming: asyncio.Task[tuple[Grant, ...]]) -> Sequence[Grant]:
        """What a claim was granted, as far as it was answered."""
        if not claiming.done() or claiming.cancelled() or claiming.exception() is not None:
            return ()
        return claiming.result()

    async def _give_back(self, tasks: Sequence[int]) -> None:
        """Give tasks back that will not be run; where that cannot be, their leases end."""
        with suppress(NotFound, MethodNotAllowed, GaveUp):
            await self._release(tasks=tasks)

    async def _release(self, *, tasks: Sequence[int] = (), request: str | None = None) -> None:
        """Raises NotFound and MethodNotAllowed where there is no such thing, and GaveUp."""
        release = calls.release(self._name, tasks=tasks, request=request)
        try:
            released = (await self._link.ask(release, until=_now())).released
        except (NotFound, MethodNotAllowed):
            raise
        except Refusal as refusal:
            self._say(f"the control plane refused to take tasks back: {refusal.sentence}", refusal)
            return
        for task in released:
            self._log.info(
                f"task {task}: given back, it was not begun", kind="task.given_back", task=task
            )

    def _say(self, sentence: str, refusal: Refusal) -> None:
        self._log.warning(sentence, kind="claim.refused", code=refusal.code)


def _now() -> asyncio.Event:
    """An event that is set: one try will do."""
    event = asyncio.Event()
    event.set()
    return event
