"""The numbered invariants of the house that one moment can show, checked on a world in memory."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from stateous.engine.family import Held, Item, ItemKey, Task, Timer, Token
from stateous.engine.flows import size_of
from stateous.engine.lifecycles import ITEM, LIVE_TOKEN, OPEN_TASK
from tests.engine.replay import Replayed

if TYPE_CHECKING:
    from tests.engine.world import World


KINDS = {
    "processing": "item_acquired",
    "processed": "item_processed",
    "failed": "item_failed",
    "skipped": "item_skipped",
}


class Moment:
    """The rows of a world by token, gathered once for all checks."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.tasks: dict[str, list[Task]] = {token: [] for token in world.tokens}
        self.pending: dict[str, list[Timer]] = {token: [] for token in world.tokens}
        self.children: dict[str, list[Token]] = {token: [] for token in world.tokens}
        for task in world.tasks.values():
            self.tasks[task.token].append(task)
        for timer in world.timers.values():
            if timer.status == "pending":
                self.pending[timer.token].append(timer)
        for token in world.tokens.values():
            if token.parent is not None:
                self.children[token.parent].append(token)

    def check(self) -> None:
        for token in self.world.tokens.values():
            self._check_ledger(token)
            self._check_replayed(token)
            self._check_work(token)
            self._check_family(token)
        for root, held in self.world.held.items():
            self._check_held(root, held)
        self._check_items()

    def _check_items(self) -> None:
        """Each item is what its last change says, came there as its life cycle allows, and is open only for an open task."""
        last: dict[ItemKey, Item] = {}
        for change in self.world.item_changes:
            was = last.get(change.key)
            status = "none" if was is None else was.status
            if (status, change.status) == ("processing", "processing"):
                assert was is not None
                assert was.task == change.task, "only a later attempt acquires what is locked"
            else:
                assert change.status in ITEM[status], (status, change.status)
            last[change.key] = change
            if change.seq is not None:
                assert change.token is not None
                entry = self.world.ledger[change.token][change.seq - 1]
                assert entry.kind == KINDS[change.status]
                assert entry.data["task"] == change.task
                assert entry.at == change.changed_at
        assert last.keys() == self.world.items.keys()
        for key, item in self.world.items.items():
            assert (item.status, item.data, item.seq) == (
                last[key].status,
                last[key].data,
                last[key].seq,
            )
            assert (item.status == "processing") == (item.locked_until is not None)
            if item.status == "processing":
                assert item.task is not None
                task = self.world.tasks[item.task]
                assert task.status in OPEN_TASK, "what an attempt has locked ends with it"
                assert task.has_items
                if task.status == "claimed" and item.attempt != task.attempt:
                    assert item.attempt is not None
                    assert item.attempt < task.attempt

    def _check_ledger(self, token: Token) -> None:
        entries = self.world.ledger[token.token]
        assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
        assert token.seq == len(entries)
        assert all(one.at <= next_one.at for one, next_one in pairwise(entries))
        assert token.changed_at >= entries[-1].at
        keys = [entry.key for entry in entries if entry.key is not None]
        assert len(keys) == len(set(keys)), "a key is used up once"

    def _check_replayed(self, token: Token) -> None:
        replayed = Replayed(self.world.ledger[token.token])
        tasks = self.tasks[token.token]
        assert replayed.state == token.state
        assert replayed.visit == token.visit
        assert replayed.status == token.status
        assert replayed.context == token.context
        assert replayed.counts == token.counts
        assert replayed.visits == token.visits
        assert replayed.tasks == {task.id: task.status for task in tasks}
        assert replayed.attempts == {task.id: task.attempt for task in tasks}

    def _check_work(self, token: Token) -> None:
        tasks, pending = self.tasks[token.token], self.pending[token.token]
        open_tasks = [task.id for task in tasks if task.status in OPEN_TASK]
        assert open_tasks == ([] if token.task is None else [token.task])
        visits = Counter((task.state, task.visit) for task in tasks)
        assert all(count == 1 for count in visits.values()), "a visit has one task"
        for task in tasks:
            assert (task.status == "claimed") == (task.lease_until is not None)
            if task.status in ("queued", "waiting"):
                assert task.claimed_by is None, "only who holds a task is named by it"
            is_parked = task.status == "queued" and token.status == "paused"
            assert (task.id in self.world.parked_tasks) == is_parked
            assert task.awaiting is None or task.status == "waiting"
            self._check_flow(token, task)
        for timer in pending:
            assert (timer.state, timer.visit) == (token.state, token.visit)
            assert (timer.id in self.world.parked_timers) == (token.status == "paused")
        if token.status not in LIVE_TOKEN:
            assert not open_tasks
            assert not pending
            assert not any(where[0] == token.token for where in self.world.memory)

    def _check_flow(self, token: Token, task: Task) -> None:
        steps = {name: s for (of, name), s in self.world.steps.items() if of == task.id}
        flow = self.world.flows.get(task.id)
        assert flow is not None or not steps
        if flow is not None:
            assert flow.step_count == len(steps)
            assert flow.size == sum(map(size_of, steps.values()))
        opened = [step.name for step in steps.values() if step.status == "open"]
        for step in steps.values():
            if step.kind == "child" and step.status == "open" and task.status in OPEN_TASK:
                assert token.child == step.child, "a child that has ended has ended its step"
        assert len(opened) <= 1, "one step is open at a time"
        if task.awaiting is not None and token.status == "active":
            awaited = [steps[name].status for name in task.awaiting]
            assert "open" in awaited, "who waits for steps that have ended is queued"
        for timer in self.pending[token.token]:
            if timer.kind == "deadline" and timer.visit == task.visit and timer.state == task.state:
                assert timer.step in opened, "what has ended has no deadline"

    def _check_family(self, token: Token) -> None:
        live = [child for child in self.children[token.token] if child.status in LIVE_TOKEN]
        assert token.children_open == len(live)
        if token.status not in LIVE_TOKEN:
            assert not live
            return
        assert all(child.status == token.status for child in live), "a family is paused as a whole"
        self._check_awaited(token, live)
        prefix = f"{token.token}.{token.state}.{token.visit}."
        parallel = [child for child in live if child.token != token.child]
        assert all(child.token.startswith(prefix) for child in parallel)
        if self.world.rules.state(token.workflow, token.state).parallel:
            assert live, "a parallel state whose children have all ended has met its join"
        else:
            held = self.world.held.get(token.root, [])
            has_outcome = any(one.token == token.token and one.task is not None for one in held)
            assert token.task is not None or has_outcome, "a live token has work, or an outcome"

    def _check_awaited(self, token: Token, live: list[Token]) -> None:
        """The live child that a routine began is the one that an open step of it awaits."""
        if token.child is None:
            return
        assert [child.token for child in live] == [token.child]
        (step,) = (step for step in self.world.steps.values() if step.child == token.child)
        assert (step.task, step.status) == (token.child_task, "open")
        task = self.world.tasks[step.task]
        assert (task.token, task.state, task.visit) == (token.token, token.state, token.visit)

    def _check_held(self, root: str, held: list[Held]) -> None:
        assert [one.arrival for one in held] == list(range(1, len(held) + 1))
        assert self.world.tokens[root].held_count == len(held)
        assert self.world.tokens[root].status == "paused"
