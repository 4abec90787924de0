"""Crashes that a test asks for, and the tasks that nobody answers for since."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from stateous.client.answers import Grant
from stateous.testing.memory_store import MemoryStore
from stateous.testing.trials import Moment

Place = str | tuple[str, str]
"""The queue of a state, or a queue and a step in it."""


class Crashes:
    """`before` and `after` count how many attempts are still to crash, by where they do."""

    def __init__(self, store: MemoryStore) -> None:
        self.before: Counter[Place] = Counter()
        self.after: Counter[Place] = Counter()
        self._store = store
        self._left: dict[int, int] = {}

    def happens(self, counted: Counter[Place], grant: Grant) -> bool:
        """Whether this attempt crashes now; then its task is left behind."""
        return self._happens(counted, grant.state, grant)

    def at_step(self, grant: Grant, step: str, moment: Moment) -> bool:
        """Whether it crashes before, or after, this step is written down."""
        counted = self.before if moment == "before" else self.after
        return self._happens(counted, (grant.state, step), grant)

    def _happens(self, counted: Counter[Place], place: Place, grant: Grant) -> bool:
        if not counted[place]:
            return False
        counted[place] -= 1
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
