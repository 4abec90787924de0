"""The outbox: what routines wrote and ended with, on disk before anybody is told, until it is answered.

One thread writes. Whatever waits goes to the disk in one transaction, so that messages share the fsync.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Final, Literal, Self

import msgspec

from stateous.model.refusals import StateousError
from stateous_supervisor.lock import FolderLock

MessageKind = Literal["report", "note", "memory"]

_FORMAT: Final = 1
_SCHEMA: Final = """
    CREATE TABLE IF NOT EXISTS messages (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        task INTEGER NOT NULL,
        token TEXT NOT NULL,
        kind TEXT NOT NULL,
        body BLOB NOT NULL
    ) STRICT
"""
_LEFT: Final = "SELECT seq, task, token, kind, body FROM messages ORDER BY seq"
_LAST: Final = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'messages'"
_PUT: Final = "INSERT INTO messages (seq, task, token, kind, body) VALUES (?, ?, ?, ?, ?)"
_REMOVE: Final = "DELETE FROM messages WHERE seq = ?"
_MOST_AT_ONCE: Final = 500


class OutboxFailed(StateousError):
    """The outbox cannot be opened or written."""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the control plane must be told about a task; `body` is the request's JSON."""

    seq: int
    task: int
    token: str
    kind: MessageKind
    body: bytes


class _Write(msgspec.Struct, frozen=True):
    statements: Sequence[tuple[str, Sequence[Any]]]
    done: Future[None]


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
        try:
            self.database = _open(self.path)
            self._left = [
                Message(seq=seq, task=task, token=token, kind=kind, body=body)
                for seq, task, token, kind, body in self.database.execute(_LEFT)
            ]
            self._last: int = self.database.execute(_LAST).fetchone()[0]
        except sqlite3.Error as problem:
            self._folder_lock.release()
            raise OutboxFailed(f"cannot open the outbox {self.path}: {problem}") from problem
        self._order = Lock()
        self._writes: SimpleQueue[_Write | None] = SimpleQueue()
        self._writer = Thread(target=self._write_on, name="outbox", daemon=True)
        self._writer.start()

    @property
    def left(self) -> Sequence[Message]:
        """What an earlier run of the supervisor left, in the order in which it was written."""
        return self._left

    def put(
        self,
        *,
        task: int,
        token: str,
        kind: MessageKind,
        body: bytes,
        instead_of: int | None = None,
    ) -> tuple[Message, Future[None]]:
        """Write a message, in place of the one numbered `instead_of` if given.

        The future is done when the message is on the disk, or raises OutboxFailed; then nothing was changed.
        Messages have growing numbers in the order of the calls.
        """
        with self._order:
            self._last += 1
            message = Message(seq=self._last, task=task, token=token, kind=kind, body=body)
            put = (_PUT, (message.seq, task, token, kind, body))
            removed = [] if instead_of is None else [(_REMOVE, (instead_of,))]
            return message, self._enqueue([put, *removed])

    def remove(self, *messages: Message) -> Future[None]:
        """Forget messages that were answered."""
        return self._enqueue([(_REMOVE, (message.seq,)) for message in messages])

    def close(self) -> None:
        """Write what waits, then give up the folder."""
        self._writes.put(None)
        self._writer.join()
        self.database.close()
        self._folder_lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_ended: object) -> None:
        self.close()

    def _enqueue(self, statements: Sequence[tuple[str, Sequence[Any]]]) -> Future[None]:
        done: Future[None] = Future()
        done.set_running_or_notify_cancel()  # who stops waiting does not undo the write
        self._writes.put(_Write(statements, done))
        return done

    def _write_on(self) -> None:
        while True:
            write = self._writes.get()
            batch: list[_Write] = []
            while write is not None:
                batch.append(write)
                if len(batch) == _MOST_AT_ONCE:
                    break
                try:
                    write = self._writes.get_nowait()
                except Empty:
                    break
            self._write(batch)
            if write is None:
                return

    def _write(self, batch: Sequence[_Write]) -> None:
        """Write a batch in one transaction; when that fails each write is alone, so that none hurts another."""
        if not batch:
            return
        try:
            with self.database:
                self.database.execute("BEGIN IMMEDIATE")
                for write in batch:
                    for statement, values in write.statements:
                        self.database.execute(statement, values)
        except sqlite3.Error as problem:
            if len(batch) > 1:
                for write in batch:
                    self._write([write])
                return
            failed = OutboxFailed(f"the outbox {self.path} cannot be written: {problem}")
            failed.__cause__ = problem
            batch[0].done.set_exception(failed)
        else:
            for write in batch:
                write.done.set_result(None)


def _open(path: Path) -> sqlite3.Connection:
    """Open the file for one writer. Raises sqlite3.Error, also for one that a newer supervisor made."""
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        made_for = database.execute("PRAGMA user_version").fetchone()[0]
        if made_for > _FORMAT:
            raise sqlite3.DatabaseError("a newer supervisor made it")
        database.execute(_SCHEMA)
        database.execute(f"PRAGMA user_version = {_FORMAT}")
    except sqlite3.Error:
        database.close()
        raise
    return database
