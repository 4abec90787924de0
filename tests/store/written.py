"""Batches written by hand, and the values that they write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from stateous.engine.changes import Changes
from stateous.engine.facts import Ask, ClaimAsk, Facts
from stateous.engine.family import Entry, Occurrence, Task, Timer, Token
from stateous.store.store import Store

AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)

Decide = Callable[[Facts, datetime], Changes | None]


class Written:
    """A batch whose decision is a function of the facts; it keeps the facts for the test to look at."""

    def __init__(self, *asks: Ask, decide: Decide | None = None) -> None:
        self.asks: Sequence[Ask] = asks
        self._decide = decide
        self._changes = Changes()
        self.facts = Facts()
        self.times: list[datetime] = []

    def decide(self, facts: Facts, now: datetime) -> None:
        self.facts = facts
        self.times.append(now)
        if self._decide is not None:
            self._changes = self._decide(facts, now) or Changes()

    def changes(self, facts: Facts) -> Changes:
        return self._changes


class WrittenClaims(Written):
    """As Written, for claims."""

    def __init__(self, *asks: ClaimAsk, decide: Decide | None = None) -> None:
        super().__init__(decide=decide)
        self.asks: Sequence[ClaimAsk] = asks  # type: ignore[assignment]


async def write(store: Store, changes: Changes) -> None:
    """Save these changes in a batch that asks for nothing."""
    await store.batch_decide(Written(decide=lambda _facts, _now: changes))


async def read(store: Store, *asks: Ask) -> Facts:
    """The facts that a batch of these asks gets."""
    batch = Written(*asks)
    await store.batch_decide(batch)
    return batch.facts


def token(name: str, **fields: Any) -> Token:
    """An active token in `draft`."""
    given: dict[str, Any] = {
        "token": name,
        "root": name,
        "parent": None,
        "workflow": "orders",
        "state": "draft",
        "status": "active",
        "visit": 1,
        "seq": 1,
        "context": {"title": "Chair"},
        "counts": {"__started__": 1},
        "visits": {"draft": 1},
        "entered_by": Occurrence("__started__"),
        "task": None,
        "children_open": 0,
        "held_count": 0,
        "created_at": AT,
        "entered_at": AT,
        "changed_at": AT,
    }
    return Token(**{**given, **fields})


def task(id: int, name: str, **fields: Any) -> Task:
    """A queued task of `draft`."""
    given: dict[str, Any] = {
        "id": id,
        "token": name,
        "queue": "draft",
        "state": "draft",
        "visit": 1,
        "status": "queued",
        "attempt": 0,
        "failures": 0,
        "claimed_by": None,
        "lease_until": None,
        "queued_at": AT,
    }
    return Task(**{**given, **fields})


def timer(id: int, name: str, **fields: Any) -> Timer:
    """A pending timeout of `draft`, due in an hour."""
    given: dict[str, Any] = {
        "id": id,
        "token": name,
        "state": "draft",
        "visit": 1,
        "event": "timeout",
        "payload": None,
        "kind": "timeout",
        "status": "pending",
        "set_at": AT,
        "due_at": AT + timedelta(hours=1),
    }
    return Timer(**{**given, **fields})


def entry(name: str, seq: int, kind: str = "note", key: str | None = None, **data: Any) -> Entry:
    return Entry(name, seq, AT, kind, data, key)


async def write_ready(store: Store, *ids: int, queue: str = "draft") -> None:
    """A token `T-<id>` with a queued task for each of the ids."""
    await write(
        store,
        Changes(
            new_tokens=[token(f"T-{n}", task=n) for n in ids],
            new_tasks=[task(n, f"T-{n}", queue=queue) for n in ids],
        ),
    )
