"""A token of a rehearsal: it always shows how the token is now."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from stateous.client.answers import Entry
from stateous.engine import family
from stateous.model.sentences import entry_sentence, token_sentence
from stateous.testing.memory_store import MemoryStore


class RehearsedToken:
    """One run of the workflow. Its fields are those of a client's Token, and what it has gone through."""

    def __init__(self, store: MemoryStore, token: str) -> None:
        self.token = token
        self._store = store

    @property
    def state(self) -> str:
        return self._row.state

    @property
    def status(self) -> str:
        """`active`, `paused`, `completed`, `failed` or `cancelled`."""
        return self._row.status

    @property
    def visit(self) -> int:
        return self._row.visit

    @property
    def context(self) -> dict[str, Any]:
        """A copy of its context."""
        return _plain(self._row.context)

    @property
    def parent(self) -> str | None:
        return self._row.parent

    @property
    def entered_at(self) -> datetime:
        return self._row.entered_at

    @property
    def task(self) -> int | None:
        """The number of its open task; None when it has ended, or is in a state that runs child tokens."""
        return self._row.task

    @property
    def waits(self) -> bool:
        """Whether its task waits for someone outside, or for a timer."""
        task = self._row.task
        return task is not None and self._store.tasks[task].status == "waiting"

    @property
    def memory(self) -> dict[str, Any]:
        """What the routine of its state remembers; nothing when the token has ended."""
        here = (self.token, self.state)
        kept = {
            key: value for (*where, key), value in self._store.memory.items() if (*where,) == here
        }
        return _plain(kept)

    @property
    def steps(self) -> dict[str, Any]:
        """The results of the steps, responses and children that its routine has had in this visit."""
        task = self._row.task
        done = [s for s in self._store.steps.values() if s.task == task and s.status == "done"]
        return _plain({step.name: step.result for step in sorted(done, key=lambda s: s.seq)})

    @property
    def awaits(self) -> str | None:
        """The response or child that it waits for."""
        task = self._row.task
        steps = self._store.steps.values()
        return next((s.name for s in steps if s.task == task and s.status == "open"), None)

    @property
    def children(self) -> list[RehearsedToken]:
        """All child tokens that it has started, in that order; also those that have ended."""
        rows = self._store.tokens.values()
        return [RehearsedToken(self._store, row.token) for row in rows if row.parent == self.token]

    @property
    def history(self) -> list[Entry]:
        """Its ledger."""
        return [
            Entry(entry.seq, entry.at, entry.kind, _plain(entry.data))
            for entry in self._store.ledger[self.token]
        ]

    @property
    def sentences(self) -> list[str]:
        """Its ledger, each entry as `stateous token history` says it."""
        return [entry_sentence(entry.kind, entry.data) for entry in self.history]

    @property
    def notes(self) -> list[str]:
        """What its routines noted, in all states."""
        return [entry.data["text"] for entry in self.history if entry.kind == "note"]

    @property
    def _row(self) -> family.Token:
        return self._store.tokens[self.token]

    def __repr__(self) -> str:
        return f"<{token_sentence(self.token, self.state, self.visit, self.status)}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RehearsedToken):
            return NotImplemented
        return self.token == other.token and self._store is other._store

    def __hash__(self) -> int:
        return hash(self.token)


def _plain(document: dict[str, Any]) -> dict[str, Any]:
    """A copy, as JSON has it: a test may change it, and the store does not see that."""
    return msgspec.json.decode(msgspec.json.encode(document))
