"""Crashes that a test asks for, and the tasks that nobody answers for since."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from stateous.client.answers import Grant
from stateous.testing.memory_store import MemoryStore


class Crashes:
    """`before` and `after` count how many attempts are still to crash, by the queue of their state."""

    def __init__(self, store: MemoryStore) -> None:
        self.before: Counter[str] = Counter()
        self.after: Counter[str] = Counter()
        self._store = store
        self._left: dict[int, int] = {}

    def happens(self, counted: Counter[str], grant: Grant) -> bool:
        """Whether this attempt crashes now; then its task is left behind."""
        if not counted[grant.state]:
            return False
        counted[grant.state] -= 1
        self._left[grant.task] = grant.attempt
        return True

    def next_end(self) -> datetime | None:
        """When the first lease of a task that was left behind ends; None when all of them are over."""
        rows = [self._store.tasks[task] for task in self._left]
        ends = [
            row.lease_until
            for row in rows
            if row.lease_until is not None and row.attempt == self._left[row.id]
        ]
        if not ends:
            self._left.clear()
        return min(ends, default=None)
