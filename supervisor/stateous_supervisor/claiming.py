"""Claims: asks the control plane for as many tasks as there is room for, one request at a time."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Collection, Sequence
from threading import Lock
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
TURNS: Final = 3
"""Turns of the loop in which a routine that waits for nothing ends: the next claim can ask for more then."""
REFUSED_FOR: Final = 30.0
LOOK_EVERY: Final = 30.0
"""Seconds after which the control plane's health is looked at before the next claim."""
RELEASED_WITHIN: Final = 1.5
"""Seconds for which tasks are given back again and again when nobody answers, before the last try: a cut is no outage."""
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
        self._is_let_wait = False
        self._look_after = LOOK_EVERY
        self._taking = Lock()
        self._request: str | None = None
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
            await self._link.look_again(after=self._look_after, until=self._no_more)
            if self._no_more.is_set():
                return
            begun_at = monotonic()
            try:
                grants = await self._claim(free)
            except Refusal as refusal:
                self._say(f"the control plane refused a claim: {refusal.sentence}", refusal)
                await wait_for_any(self._no_more, within=REFUSED_FOR)
                continue
            if not await self._begin(grants):
                await self._rest(took=monotonic() - begun_at)

    async def _begin(self, grants: Sequence[Grant]) -> bool:
        """Start what was granted; whether anything was. Tasks of states that were not asked for are given back."""
        strangers = [grant for grant in grants if grant.state not in self._states]
        for grant in grants:
            if grant.state in self._states:
                self._start(grant)
        await self._give_back(strangers)
        for _ in range(TURNS):
            await asyncio.sleep(0)
        self._look_after = LOOK_EVERY
        return len(grants) > len(strangers)

    async def _rest(self, *, took: float) -> None:
        """Wait before the next claim, if the control plane did not let the last one wait for these seconds."""
        if took >= EMPTY_FOR:
            self._is_let_wait = True
            return
        if self._is_let_wait:
            # So it stops, and what answers next may be another one.
            self._look_after, self._is_let_wait = 0.0, False
        await wait_for_any(self._changed, self._no_more, within=EMPTY_FOR - took)

    def take_away(self) -> str | None:
        """The request of the claim under way, if there is one: from now on its grants are not run. From any thread."""
        with self._taking:
            request, self._request = self._request, None
        return request

    async def _claim(self, most: int) -> Sequence[Grant]:
        """The tasks of one claim that are to be run. Raises Refusal."""
        self._count += 1
        request = f"{self._run}-{self._count}"
        claim = calls.claim(self._name, self._states, request, wait=WAIT, most=most)
        give_up = asyncio.Event()
        claiming = asyncio.create_task(self._link.ask(claim, until=give_up))
        self.is_under_way = True
        self._request = request
        try:
            await wait_for_any(claiming, self._no_more)
            if self._no_more.is_set():
                return await self._withdraw(request, claiming, give_up=give_up)
            grants = claiming.result()
            return grants if self.take_away() else await self._give_back(grants)
        finally:
            self.is_under_way = False
            self._request = None
            claiming.cancel()

    async def _withdraw(
        self, request: str, claiming: asyncio.Task[tuple[Grant, ...]], *, give_up: asyncio.Event
    ) -> Sequence[Grant]:
        """End a claim, and give back what it was granted; returns what cannot be given back."""
        for _ in range(WITHDRAWALS):
            try:
                await self._release(request=request)
            except (NotFound, MethodNotAllowed):
                give_up.set()
                await asyncio.wait([claiming])
                return self._granted(claiming)
            except GaveUp:
                return ()
            await asyncio.wait([claiming], timeout=WITHDRAWN_WITHIN)
            if claiming.done():
                break
        return await self._give_back(self._granted(claiming))

    def _granted(self, claiming: asyncio.Task[tuple[Grant, ...]]) -> Sequence[Grant]:
        """What a claim was granted, as far as it was answered."""
        if not claiming.done() or claiming.cancelled() or claiming.exception() is not None:
            return ()
        return claiming.result()

    async def _give_back(self, grants: Sequence[Grant]) -> Sequence[Grant]:
        """Give tasks back that were not begun; returns them where that cannot be: then they had better be run."""
        try:
            if grants:
                await self._release(tasks=[grant.task for grant in grants])
        except GaveUp:
            pass  # their leases end
        except (NotFound, MethodNotAllowed):
            return grants
        return ()

    async def _release(self, *, tasks: Sequence[int] = (), request: str | None = None) -> None:
        """Raises GaveUp, and NotFound or MethodNotAllowed when this control plane takes nothing back."""
        release = calls.release(self._name, tasks=tasks, request=request)
        enough = asyncio.Event()
        timer = asyncio.get_running_loop().call_later(RELEASED_WITHIN, enough.set)
        try:
            released = (await self._link.ask(release, until=enough)).released
        except (NotFound, MethodNotAllowed):
            raise
        except Refusal as refusal:
            self._say(f"the control plane refused to take tasks back: {refusal.sentence}", refusal)
            raise GaveUp(refusal.sentence) from refusal
        finally:
            timer.cancel()
        for task in released:
            self._log.info(
                f"task {task}: given back, it was not begun", kind="task.given_back", task=task
            )

    def _say(self, sentence: str, refusal: Refusal) -> None:
        self._log.warning(sentence, kind="claim.refused", code=refusal.code)
