"""The messages of one attempt: written by any thread, delivered in that order by the loop."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from threading import Lock

import msgspec

from stateous.model.refusals import StateousError
from stateous_supervisor.delivery import Delivery, Fate
from stateous_supervisor.outbox import Message, MessageKind, Outbox, OutboxFailed
from stateous_supervisor.outcome import failed_instead


class AttemptEnded(StateousError):
    """The attempt is over for this supervisor: its routine can write nothing more."""


class Mailbox:
    """Open until the report is written, or until the task is taken back."""

    def __init__(self, task: int, token: str, *, outbox: Outbox, delivery: Delivery) -> None:
        self._task = task
        self._token = token
        self._outbox = outbox
        self._delivery = delivery
        self._loop = asyncio.get_running_loop()
        self._written: asyncio.Queue[tuple[Message, Future[None]]] = asyncio.Queue()
        self._unanswered: dict[int, Message] = {}
        self._order = Lock()
        self._open = True

    def write(self, kind: MessageKind, body: bytes) -> Future[None]:
        """Write a message; the future is done when it is on the disk. A report is the last one.

        Raises AttemptEnded after the report, and when the task was taken back.
        """
        with self._order:
            if not self._open:
                raise AttemptEnded(f"task {self._task} of {self._token} is over for this attempt")
            self._open = kind != "report"
            message, saved = self._outbox.put(
                task=self._task, token=self._token, kind=kind, body=body
            )
            self._unanswered[message.seq] = message
            self._loop.call_soon_threadsafe(self._written.put_nowait, (message, saved))
        return saved

    async def deliver(self) -> Fate:
        """Deliver until the report is answered, or the task is lost, or the supervisor ends."""
        while True:
            message, saved = await self._written.get()
            try:
                await asyncio.wrap_future(saved)
            except OutboxFailed as problem:
                if message.kind != "report":
                    continue  # the routine was told so
                # An attempt whose end cannot be kept has failed; that can be said without the disk.
                body = failed_instead(message.body, str(problem)) or message.body
                message = msgspec.structs.replace(message, body=body)
            fate = await self._delivery.deliver(message)
            if fate is not Fate.KEPT:
                self._unanswered.pop(message.seq, None)
            if fate is not Fate.ANSWERED or message.kind == "report":
                return fate

    def drop(self) -> None:
        """The task was taken back: nothing more is written, and what was not answered is forgotten."""
        with self._order:
            self._open = False
            dropped = list(self._unanswered.values())
            self._unanswered.clear()
        self._delivery.forget(dropped)

    def say_what_stays(self) -> None:
        for message in self._unanswered.values():
            if message.kind == "report":
                self._delivery.stays(message)
