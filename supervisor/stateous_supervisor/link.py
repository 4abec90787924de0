"""The way to the control plane: a call is sent until it is answered, to a control plane that is still the same."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from math import inf
from time import monotonic
from typing import Final

from stateous.client.answering import sentence_of
from stateous.client.answers import Health
from stateous.client.asynchronous import AsyncClient
from stateous.client.calls import Answered, Call, health
from stateous.client.errors import Again, NotStateous
from stateous.client.patience import WAITS, nominal_wait, spread
from stateous.model.refusals import Refusal, StateousError, Unexpected
from stateous_supervisor.log import Log
from stateous_supervisor.outage import Outage
from stateous_supervisor.signals import wait_for_any

LAST_TRY_FOR: Final = 5.0
"""Seconds that a try has left when the supervisor waits for nothing else before it ends."""
STANDS_FOR: Final = 1.0
"""Seconds after which a request that waits for its answer has got through."""


class GaveUp(StateousError):
    """No answer came before the time at which nobody waits for one any more."""


class Stranger(StateousError):
    """A control plane of another workflow answers: what we have to say is not for it."""


class Link:
    """Sends calls with the patience of a supervisor: for ever, or until an event is set.

    After a failed try the control plane is asked for its health first: what answers now may be another one.
    """

    def __init__(self, client: AsyncClient, *, log: Log) -> None:
        self.url = client.url
        self.outage = Outage(url=client.url, log=log)
        self._client = client
        self._loop = asyncio.get_running_loop()
        self._health: Health | None = None
        self._looked_at = -inf
        self._is_strange = False
        self._looking: asyncio.Task[Health] | None = None
        self._when_looked: Callable[[Health], None] | None = None
        self._lacking: set[str] = set()
        self._news = asyncio.Event()
        self.outage.when_over(self._spread_the_news)

    def when_looked(self, call: Callable[[Health], None]) -> None:
        """Call this with the control plane's health, if it is known, and whenever it was asked for."""
        self._when_looked = call
        if self._health is not None:
            call(self._health)

    def lacks(self, route: str) -> bool:
        return route in self._lacking

    def is_lacking(self, route: str) -> None:
        """Remember that this control plane has not got the route, until another one answers."""
        self._lacking.add(route)

    async def ask(self, call: Call[Answered], *, until: asyncio.Event) -> Answered:
        """Send a repeatable call until it is answered.

        Once `until` is set a last try is made, then GaveUp is raised. Raises Refusal, and the refusal
        `unexpected` only when it was the answer as often as there are different waits: trying on would
        not help. Something else that answers in the control plane's place is as good as no answer.
        """
        sender, tries, failed_at = object(), 0, 0.0
        try:
            while True:
                last = until.is_set()
                try:
                    if self._is_strange or (tries and self._looked_at < failed_at):
                        await self._answer_of(self._start_looking(), until=until)
                    answer = await self._send(call, sender=sender, until=until)
                except Again as again:
                    if isinstance(again.cause, Unexpected) and tries + 1 >= len(WAITS):
                        raise again.cause from again
                    failed: Again | NotStateous | Stranger = again
                except (NotStateous, Stranger) as foreign:
                    failed = foreign
                else:
                    self.outage.answered(sender)
                    return answer
                tries, failed_at = tries + 1, monotonic()
                await self._wait(sender, failed, tries, until=until, last=last)
        except Refusal:
            self.outage.answered(sender)
            raise
        finally:
            self.outage.forget(sender)

    async def greet(self, *, until: asyncio.Event) -> Health:
        """Ask for the health until it is answered. Raises NotStateous, Refusal, GaveUp."""
        sender, tries = object(), 0
        try:
            while True:
                last = until.is_set()
                try:
                    found = await self.look()
                except Again as again:
                    failed = again
                else:
                    self.outage.answered(sender)
                    return found
                tries += 1
                await self._wait(sender, failed, tries, until=until, last=last)
        finally:
            self.outage.forget(sender)

    async def look(self) -> Health:
        """Ask for the health, once for all who ask meanwhile. Raises Again, NotStateous, Stranger, Refusal."""
        return await asyncio.shield(self._start_looking())

    async def look_again(self, *, after: float, until: asyncio.Event) -> None:
        """Look when the last time was more than `after` seconds ago. What goes wrong, the next call will meet."""
        if monotonic() - self._looked_at > after:
            await wait_for_any(self._start_looking(), until)

    def _start_looking(self) -> asyncio.Task[Health]:
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
            self._looking.add_done_callback(self._looked)
        return self._looking

    async def _send(
        self, call: Call[Answered], *, sender: object, until: asyncio.Event
    ) -> Answered:
        sending = asyncio.create_task(self._client.send_once(call))
        try:
            if call.waits:
                await wait_for_any(sending, until, within=STANDS_FOR)
                if not sending.done():
                    # The control plane lets it wait: that is as good as an answer.
                    self.outage.answered(sender)
            return await self._answer_of(sending, until=until)
        finally:
            sending.cancel()

    async def _answer_of(
        self, asked: asyncio.Future[Answered], *, until: asyncio.Event
    ) -> Answered:
        """What was asked for; once `until` is set there is little time left for it. Raises GaveUp."""
        await wait_for_any(asked, until)
        await wait_for_any(asked, within=LAST_TRY_FOR)
        if not asked.done():
            raise GaveUp(f"the control plane at {self.url} does not answer")
        return asked.result()

    async def _look(self) -> Health:
        found = await self._client.send_once(health())
        before, self._health, self._looked_at = self._health, found, monotonic()
        if before is not None and (before.version, before.checksum) != (
            found.version,
            found.checksum,
        ):
            self._lacking.clear()
        if self._when_looked is not None:
            self._when_looked(found)
        self._is_strange = before is not None and before.workflow != found.workflow
        if self._is_strange:
            self._health = before
            raise Stranger(
                f"the control plane at {self.url} serves the workflow {found.workflow!r} now"
            )
        return found

    def _looked(self, looking: asyncio.Task[Health]) -> None:
        self._looking = None
        if not looking.cancelled():
            looking.exception()  # it is raised where somebody still waits for it

    async def _wait(
        self,
        sender: object,
        failed: Again | NotStateous | Stranger,
        tries: int,
        *,
        until: asyncio.Event,
        last: bool,
    ) -> None:
        asked = failed.retry_after if isinstance(failed, Again) else None
        why = sentence_of(failed, shown=self.url) if isinstance(failed, Again) else str(failed)
        if last:
            raise GaveUp(why) from failed
        wait = nominal_wait(tries, retry_after=asked)
        self.outage.failed(sender, why, wait=wait)
        await wait_for_any(until, self._news, within=spread(wait))

    def _spread_the_news(self) -> None:
        """Wake those who wait for the next try: somebody was answered."""
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()
