"""A store in memory: what a database would bring to the engine, and keep of it.

The engine above it is the one that a control plane runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from stateous.engine.answers import Answer, Grant, Granted
from stateous.engine.batch import Batch
from stateous.engine.claiming import ClaimBatch
from stateous.engine.commands import (
    Carried,
    Claim,
    Command,
    EndLease,
    EndLocks,
    ExpireItems,
    FireTimer,
)
from stateous.engine.facts import Facts, Need
from stateous.engine.items import is_over
from stateous.engine.rules import Rules
from stateous.model.graph import Graph
from stateous.model.refusals import Refusal
from stateous.testing.memory_rows import MemoryRows

MOST_NEEDS = 1000
"""Beyond this many needs in one batch, the engine asks in a circle."""


class MemoryStore(MemoryRows):
    """Rows in memory. `do` decides one command; `now` moves only when somebody moves it.

    A fault of the engine is raised, as an AssertionError when it wrote what no database would take.
    """

    def __init__(self, graph: Graph, *, now: datetime, lease_for: timedelta) -> None:
        super().__init__()
        self.graph = graph
        self.rules = Rules(graph=graph, lease_for=lease_for)
        self.now: datetime = now
        self.needs = 0

    def do(self, command: Command) -> Answer | Refusal:
        """Decide one command in a batch of its own."""
        return self.do_together([command])[0]

    def do_together(self, commands: list[Command]) -> list[Answer | Refusal]:
        """Decide commands in one batch; a fault of the engine is raised."""
        batch = self.decided(commands)
        if batch.faults:
            raise batch.faults[0]
        answers: list[Any] = batch.answers
        return answers

    def decided(self, commands: Sequence[Carried]) -> Batch:
        """A batch of its own, decided and saved, whatever became of each command."""
        batch = Batch(self.rules, commands)
        self.decide(batch, Facts())
        return batch

    def decide(self, batch: Batch, facts: Facts) -> None:
        """Read, decide and save a batch; what `facts` or `busy` call busy is not read."""
        for ask in batch.asks:
            if ask.token not in facts.busy_tokens and not self.is_busy(facts, ask):
                self.read(facts, ask)
        self._decide(batch, facts)

    def claim_together(self, claims: list[Claim]) -> list[tuple[Grant, ...]]:
        """Decide claims in one batch; a fault of the engine is raised."""
        batch = ClaimBatch(self.rules, claims)
        facts = Facts()
        self.read_claims(facts, batch.asks)
        self._decide(batch, facts)
        if batch.faults:
            raise batch.faults[0]
        return [answer.grants for answer in batch.answers if isinstance(answer, Granted)]

    def tick(self) -> list[int]:
        """What the clock does: leases first, then timers; the timers that were due, as they were tried."""
        over = [
            task.id
            for task in self.tasks.values()
            if task.status == "claimed" and task.lease_until and task.lease_until < self.now
        ]
        for task in sorted(over):
            self.do(EndLease(task))
        due = [
            (timer.due_at, timer.id, timer.token)
            for timer in self.timers.values()
            if timer.status == "pending"
            and timer.due_at <= self.now
            and self.tokens[timer.token].status == "active"
        ]
        for _, timer, token in sorted(due):
            self.do(FireTimer(timer, token))
        self._tick_items()
        return [timer for _, timer, _ in sorted(due)]

    def _tick_items(self) -> None:
        locked = [item for item in self.items.values() if is_over(item, self.now)]
        for task in sorted({item.task for item in locked if item.task is not None}):
            self.do(EndLocks(task))
        due = [
            item.key
            for item in self.items.values()
            if item.expires_at is not None and item.expires_at <= self.now
        ]
        if due:
            self.do(ExpireItems(tuple(sorted(due))))

    def _decide(self, batch: Batch | ClaimBatch, facts: Facts) -> None:
        for _ in range(MOST_NEEDS):
            try:
                batch.decide(facts, self.now)
            except Need as need:
                self.needs += 1
                self.fetch(facts, need)
            else:
                break
        else:
            raise AssertionError("the engine asks for the same facts again and again")
        # Numbers go out in ascending order, so what is left over are the last ones.
        self.next_id -= len(facts.ids)
        self.save(batch.changes(facts))
