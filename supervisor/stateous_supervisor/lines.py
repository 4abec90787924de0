"""What waits to be sent: a line of letters for each task, whose letters are never in two requests at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Protocol

from stateous_supervisor.fates import Fate
from stateous_supervisor.outbox_file import Message
from stateous_supervisor.post import room_for


class Sender(Protocol):
    """Whom messages belong to."""

    @property
    def fate(self) -> Fate | None:
        """None as long as its messages are to be sent; LOST: they are forgotten, KEPT: they stay."""
        ...

    def settled(self, message: Message, fate: Fate, /) -> None:
        """It is ANSWERED, LOST or KEPT."""
        ...


class Letter:
    """A message on its way, and who is told what became of it. `tries` counts answers that were none."""

    __slots__ = ("message", "sender", "tries")

    def __init__(self, message: Message, sender: Sender) -> None:
        self.message = message
        self.sender = sender
        self.tries = 0


class Lines:
    """Letters of many tasks, in order for each.

    A line that is out stays so until it is put back or closed; letters that come meanwhile wait in it.
    """

    def __init__(self) -> None:
        self._waiting: dict[int, deque[Letter]] = {}
        self._ready: deque[int] = deque()

    @property
    def is_ready(self) -> bool:
        """Whether there is a letter that may go now."""
        return bool(self._ready)

    def add(self, letter: Letter) -> None:
        task = letter.message.task
        line = self._waiting.get(task)
        if line is None:
            line = self._waiting[task] = deque()
            self._ready.append(task)
        line.append(letter)

    def take(self, *, most: int, room: int) -> list[Letter]:
        """The next letters, at most `most` with `room` bytes; the first goes whatever its size."""
        taken: list[Letter] = []
        while self._ready and len(taken) < most:
            line = self._waiting[self._ready[0]]
            if taken and room_for(line[0].message) > room:
                break
            self._ready.popleft()
            while True:
                letter = line.popleft()
                taken.append(letter)
                room -= room_for(letter.message)
                if not line or len(taken) == most or room_for(line[0].message) > room:
                    break
        return taken

    def put_back(self, task: int, letters: Sequence[Letter] = ()) -> None:
        """The task's letters that were out have been answered, but for these: they stand at the head again."""
        line = self._waiting[task]
        line.extendleft(reversed(letters))
        if line:
            self._ready.append(task)
        else:
            del self._waiting[task]

    def close(self, task: int) -> list[Letter]:
        """End the line of a task that is out; the letters that waited in it."""
        return list(self._waiting.pop(task))

    def withdraw(self, task: int, sender: Sender) -> list[Letter]:
        """Take out what waits of one sender. What is out is on its way already."""
        line = self._waiting.get(task, deque[Letter]())
        withdrawn = [letter for letter in line if letter.sender is sender]
        for letter in withdrawn:
            line.remove(letter)
        if withdrawn and not line and task in self._ready:
            self._ready.remove(task)
            del self._waiting[task]
        return withdrawn
