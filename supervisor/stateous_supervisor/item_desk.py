"""Where a routine's state log is asked, wherever the routine runs: on the supervisor's loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from stateous.client.answers import Grant
from stateous.client.calls import Call
from stateous.model.items import ATTEMPT_ENDED
from stateous.model.refusals import AttemptOver, TaskNotFound, TaskNotHeld
from stateous.model.state_log_handlers import StateLogHandler
from stateous.model.state_logs import BUILT_IN
from stateous_supervisor.built_in_log import BuiltInLog
from stateous_supervisor.item_asks import Ask, HandlerFailed, Row, parts_of
from stateous_supervisor.link import Link
from stateous_supervisor.log_answers import NullLog, asked_of, context_of
from stateous_supervisor.mailbox import AttemptEnded
from stateous_supervisor.signals import wait_for_any

Answered = TypeVar("Answered")


class ItemDesk:
    """Asks the state log of one task until it answers, or until `close`.

    `handler` keeps it, if a handler of the folder does. `lost` is called, on the loop, when the control plane says that
    the task is not ours any more.
    """

    def __init__(
        self,
        grant: Grant,
        *,
        supervisor: str,
        handler: StateLogHandler | None,
        link: Link,
        lost: Callable[[], None],
    ) -> None:
        self._named = f"task {grant.task} of {grant.token}"
        self._link = link
        self._lost = lost
        self._context = context_of(grant, supervisor=supervisor)
        self._name = BUILT_IN if grant.stateLog is None else grant.stateLog.handler
        self._handler: StateLogHandler | None = handler
        if grant.stateLog is None:
            self._handler = NullLog()
        elif self._name == BUILT_IN:
            self._handler = BuiltInLog(self._send)
        self._loop = asyncio.get_running_loop()
        self._closed = asyncio.Event()
        # Of a handler that is not the control plane's: nobody else ends these when the attempt ends.
        self._open: dict[tuple[str, str], None] = {}

    def close(self) -> None:
        """The run is over: who still waits here is told AttemptEnded."""
        self._closed.set()

    async def ask(self, ask: Ask, /) -> Any:
        """Ask one part. Raises what the state log refuses, and AttemptEnded."""
        if self._handler is None:
            raise HandlerFailed(f"nobody has registered the state log handler {self._name!r}")
        if self._closed.is_set():
            raise self._ended()
        asking = asyncio.ensure_future(asked_of(self._handler, self._context, ask, name=self._name))
        try:
            await wait_for_any(asking, self._closed)
            if not asking.done():
                raise self._ended()
            answer = asking.result()
        except (AttemptOver, TaskNotFound, TaskNotHeld):
            self._lost()
            raise
        finally:
            asking.cancel()
        self._remember(ask, answer)
        return answer

    def ask_and_wait(self, ask: Ask, /) -> Any:
        """`ask`, from another thread."""
        asking = self.ask(ask)
        try:
            return asyncio.run_coroutine_threadsafe(asking, self._loop).result()
        except (CancelledError, RuntimeError):  # the supervisor ends
            asking.close()
            raise self._ended() from None

    @property
    def has_open(self) -> bool:
        """Whether the attempt has locks that end with it only if `end` is awaited."""
        return bool(self._open)

    async def end(self) -> None:
        """End the locks that the attempt has left open. Raises what the handler raises."""
        rows = tuple(Row(item, entity, reason=ATTEMPT_ENDED) for entity, item in self._open)
        self._open.clear()
        for part in parts_of(rows):
            if self._handler is not None:
                ask = Ask("release", part)
                await asked_of(self._handler, self._context, ask, name=self._name)

    async def _send(self, call: Call[Answered], /) -> Answered:
        return await self._link.ask(call, until=self._closed)

    def _remember(self, ask: Ask, answer: Any) -> None:
        if self._name == BUILT_IN:
            return
        if ask.call == "acquire":
            told = zip(ask.rows, answer, strict=True)
            self._open |= {(row.entity, row.item): None for row, got in told if got}
        elif ask.call in ("set", "release", "upsert"):
            for row in ask.rows:
                self._open.pop((row.entity, row.item), None)

    def _ended(self) -> AttemptEnded:
        return AttemptEnded(f"{self._named} is over for this attempt")
