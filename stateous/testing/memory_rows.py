"""The rows of a store in memory: what the engine asks for is read of them, what it decided is saved in them.

It has no SQL and no locks.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

from stateous.engine.changes import Changes
from stateous.engine.facts import Ask, ClaimAsk, Facts, Need
from stateous.engine.family import (
    Entry,
    Family,
    Flow,
    FlowStep,
    Held,
    Item,
    ItemKey,
    Remembered,
    Settled,
    Task,
    Timer,
    Token,
    Used,
)

_NEVER: Final = datetime.min.replace(tzinfo=UTC)


class MemoryRows:
    """What a database would keep, by its keys. Numbers of new tasks and timers count up from `next_id`."""

    def __init__(self) -> None:
        self.tokens: dict[str, Token] = {}
        self.tasks: dict[int, Task] = {}
        self.timers: dict[int, Timer] = {}
        self.held: dict[str, list[Held]] = {}
        self.ledger: dict[str, list[Entry]] = {}
        self.memory: dict[tuple[str, str, str], Any] = {}
        self.flows: dict[int, Flow] = {}
        self.steps: dict[tuple[int, str], FlowStep] = {}
        self.items: dict[ItemKey, Item] = {}
        self.item_changes: list[Item] = []
        self.remembered: dict[str, Remembered] = {}
        self.inbox: dict[int, str] = {}
        """The pending rows of the inbox: the token that each is about."""
        self.settled: dict[int, Settled] = {}
        self.parked_tasks: set[int] = set()
        self.parked_timers: set[int] = set()
        self.next_id = 1
        self.busy: set[str] = set()
        """Ids of top tokens that another connection has locked."""

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

    def read(self, facts: Facts, ask: Ask) -> None:
        """Read what the engine asks for before it decides anything."""
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
        if ask.task is not None and ask.steps is not None:
            self._take_flow(facts, ask.task, ask.steps)
        for key in ask.items:
            facts.take_item(self.items.get(key) or _nothing_of(key))
        self._reserve(facts, ask.ids)

    def _take_flow(self, facts: Facts, task: int, names: Iterable[str]) -> None:
        family = facts.family_of_task(task)
        if family is None:
            return
        family.flows.setdefault(task, self.flows.get(task))
        for (of, name), step in self.steps.items():
            if of == task and (step.status == "open" or name in names):
                family.steps.setdefault((task, name), step)
        for name in names:
            family.steps.setdefault((task, name), None)

    def _used(self, token: str, key: str) -> Used | None:
        for entry in self.ledger[token]:
            if entry.key == key:
                reason = entry.data["reason"] if entry.kind == "event_rejected" else None
                return Used(entry.kind, reason)
        return None

    def is_busy(self, facts: Facts, ask: Ask) -> bool:
        """Whether another connection has what is asked for; the facts say so then."""
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
        if task.id in self.flows:
            steps = [step for (of, _), step in self.steps.items() if of == task.id]
            steps.sort(key=lambda step: step.seq)
            facts.flows[task.id] = (self.flows[task.id], tuple(steps))

    def fetch(self, facts: Facts, need: Need) -> None:
        """Read what the engine found that it needs, too."""
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
        for task, names in need.flows:
            self._take_flow(facts, task, names)
        for task in need.items_of:
            facts.locks_read.add(task)
            for item in self.items.values():
                if item.task == task and item.status == "processing":
                    facts.take_item(item)
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

    def save(self, changes: Changes) -> None:
        """Keep what was decided. Raises AssertionError for what no database would take."""
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
        self.flows.update({flow.task: flow for flow in changes.flows})
        self.steps.update({(step.task, step.name): step for step in changes.steps})
        self.items.update({item.key: item for item in changes.items})
        self.item_changes.extend(changes.item_changes)
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


def _nothing_of(key: ItemKey) -> Item:
    scope, place, entity, item = key
    return Item(scope=scope, place=place, entity=entity, item=item, changed_at=_NEVER)
