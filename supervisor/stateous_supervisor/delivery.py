"""A message goes from the outbox to the control plane, and is forgotten when it is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from enum import Enum, auto

import msgspec

from stateous.client import calls
from stateous.client.calls import Answered, Call
from stateous.model.refusals import AttemptOver, Refusal, TaskNotFound, TaskNotHeld, Unexpected
from stateous_supervisor.link import GaveUp, Link
from stateous_supervisor.log import Log
from stateous_supervisor.outbox import Message, Outbox, OutboxFailed
from stateous_supervisor.outcome import failed_instead, said_in

_NAMES = {"report": "the report", "note": "a note", "memory": "a memory write"}


class Fate(Enum):
    """What became of a message."""

    ANSWERED = auto()
    """Accepted, or refused for what it says; it is forgotten."""
    LOST = auto()
    """Refused because the task is not ours any more; it is forgotten."""
    KEPT = auto()
    """Not answered before the supervisor ends; it stays in the outbox."""


class Delivery:
    """Sends one message at a time; gives up when `last_call` is set and nobody answers."""

    def __init__(
        self, link: Link, outbox: Outbox, *, name: str, last_call: asyncio.Event, log: Log
    ) -> None:
        self._link = link
        self._outbox = outbox
        self._name = name
        self._last_call = last_call
        self._log = log

    async def deliver(self, message: Message) -> Fate:
        try:
            if message.kind == "report":
                fate = await self._deliver_report(message)
            else:
                fate = await self._deliver_write(message)
        except GaveUp:
            return Fate.KEPT
        return fate

    def stays(self, message: Message) -> None:
        self._log.warning(
            f"{named(message)}: the control plane cannot be reached; "
            f"{_NAMES[message.kind]} stays in the outbox for the next start"
        )

    def forget(self, messages: Sequence[Message]) -> None:
        """Remove answered messages; when the disk refuses, they are sent once more at the next start."""
        if messages:
            self._outbox.remove(*messages).add_done_callback(self._say_failure)

    async def _deliver_report(self, message: Message) -> Fate:
        try:
            await self._ask(calls.report_as_written(message.task, message.body))
        except (AttemptOver, TaskNotFound) as refusal:
            self._say_refused(message, refusal)
            fate = Fate.LOST
        except TaskNotHeld as refusal:
            # The heartbeat asks whether the task is ours at all; whatever it says, the report is refused.
            lost = await self._is_lost(message.task)
            self._say_refused(message, refusal)
            fate = Fate.LOST if lost else Fate.ANSWERED
        except Refusal as refusal:
            return await self._deliver_failure(message, refusal)
        else:
            self._log.info(f"{named(message)}: reported {said_in(message.body)}")
            fate = Fate.ANSWERED
        self.forget([message])
        return fate

    async def _deliver_failure(self, refused: Message, refusal: Refusal) -> Fate:
        """The control plane does not take what the routine ended with, so that the attempt failed."""
        self._say_refused(refused, refusal)
        why = f"the control plane refused the report: {refusal.sentence}"
        body = failed_instead(refused.body, why)
        if body is None:
            if isinstance(refusal, Unexpected):
                return Fate.KEPT
            self.forget([refused])
            return Fate.ANSWERED
        message, saved = self._outbox.put(
            task=refused.task, token=refused.token, kind="report", body=body, instead_of=refused.seq
        )
        try:
            await asyncio.wrap_future(saved)
        except OutboxFailed as problem:
            self._log.error(str(problem))
            message = msgspec.structs.replace(refused, body=body)
        return await self._deliver_report(message)

    async def _deliver_write(self, message: Message) -> Fate:
        call = (
            calls.note_as_written(message.task, message.body)
            if message.kind == "note"
            else calls.memory_as_written(message.task, message.body)
        )
        fate = Fate.ANSWERED
        try:
            await self._ask(call)
        except (AttemptOver, TaskNotFound, TaskNotHeld):
            fate = Fate.LOST
        except Refusal as refusal:
            self._say_refused(message, refusal)
        self.forget([message])
        return fate

    async def _ask(self, call: Call[Answered]) -> Answered:
        return await self._link.ask(call, until=self._last_call)

    async def _is_lost(self, task: int) -> bool:
        try:
            answer = await self._ask(calls.beat(self._name, [task]))
        except Refusal as refusal:
            self._log.warning(f"the control plane refused a heartbeat: {refusal.sentence}")
            return True
        return task in answer.lost

    def _say_refused(self, message: Message, refusal: Refusal) -> None:
        self._log.warning(
            f"{named(message)}: the control plane refused {_NAMES[message.kind]}: {refusal.sentence}"
        )

    def _say_failure(self, removed: Future[None]) -> None:
        problem = removed.exception()
        if problem is not None:
            self._log.error(str(problem))


def named(message: Message) -> str:
    return f"task {message.task} of {message.token}"
