"""The way to the control plane: a call is sent until it is answered, and the log says why it is not."""

from __future__ import annotations

import asyncio

from stateous.client.answering import sentence_of
from stateous.client.answers import Health
from stateous.client.asynchronous import AsyncClient
from stateous.client.calls import Answered, Call, health
from stateous.client.errors import Again, NotStateous
from stateous.client.patience import WAITS, nominal_wait, spread
from stateous.model.refusals import StateousError, Unexpected
from stateous_supervisor.log import Log
from stateous_supervisor.signals import wait_for_any


class GaveUp(StateousError):
    """No answer came before the time at which nobody waits for one any more."""


class Link:
    """Sends calls with the patience of a supervisor: for ever, or until an event is set."""

    def __init__(self, client: AsyncClient, *, log: Log) -> None:
        self._client = client
        self._log = log
        self.url = client.url

    async def ask(self, call: Call[Answered], *, until: asyncio.Event) -> Answered:
        """Send a repeatable call until it is answered.

        Once `until` is set a last try is made, then GaveUp is raised. Raises Refusal, and the refusal
        `unexpected` only when it was the answer as often as there are different waits: trying on would
        not help. Something else that answers in the control plane's place is as good as no answer.
        """
        tries = 0
        while True:
            last = until.is_set()
            tries += 1
            try:
                return await self._client.send_once(call)
            except Again as again:
                if isinstance(again.cause, Unexpected) and tries >= len(WAITS):
                    raise again.cause from again
                failed: Again | NotStateous = again
            except NotStateous as foreign:
                failed = foreign
            await self._wait(failed, tries, until=until, last=last)

    async def greet(self, *, until: asyncio.Event) -> Health:
        """Ask for the health until it is answered. Raises NotStateous, Refusal, GaveUp."""
        tries = 0
        while True:
            last = until.is_set()
            tries += 1
            try:
                return await self._client.send_once(health())
            except Again as again:
                failed = again
            await self._wait(failed, tries, until=until, last=last)

    async def _wait(
        self, failed: Again | NotStateous, tries: int, *, until: asyncio.Event, last: bool
    ) -> None:
        asked = failed.retry_after if isinstance(failed, Again) else None
        why = sentence_of(failed, shown=self.url) if isinstance(failed, Again) else str(failed)
        if last:
            raise GaveUp(why) from failed
        wait = nominal_wait(tries, retry_after=asked)
        self._log.warning(f"{why}; trying again in {wait:g}s")
        await wait_for_any(until, within=spread(wait))
