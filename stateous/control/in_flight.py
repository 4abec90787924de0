"""Items that batches in flight have asked for: who asks for one of them waits here, and not in the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from stateous.control.waiting import Waiting
from stateous.engine.family import ItemKey


class ItemsInFlight:
    """Counts them, and keeps the commands that were held back for one, in order."""

    def __init__(self) -> None:
        self._asked: Counter[ItemKey] = Counter()
        self.held_back: list[Waiting] = []

    def holds_back(self, waiting: Waiting) -> bool:
        """Whether the command has to wait for a batch in flight; then it is kept here."""
        if not waiting.items or self._asked.keys().isdisjoint(waiting.items):
            return False
        self.held_back.append(waiting)
        return True

    def begin(self, batch: Iterable[Waiting]) -> None:
        """This batch is on its way."""
        for waiting in batch:
            self._asked.update(waiting.items)

    def end(self, items: Iterable[frozenset[ItemKey]]) -> list[Waiting]:
        """A batch that asked for these is not on its way any more; the commands that were held back till now."""
        for keys in items:
            self._asked.subtract(keys)
            for key in keys:
                if not self._asked[key]:
                    del self._asked[key]
        free, self.held_back = self.held_back, []
        return free
