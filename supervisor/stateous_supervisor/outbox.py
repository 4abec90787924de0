"""The outbox: what routines wrote and ended with, on disk before anybody is told, until it is answered.

One thread writes. Whatever waits goes to the disk in one transaction, so that messages share the fsync.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import Any, Final, Self

import msgspec

from stateous.client.messages import MessageKind
from stateous_supervisor.lock import FolderLock
from stateous_supervisor.outbox_file import Message, OutboxFailed, OutboxFile

_MOST_AT_ONCE: Final = 500
_REMOVED_WITHIN: Final = 1.0
"""Seconds for which an answered message may stay. Until then a kill lets it be sent once more, which is harmless."""


class Saved(msgspec.Struct, frozen=True):
    """A message that is on the disk now, or is not because of `problem`; `owner` as it was put."""

    message: Message
    owner: Any
    problem: OutboxFailed | None = None


class _Put(msgspec.Struct, frozen=True):
    message: Message
    owner: Any
    instead_of: int | None
    done: Future[None]


Tell = Callable[[Sequence[Saved]], None]


class Outbox:
    """The messages of one folder. Any thread may put and remove.

    `database` is the writer's connection. Raises FolderTaken when another supervisor has the folder,
    OutboxFailed when the file cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        hidden = folder / ".stateous"
        self.path = hidden / "outbox.db"
        try:
            hidden.mkdir(mode=0o700, exist_ok=True)
            self._folder_lock = FolderLock(hidden / "outbox.lock", folder=folder)
        except OSError as problem:
            raise OutboxFailed(
                f"cannot open the outbox {self.path}: {problem.strerror}"
            ) from problem
        # Ids begin anew with each run: a file that came back from a backup gives no id a second time.
        self._run = secrets.token_hex(8)
        try:
            self._file = OutboxFile(self.path, run=self._run)
        except OutboxFailed:
            self._folder_lock.release()
            raise
        self.database = self._file.database
        self._last = self._file.last
        self._order = Lock()
        self._tell: Tell = _tell_nobody
        self._asked: SimpleQueue[_Put | list[int] | None] = SimpleQueue()
        self._writer = Thread(target=self._write_on, name="outbox", daemon=True)
        self._writer.start()

    @property
    def left(self) -> Sequence[Message]:
        """What an earlier run of the supervisor left, in the order in which it was written."""
        return self._file.left

    def tell(self, tell: Tell) -> None:
        """From now on, call this in the writer's thread with what was put, in order, once it is on the disk or failed."""
        self._tell = tell

    def put(
        self,
        *,
        task: int,
        token: str,
        kind: MessageKind,
        body: bytes,
        owner: object = None,
        instead_of: int | None = None,
    ) -> tuple[Message, Future[None]]:
        """Write a message, in place of the one numbered `instead_of` if given.

        The future is done when the message is on the disk, or raises OutboxFailed; then nothing was changed.
        Messages have growing numbers in the order of the calls.
        """
        done: Future[None] = Future()
        done.set_running_or_notify_cancel()  # who stops waiting does not undo the write
        with self._order:
            self._last += 1
            message = Message(
                seq=self._last,
                id=f"{self._run}-{self._last}",
                task=task,
                token=token,
                kind=kind,
                body=body,
            )
            self._asked.put(_Put(message, owner, instead_of, done))
        return message, done

    def remove(self, *messages: Message) -> None:
        """Forget messages that were answered, within a second: many of them share an fsync, too."""
        if messages:
            self._asked.put([message.seq for message in messages])

    def close(self) -> None:
        """Write what waits, then give up the folder."""
        self._asked.put(None)
        self._writer.join()
        self._file.close()
        self._folder_lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_ended: object) -> None:
        self.close()

    def _write_on(self) -> None:
        removed: list[int] = []  # answered, and still on the disk
        due_at = 0.0
        closing = False
        while not closing:
            asked = self._gather(within=due_at - monotonic() if removed else None)
            closing = None in asked
            puts = [each for each in asked if isinstance(each, _Put)]
            if not removed:
                due_at = monotonic() + _REMOVED_WITHIN
            removed += [seq for each in asked if isinstance(each, list) for seq in each]
            replaced = [put.instead_of for put in puts if put.instead_of is not None]
            if closing or replaced or len(removed) >= _MOST_AT_ONCE or monotonic() >= due_at:
                removed = self._write(puts, removed=removed + replaced)
                due_at = monotonic() + _REMOVED_WITHIN
            else:
                self._write(puts, removed=[])

    def _gather(self, *, within: float | None) -> list[_Put | list[int] | None]:
        """What waits to be written: at least one thing, unless nothing comes in time."""
        gathered: list[_Put | list[int] | None] = []
        try:
            gathered.append(self._asked.get(timeout=None if within is None else max(0.0, within)))
            while gathered[-1] is not None and len(gathered) < _MOST_AT_ONCE:
                gathered.append(self._asked.get_nowait())
        except Empty:
            pass
        return gathered

    def _write(self, puts: Sequence[_Put], *, removed: list[int]) -> list[int]:
        """Write in one transaction; when that fails each message is alone, so that none hurts another.

        Returns what is to be removed later.
        """
        if not puts and not removed:
            return []
        try:
            self._file.write([put.message for put in puts], removed=removed)
        except OutboxFailed:
            saved = [self._put_alone(put) for put in puts]
        else:
            saved = [Saved(put.message, put.owner) for put in puts]
            removed = []
        for put, each in zip(puts, saved, strict=True):
            if each.problem is None:
                put.done.set_result(None)
            else:
                put.done.set_exception(each.problem)
        if saved:
            self._tell(saved)
        return removed

    def _put_alone(self, put: _Put) -> Saved:
        replaced = [] if put.instead_of is None else [put.instead_of]
        try:
            self._file.write([put.message], removed=replaced)
        except OutboxFailed as problem:
            return Saved(put.message, put.owner, problem)
        return Saved(put.message, put.owner)


def _tell_nobody(_saved: Sequence[Saved]) -> None:
    pass
