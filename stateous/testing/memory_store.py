"""A store in memory: what a database would bring to the engine, and keep of it.

It has no SQL and no locks; the engine above it is the one that a control plane runs.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from stateous.engine.answers import Answer, Grant, Granted, Told
from stateous.engine.batch import Batch
from stateous.engine.changes import Changes
from stateous.engine.claiming import ClaimBatch
from stateous.engine.commands import Carried, Claim, Command, EndLease, FireTimer, Messages
from stateous.engine.facts import Ask, ClaimAsk, Facts, Need
from stateous.engine.family import (
    Entry,
    Family,
    Held,
    Remembered,
    Settled,
    Task,
    Timer,
    Token,
    Used,
)
from stateous.engine.rules import Rules
from stateous.model.graph import Graph
from stateous.model.refusals import Refusal

MOST_NEEDS = 1000
"""Beyond this many needs in one batch, the engine asks in a circle."""


class MemoryStore:
    """Rows in memory. `do` decides one command; `now` moves only when somebody moves it.

    A fault of the engine is raised, as an AssertionError when it wrote what no database would take.
    """

    def __init__(self, graph: Graph, *, now: datetime, lease_for: timedelta) -> None:
        self.graph = graph
        self.rules = Rules(graph=graph, lease_for=lease_for)
        self.now = now
        self.tokens: dict[str, Token] = {}
        self.tasks: dict[int, Task] = {}
        self.timers: dict[int, Timer] = {}
        self.held: dict[str, list[Held]] = {}
        self.ledger: dict[str, list[Entry]] = {}
        self.memory: dict[tuple[str, str, str], Any] = {}
        self.remembered: dict[str, Remembered] = {}
        self.inbox: dict[int, str] = {}
        """The pending rows of the inbox: the token that each is about."""
        self.settled: dict[int, Settled] = {}
        self.parked_tasks: set[int] = set()
        self.parked_timers: set[int] = set()
        self.next_id = 1
        self.needs = 0
        self.busy: set[str] = set()
        """Ids of top tokens that another connection has locked."""

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

    def tell(self, messages: Messages) -> Told:
        """Decide what a routine says of its task, in a batch of its own."""
        batch = self.decided([messages])
        if batch.faults:
            raise batch.faults[0]
        told: Any = batch.answers[0]
        return told

    def decided(self, commands: Sequence[Carried]) -> Batch:
        """A batch of its own, decided and saved, whatever became of each command."""
        batch = Batch(self.rules, commands)
        self.decide(batch, Facts())
        return batch

    def decide(self, batch: Batch, facts: Facts) -> None:
        """Read, decide and save a batch; what `facts` or `busy` call busy is not read."""
        for ask in batch.asks:
            if ask.token not in facts.busy_tokens and not self._is_busy(facts, ask):
                self._read(facts, ask)
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
        return [timer for _, timer, _ in sorted(due)]

    def pass_time(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    # -- the store's part ---------------------------------------------------------------------------

    def _decide(self, batch: Batch | ClaimBatch, facts: Facts) -> None:
        for _ in range(MOST_NEEDS):
            try:
                batch.decide(facts, self.now)
            except Need as need:
                self.needs += 1
                self._fetch(facts, need)
            else:
                break
        else:
            raise AssertionError("the engine asks for the same facts again and again")
        # Numbers go out in ascending order, so what is left over are the last ones.
        self.next_id -= len(facts.ids)
        self._save(batch.changes(facts))

    def _family(self, facts: Facts, root: str) -> Family:
        return facts.families.setdefault(root, Family(root))

    def _take(self, facts: Facts, token: str) -> None:
        found = self.tokens.get(token)
        if found is None:
            return
        family = self._family(facts, found.root)
        if token in family.tokens:
            return
        family.tokens[token] = copy.copy(found)
        family.seq_loaded[token] = found.seq
        facts.roots[token] = found.root
        if found.task is not None:
            self._take_task(facts, found.task)
        for timer in self.timers.values():
            if timer.token == token and timer.status == "pending":
                family.timers[timer.id] = copy.copy(timer)
        if found.parent is not None:
            self._take(facts, found.parent)

    def _take_task(self, facts: Facts, task: int) -> None:
        found = self.tasks.get(task)
        if found is None:
            return
        root = self.tokens[found.token].root
        family = self._family(facts, root)
        facts.task_roots[task] = root
        if task not in family.tasks:
            family.tasks[task] = copy.copy(found)

    def _read(self, facts: Facts, ask: Ask) -> None:
        if ask.task is not None and ask.task in self.tasks:
            task = self.tasks[ask.task]
            self._take_task(facts, ask.task)
            self._take(facts, task.token)
            family = self._family(facts, self.tokens[task.token].root)
            if ask.memory_key is not None:
                where = (task.token, task.state, ask.memory_key)
                family.memory_keys[where] = where in self.memory
            if ask.key is not None:
                family.keys[task.token, ask.key] = self._used(task.token, ask.key)
        if ask.token is not None:
            self._take(facts, ask.token)
            if ask.key is not None and ask.token in self.tokens:
                family = self._family(facts, facts.roots[ask.token])
                family.keys[ask.token, ask.key] = self._used(ask.token, ask.key)
        if ask.new is not None:
            self._look_up(facts, ask.new)
        if ask.row in self.inbox:
            token = self.inbox[ask.row].lower()
            before = [row for row, its in self.inbox.items() if its.lower() == token]
            facts.inbox[ask.row] = max((row for row in before if row < ask.row), default=None)
        self._reserve(facts, ask.ids)

    def _used(self, token: str, key: str) -> Used | None:
        for entry in self.ledger[token]:
            if entry.key == key:
                reason = entry.data["reason"] if entry.kind == "event_rejected" else None
                return Used(entry.kind, reason)
        return None

    def _is_busy(self, facts: Facts, ask: Ask) -> bool:
        if ask.task is not None and ask.task in self.tasks:
            token = self.tasks[ask.task].token
            if self.tokens[token].root in self.busy:
                facts.busy_tasks.add(ask.task)
                return True
        asked = ask.token
        if asked is None:
            return False
        root = self.tokens[asked].root if asked in self.tokens else asked
        if root in self.busy:
            facts.busy_tokens.add(asked)
        return root in self.busy

    def read_claims(self, facts: Facts, asks: list[ClaimAsk]) -> None:
        """Read what these claims may be given, and what their supervisors were given before."""
        wanted = {queue for ask in asks for queue in ask.queues}
        ready = [
            task
            for task in self.tasks.values()
            if task.status == "queued"
            and task.queue in wanted
            and self.tokens[task.token].status == "active"
        ]
        for task in sorted(ready, key=lambda task: task.id)[: sum(ask.max for ask in asks)]:
            self._take(facts, task.token)
            facts.ready.append(task)
            self._remember(facts, task)
        for ask in asks:
            if ask.supervisor in self.remembered:
                facts.remembered[ask.supervisor] = self.remembered[ask.supervisor]

    def _remember(self, facts: Facts, task: Task) -> None:
        facts.memory[task.token, task.state] = {
            key: value
            for (token, state, key), value in self.memory.items()
            if (token, state) == (task.token, task.state)
        }

    def _fetch(self, facts: Facts, need: Need) -> None:
        for token in need.tokens:
            self._take(facts, token)
            if token not in self.tokens:
                self._family(facts, need.root).absent.add(token)
        for token in need.free:
            if token in self.busy:
                facts.busy_tokens.add(token)
            else:
                self._look_up(facts, token)
        for task in need.tasks:
            self._take_task(facts, task)
        for task, _ in need.grants:
            if task not in self.tasks:
                continue
            self._take(facts, self.tasks[task].token)
            self._take_task(facts, task)
            self._remember(facts, self.tasks[task])
        if need.held:
            facts.families[need.root].held = list(self.held.get(need.root, []))
        self._reserve(facts, need.ids)

    def _look_up(self, facts: Facts, token: str) -> None:
        lowered = token.lower()
        facts.taken[lowered] = next((t for t in self.tokens if t.lower() == lowered), None)

    def _reserve(self, facts: Facts, count: int) -> None:
        ids = list(range(self.next_id, self.next_id + count))
        self.next_id += count
        facts.ids = [*reversed(ids), *facts.ids]

    def _save(self, changes: Changes) -> None:
        for token in changes.new_tokens:
            if token.token.lower() in {t.lower() for t in self.tokens}:
                raise AssertionError(f"{token.token} is written a second time")
            self.tokens[token.token] = token
            self.ledger[token.token] = []
        for token, seq_loaded in changes.tokens:
            if self.tokens[token.token].seq != seq_loaded:
                raise AssertionError(f"{token.token} is written over what nobody read")
            self.tokens[token.token] = token
        for entry in changes.entries:
            self.ledger[entry.token].append(entry)
        for task in [*changes.new_tasks, *changes.tasks]:
            self.tasks[task.id] = task
            is_parked = task.token in changes.parked and task.status == "queued"
            (self.parked_tasks.add if is_parked else self.parked_tasks.discard)(task.id)
        for timer in [*changes.new_timers, *changes.timers]:
            self.timers[timer.id] = timer
            is_parked = timer.token in changes.parked and timer.status == "pending"
            (self.parked_timers.add if is_parked else self.parked_timers.discard)(timer.id)
        for root in changes.held_cleared:
            self.held.pop(root, None)
        for root, held in changes.held:
            self.held.setdefault(root, []).append(held)
        for token, state, key, value in changes.memory:
            if value is None:
                self.memory.pop((token, state, key), None)
            else:
                self.memory[token, state, key] = value
        for token in changes.memory_wiped:
            self.memory = {where: v for where, v in self.memory.items() if where[0] != token}
        for remembered in changes.remembered:
            self.remembered[remembered.supervisor] = remembered
        self._settle(changes.settled)

    def _settle(self, settled: Iterable[Settled]) -> None:
        for each in settled:
            if each.row not in self.inbox:
                raise AssertionError(f"row {each.row} of the inbox is settled a second time")
            del self.inbox[each.row]
            self.settled[each.row] = each
