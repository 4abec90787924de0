"""A world in memory: what a database would bring to the engine and keep of it, and its invariants.

It is no double of the store: it has no SQL and no locks. It lets properties run thousands of commands.
"""

from __future__ import annotations

import copy
import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

from stateous.engine.answers import Answer, Grant, Granted, Skipped
from stateous.engine.batch import Batch
from stateous.engine.changes import Changes
from stateous.engine.claiming import ClaimBatch
from stateous.engine.commands import Claim, Command, EndLease, FireTimer
from stateous.engine.facts import Ask, ClaimAsk, Facts, Need
from stateous.engine.family import Entry, Family, Held, Remembered, Task, Timer, Token
from stateous.engine.lifecycles import LIVE_TOKEN, OPEN_TASK
from stateous.engine.rules import Rules
from stateous.model.graph import parse_graph
from stateous.model.refusals import Refusal

START_OF_TIME = datetime(2030, 1, 1, tzinfo=UTC)


class World:
    """Rows in memory. `do` decides one command; `now` moves only when a test moves it."""

    def __init__(
        self, document: dict[str, Any], *, lease_for: timedelta = timedelta(minutes=2)
    ) -> None:
        self.graph = parse_graph(document)
        self.rules = Rules(graph=self.graph, lease_for=lease_for)
        self.now = START_OF_TIME
        self.tokens: dict[str, Token] = {}
        self.tasks: dict[int, Task] = {}
        self.timers: dict[int, Timer] = {}
        self.held: dict[str, list[Held]] = {}
        self.ledger: dict[str, list[Entry]] = {}
        self.memory: dict[tuple[str, str, str], Any] = {}
        self.remembered: dict[str, Remembered] = {}
        self.next_id = 1
        self.needs = 0

    # -- commands -----------------------------------------------------------------------------------

    def do(self, command: Command) -> Answer | Refusal:
        """Decide one command in a batch of its own."""
        return self.do_together([command])[0]

    def do_together(self, commands: list[Command]) -> list[Answer | Refusal]:
        """Decide commands in one batch; a fault of the engine is raised."""
        batch = Batch(self.rules, commands)
        facts = Facts()
        self.decide(batch, facts)
        if batch.faults:
            raise batch.faults[0]
        answers = [answer for answer in batch.answers if not isinstance(answer, Skipped)]
        assert len(answers) == len(commands)
        return answers

    def claim(
        self, *states: str, supervisor: str = "box", request: str | None = None, most: int = 1
    ) -> tuple[Grant, ...]:
        """Claim up to `most` tasks."""
        claim = Claim(
            supervisor=supervisor,
            states=tuple(self.graph.queue_of(state) for state in states),
            request=request,
            max=most,
        )
        batch = ClaimBatch(self.rules, [claim])
        facts = Facts()
        for ask in batch.asks:
            self._read_claim(facts, ask)
        self._decide(batch, facts)
        if batch.faults:
            raise batch.faults[0]
        answer = batch.answers[0]
        assert isinstance(answer, Granted)
        return answer.grants

    def tick(self) -> None:
        """What the clock does: leases first, then timers."""
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

    def pass_time(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def kinds(self, token: str) -> list[str]:
        """The kinds of a token's ledger entries, in order."""
        return [entry.kind for entry in self.ledger[token]]

    def decide(self, batch: Batch, facts: Facts) -> None:
        """Read, decide and save a batch; what `facts` calls busy is not read."""
        for ask in batch.asks:
            if ask.token not in facts.busy_tokens:
                self._read(facts, ask)
        self._decide(batch, facts)

    # -- the store's part ---------------------------------------------------------------------------

    def _decide(self, batch: Batch | ClaimBatch, facts: Facts) -> None:
        while True:
            try:
                batch.decide(facts, self.now)
            except Need as need:
                self.needs += 1
                self._fetch(facts, need)
            else:
                break
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
            if ask.memory_key is not None:
                where = (task.token, task.state, ask.memory_key)
                family = self._family(facts, self.tokens[task.token].root)
                family.memory_keys[where] = where in self.memory
        if ask.token is not None:
            self._take(facts, ask.token)
            if ask.key is not None and ask.token in self.tokens:
                used = any(entry.key == ask.key for entry in self.ledger[ask.token])
                self._family(facts, facts.roots[ask.token]).keys[ask.token, ask.key] = used
        if ask.new is not None:
            self._look_up(facts, ask.new)
        self._reserve(facts, ask.ids)

    def _read_claim(self, facts: Facts, ask: ClaimAsk) -> None:
        ready = [
            task
            for task in self.tasks.values()
            if task.status == "queued"
            and task.queue in ask.queues
            and self.tokens[task.token].status == "active"
        ]
        for task in sorted(ready, key=lambda task: task.id)[: ask.max]:
            self._take(facts, task.token)
            facts.ready.append(task)
            self._remember(facts, task)
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
            self._look_up(facts, token)
        for task in need.tasks:
            self._take_task(facts, task)
        for task, _ in need.grants:
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
            assert token.token.lower() not in {t.lower() for t in self.tokens}
            self.tokens[token.token] = token
            self.ledger[token.token] = []
        for token, seq_loaded in changes.tokens:
            assert self.tokens[token.token].seq == seq_loaded
            self.tokens[token.token] = token
        for entry in changes.entries:
            self.ledger[entry.token].append(entry)
        for task in [*changes.new_tasks, *changes.tasks]:
            self.tasks[task.id] = task
        for timer in [*changes.new_timers, *changes.timers]:
            self.timers[timer.id] = timer
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

    # -- invariants ---------------------------------------------------------------------------------

    def check_invariants(self) -> None:
        """The numbered invariants that one moment can show."""
        for token in self.tokens.values():
            self._check_token(token)
        for task in self.tasks.values():
            if task.status in OPEN_TASK:
                assert self.tokens[task.token].task == task.id
            assert (task.status == "claimed") == (task.lease_until is not None)
        visits = [(t.token, t.state, t.visit) for t in self.tasks.values()]
        assert len(visits) == len(set(visits)), "a visit has exactly one task"
        for root, held in self.held.items():
            assert [one.arrival for one in held] == list(range(1, len(held) + 1))
            assert self.tokens[root].held_count == len(held)
            assert self.tokens[root].status == "paused"

    def _check_token(self, token: Token) -> None:
        entries = self.ledger[token.token]
        assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
        assert token.seq == len(entries)
        assert all(a.at <= b.at for a, b in itertools.pairwise(entries))
        keys = [entry.key for entry in entries if entry.key is not None]
        assert len(keys) == len(set(keys))
        open_tasks = [
            task
            for task in self.tasks.values()
            if task.token == token.token and task.status in OPEN_TASK
        ]
        assert [task.id for task in open_tasks] == ([] if token.task is None else [token.task])
        pending = [
            timer
            for timer in self.timers.values()
            if timer.token == token.token and timer.status == "pending"
        ]
        children = [child for child in self.tokens.values() if child.parent == token.token]
        live = [child for child in children if child.status in LIVE_TOKEN]
        assert token.children_open == len(live)
        if token.status in LIVE_TOKEN:
            assert all(
                (timer.state, timer.visit) == (token.state, token.visit) for timer in pending
            )
            assert all(child.status == token.status for child in live)
            if not self.rules.state(token.workflow, token.state).parallel:
                self._check_not_stuck(token, open_tasks)
        else:
            assert not open_tasks
            assert not pending
            assert not any(where[0] == token.token for where in self.memory)

    def _check_not_stuck(self, token: Token, open_tasks: list[Task]) -> None:
        held_outcome = any(
            held.token == token.token and held.task is not None
            for held in self.held.get(token.root, [])
        )
        assert open_tasks or held_outcome, "a live token has work, or holds an outcome"
