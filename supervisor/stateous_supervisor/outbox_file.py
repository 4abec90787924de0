"""The file behind the outbox: an SQLite database with one table, written by one thread, in few statements."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from stateous.client.messages import MessageKind
from stateous.model.refusals import StateousError

_FORMAT: Final = 2
_SCHEMA: Final = """
    CREATE TABLE IF NOT EXISTS messages (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        task INTEGER NOT NULL,
        token TEXT NOT NULL,
        kind TEXT NOT NULL,
        body BLOB NOT NULL,
        id TEXT NOT NULL DEFAULT ''
    ) STRICT
"""
_ADD_IDS: Final = "ALTER TABLE messages ADD COLUMN id TEXT NOT NULL DEFAULT ''"
_NAME: Final = "UPDATE messages SET id = ? || '-' || seq WHERE id = ''"
_LEFT: Final = "SELECT seq, task, token, kind, body, id FROM messages ORDER BY seq"
_LAST: Final = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'messages'"
_PUT: Final = "INSERT INTO messages (seq, task, token, kind, body, id) VALUES "
_REMOVE: Final = "DELETE FROM messages WHERE seq IN (SELECT value FROM json_each(?))"


class OutboxFailed(StateousError):
    """The outbox cannot be opened or written."""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the control plane must be told about a task.

    `body` is the JSON of the single route's request. `id` is the message's own for ever: by it the control
    plane knows a message that is sent once more. `seq` is its place among the messages of the folder.
    """

    seq: int
    id: str
    task: int
    token: str
    kind: MessageKind
    body: bytes


class OutboxFile:
    """Messages on the disk. One thread at a time uses it; each write waits for the disk.

    `run` names the messages of an older format, which had no ids. Raises OutboxFailed.
    """

    def __init__(self, path: Path, *, run: str) -> None:
        self.path = path
        try:
            self.database = _open(path, run=run)
            self.left: Sequence[Message] = [
                Message(seq=seq, task=task, token=token, kind=kind, body=body, id=name)
                for seq, task, token, kind, body, name in self.database.execute(_LEFT)
            ]
            self.last: int = self.database.execute(_LAST).fetchone()[0]
        except sqlite3.Error as problem:
            raise OutboxFailed(f"cannot open the outbox {path}: {problem}") from problem

    def write(self, messages: Sequence[Message], *, removed: Sequence[int]) -> None:
        """Add messages and remove those with the numbers `removed`: all of it, or OutboxFailed.

        Each statement hands Python's lock to other threads and has to wait for it again, for up to 5 ms
        when a routine computes. So there are as few of them as possible, however many messages there are.
        """
        try:
            try:
                self._write(messages, removed)
            except sqlite3.OperationalError:
                # Maybe what has no room is only the log of the writes before.
                self.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                self._write(messages, removed)
        except (sqlite3.Error, OverflowError, ValueError) as problem:
            # The last two: a number or a text that SQLite cannot hold.
            raise OutboxFailed(f"the outbox {self.path} cannot be written: {problem}") from problem

    def close(self) -> None:
        self.database.close()

    def _write(self, messages: Sequence[Message], removed: Sequence[int]) -> None:
        with self.database:
            if not removed:
                self._put(messages)
                return
            self.database.execute("BEGIN IMMEDIATE")
            if messages:
                self._put(messages)
            self.database.execute(_REMOVE, (json.dumps(removed),))

    def _put(self, messages: Sequence[Message]) -> None:
        values = [
            value
            for each in messages
            for value in (each.seq, each.task, each.token, each.kind, each.body, each.id)
        ]
        self.database.execute(_put_statement(len(messages)), values)


@cache
def _put_statement(rows: int) -> str:
    return _PUT + ", ".join(["(?, ?, ?, ?, ?, ?)"] * rows)


def _open(path: Path, *, run: str) -> sqlite3.Connection:
    """Open the file for one writer. Raises sqlite3.Error, also for one that a newer supervisor made."""
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        made_for = database.execute("PRAGMA user_version").fetchone()[0]
        if made_for > _FORMAT:
            raise sqlite3.DatabaseError("a newer supervisor made it")
        if made_for < _FORMAT:
            with database:
                database.execute("BEGIN IMMEDIATE")
                database.execute(_ADD_IDS if made_for == 1 else _SCHEMA)
                database.execute(_NAME, (run,))
                database.execute(f"PRAGMA user_version = {_FORMAT}")
    except sqlite3.Error:
        database.close()
        raise
    return database
