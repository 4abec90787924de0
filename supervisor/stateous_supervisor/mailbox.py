"""The messages of one attempt: written by any thread, on the disk before the writer goes on, sent in that order."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from threading import Lock

from stateous.model.refusals import StateousError
from stateous_supervisor.delivery import Delivery
from stateous_supervisor.fates import Fate
from stateous_supervisor.outbox import Message, MessageKind, Outbox


class AttemptEnded(StateousError):
    """The attempt is over for this supervisor: its routine can write nothing more."""


class Mailbox:
    """Open until the report is written, or until the task is taken back.

    `ended` is done when nothing more will be sent: its result is the report's fate, or that of the message
    after which the rest was dropped or stays in the outbox. `is_answered` when the report itself was.
    """

    def __init__(self, task: int, token: str, *, outbox: Outbox, delivery: Delivery) -> None:
        self.ended: asyncio.Future[Fate] = asyncio.get_running_loop().create_future()
        self._task = task
        self._token = token
        self._outbox = outbox
        self._delivery = delivery
        self._order = Lock()
        self._open = True
        self.is_answered = False

    def write(self, kind: MessageKind, body: bytes) -> Future[None]:
        """Write a message; the future is done when it is on the disk. A report is the last one.

        Raises AttemptEnded after the report, and when the task was taken back.
        """
        with self._order:
            if not self._open:
                raise AttemptEnded(f"task {self._task} of {self._token} is over for this attempt")
            self._open = kind != "report"
            _, saved = self._outbox.put(
                task=self._task, token=self._token, kind=kind, body=body, owner=self
            )
        return saved

    def drop(self) -> None:
        """The task was taken back: nothing more is written, and what was not sent is forgotten."""
        with self._order:
            self._open = False
        self._end(Fate.LOST)
        self._delivery.withdraw(self._task, self)

    @property
    def fate(self) -> Fate | None:
        """What became of it as a whole; None as long as its messages are to be sent."""
        return self.ended.result() if self.ended.done() else None

    def settled(self, message: Message, fate: Fate) -> None:
        """The delivery's word of what became of a message: ANSWERED, LOST or KEPT. The rest goes with a lost one."""
        is_report = message.kind == "report"
        self.is_answered |= is_report
        if fate is Fate.LOST:
            self.drop()
        elif is_report or fate is Fate.KEPT:
            self._end(fate)

    def _end(self, fate: Fate) -> None:
        if not self.ended.done():
            self.ended.set_result(fate)
