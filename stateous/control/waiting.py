"""A command that waits in a lane for its answer."""

from __future__ import annotations

import asyncio

from stateous.engine.answers import Answer, Told
from stateous.engine.commands import Carried, Items, Messages
from stateous.engine.family import ItemKey
from stateous.model.refusals import Refusal

Subject = tuple[str, str | int]

_NONE: frozenset[ItemKey] = frozenset()

ITEMS_EACH = 50
"""So many items are as much work as a command."""


class Waiting:
    """A command, its future answer, and how often it had to be put off.

    `deadline` is a time of the event loop: past it, a command that is in no batch is refused.
    `size` is the size of the request in bytes, `count` how much of a batch it is: both bound a batch. `tries` counts how often it was put
    off for any reason, `skips` how often its family was locked elsewhere, `failures` how often the
    database refused it when it was alone. `follows`: it came together with the one before it, and shares its batch. `items` are those that it asks for.
    """

    __slots__ = (
        "alone",
        "answer",
        "command",
        "count",
        "deadline",
        "failures",
        "follows",
        "items",
        "size",
        "skips",
        "subject",
        "tries",
    )

    def __init__(
        self,
        command: Carried,
        *,
        answer: asyncio.Future[Answer | Told],
        deadline: float,
        size: int,
        subject: Subject,
        follows: bool = False,
    ) -> None:
        self.command = command
        self.count = _count_of(command)
        self.items = frozenset(command.keys) if isinstance(command, Items) else _NONE
        self.answer = answer
        self.deadline = deadline
        self.size = size
        self.subject = subject
        self.follows = follows
        self.tries = 0
        self.skips = 0
        self.failures = 0
        self.alone = False

    def was_busy(self) -> None:
        """It was put off because others hold what it needs."""
        self.skips += 1
        self.tries += 1

    def settle(self, answer: Answer | Told | Refusal) -> None:
        """Give the answer, unless nobody waits for it any more."""
        if self.answer.done():
            return
        if isinstance(answer, Refusal):
            self.answer.set_exception(answer)
        else:
            self.answer.set_result(answer)


def _count_of(command: Carried) -> int:
    """A message counts as a command, and so do fifty items."""
    if isinstance(command, Messages):
        return len(command.said)
    return -(-len(command.items) // ITEMS_EACH) if isinstance(command, Items) else 1
