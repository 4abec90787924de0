"""How messages travel: many in one request where the control plane takes them, one by one where it does not."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from stateous.client import calls, messages
from stateous.client.calls import Call
from stateous.client.errors import Again, refusal_of
from stateous.model.refusals import MethodNotAllowed, NotFound, Refusal
from stateous_supervisor.fates import Result
from stateous_supervisor.link import GaveUp, Link
from stateous_supervisor.outbox_file import Message

ROOM: Final = 900_000
"""Bytes of messages in one request, which may have 1 MiB."""
MOST: Final = 500
_ADDRESS: Final = 150
"""Bytes that a message takes in it beside its body, or more: its task, kind and id."""

_MESSAGES: Final = "/tasks/messages"


def room_for(message: Message) -> int:
    """About how many bytes it takes in a request of many."""
    return len(message.body) + _ADDRESS


class Post:
    """Sends messages of tasks, those of one task in their order. Gives up once `last_call` is set and nobody answers."""

    def __init__(self, link: Link, *, name: str, last_call: asyncio.Event) -> None:
        self._link = link
        self._name = name
        self._last_call = last_call

    @property
    def is_single(self) -> bool:
        """This control plane has only the routes that take one message."""
        return self._link.lacks(_MESSAGES)

    async def send(self, sent: Sequence[Message]) -> Sequence[Result]:
        """The results of the messages, in their order; of what comes after one that GaveUp, the same."""
        if self.is_single or room_for(sent[0]) > ROOM:
            return await self._send_singly(sent)
        try:
            return await self._send_many(sent)
        except (NotFound, MethodNotAllowed):
            self._link.is_lacking(_MESSAGES)
        except GaveUp as gave_up:
            return [gave_up] * len(sent)
        except Refusal:
            pass  # the request as a whole: each message alone is asked for its own part in that
        return await self._send_singly(sent)

    async def beat(self, tasks: Sequence[int]) -> None:
        """A heartbeat for these tasks. Raises Refusal, GaveUp."""
        await self._link.ask(calls.beat(self._name, tasks), until=self._last_call)

    async def _send_many(self, sent: Sequence[Message]) -> Sequence[Result]:
        letters = [
            messages.Message(task=each.task, kind=each.kind, body=each.body, id=each.id)
            for each in sent
        ]
        results = await self._link.ask(calls.messages(self._name, letters), until=self._last_call)
        return [_result(each) for each in results]

    async def _send_singly(self, sent: Sequence[Message]) -> Sequence[Result]:
        """Each task's messages one after the other, the tasks at the same time."""
        lines: dict[int, list[Message]] = {}
        for message in sent:
            lines.setdefault(message.task, []).append(message)
        answers = await asyncio.gather(*(self._send_line(line) for line in lines.values()))
        results = dict(zip(lines, map(iter, answers), strict=True))
        return [next(results[message.task]) for message in sent]

    async def _send_line(self, line: Sequence[Message]) -> Sequence[Result]:
        results: list[Result] = []
        for message in line:
            try:
                await self._link.ask(_single(message), until=self._last_call)
            except Refusal as refusal:
                results.append(refusal)
            except GaveUp as gave_up:
                return results + [gave_up] * (len(line) - len(results))
            else:
                results.append(None)
        return results


def _result(answered: calls.MessageResult) -> Result:
    if answered.status < 300:
        return None
    refusal = refusal_of(answered.code or "", answered.error or "")
    return Again(refusal, done=False) if answered.status >= 500 else refusal


def _single(message: Message) -> Call[Any]:
    match message.kind:
        case "report":
            return calls.report_as_written(message.task, message.body)
        case "note":
            return calls.note_as_written(message.task, message.body)
        case "memory":
            return calls.memory_as_written(message.task, message.body)
