"""A draft: the changes of one command, kept apart from its family until the command is decided.

Rules read and write through the draft. If a rule raises, the draft is thrown away and the family is as
it was; `keep` writes it into the family. A missing fact raises `Need` from here.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property

from stateous.engine.facts import Busy, Facts, Need
from stateous.engine.family import (
    Document,
    Entry,
    Family,
    Flow,
    FlowStep,
    Held,
    Item,
    ItemKey,
    Json,
    Task,
    Timer,
    Token,
    Used,
)
from stateous.engine.lifecycles import OPEN_TASK, TASK, TIMER, TOKEN, IllegalMove, check_move
from stateous.engine.plans import Step
from stateous.engine.rules import Rules


class Draft:
    """One command's view of its family. `at` is the one time of all its entries.

    `steps` are what moves have set going and `joins` has still to settle, the next one last.
    """

    def __init__(self, rules: Rules, facts: Facts, family: Family, now: datetime) -> None:
        self.rules = rules
        self.facts = facts
        self.family = family
        # A clock that stands behind an earlier one must not make a ledger run backwards.
        self.at = max([now, *(token.changed_at for token in family.tokens.values())])
        self._tokens: dict[str, Token] = {}
        self._tasks: dict[int, Task] = {}
        self._timers: dict[int, Timer] = {}
        self._entries: list[Entry] = []
        self._new_tokens: list[str] = []
        self._new_tasks: list[int] = []
        self._new_timers: list[int] = []
        self._keys: dict[tuple[str, str], Used] = {}
        self._held: list[Held] | None = None
        self._held_added: list[Held] = []
        self._memory: dict[tuple[str, str, str], Json] = {}
        self._wiped: list[str] = []
        self._flows: dict[int, Flow] = {}
        self._flow_steps: dict[tuple[int, str], FlowStep] = {}
        self._items: dict[ItemKey, Item] = {}
        self._item_changes: list[Item] = []
        self._ids_used = 0
        self._reserved: set[str] = set()
        self.steps: list[Step] = []

    # -- reading ------------------------------------------------------------------------------------

    def token(self, token: str) -> Token:
        """The token as this draft has it; it must be here."""
        found = self._tokens.get(token) or self.family.tokens.get(token)
        if found is None:
            raise Need(root=self.family.root, tokens=(token,))
        return found

    def tokens(self, ids: Iterable[str]) -> list[Token]:
        """Those of the ids that exist, in their order; what was not read yet is needed all at once."""
        wanted = list(ids)
        missing = tuple(
            token
            for token in wanted
            if token not in self._tokens
            and token not in self.family.tokens
            and token not in self.family.absent
            # A planned child's id was looked up. If no token has it, it was never started.
            and self.facts.taken.get(token.lower(), token) is not None
        )
        if missing:
            raise Need(root=self.family.root, tokens=missing)
        return [
            self._tokens.get(token) or self.family.tokens[token]
            for token in wanted
            if token in self._tokens or token in self.family.tokens
        ]

    def task(self, task: int) -> Task:
        """The task as this draft has it, whatever its status."""
        found = self._tasks.get(task) or self.family.tasks.get(task)
        if found is None:
            raise Need(root=self.family.root, tasks=(task,))
        return found

    def open_task(self, token: Token) -> Task | None:
        """The token's one open task."""
        return None if token.task is None else self.task(token.task)

    def pending_timers(self, token: str) -> list[Timer]:
        """The token's pending timers by id."""
        found = (self.timer(timer) for timer in sorted(self._timers_of[token]))
        return [timer for timer in found if timer is not None and timer.status == "pending"]

    @cached_property
    def _timers_of(self) -> defaultdict[str, list[int]]:
        """The numbers of the timers of each token: a parent that leaves asks for those of every child."""
        numbers: defaultdict[str, list[int]] = defaultdict(list)
        for timer in self.family.timers.values():
            numbers[timer.token].append(timer.id)
        return numbers

    def timer(self, timer: int) -> Timer | None:
        """A pending timer of a token that was read, or None."""
        return self._timers.get(timer) or self.family.timers.get(timer)

    def held(self) -> list[Held]:
        """What the family holds, by arrival."""
        if self._held is not None:
            return self._held
        if self.family.held is None and self.token(self.family.root).held_count > 0:
            raise Need(root=self.family.root, held=True)
        return [*(self.family.held or ()), *self.family.held_added]

    def used(self, token: str, key: str) -> Used | None:
        """The entry of the token's ledger that has this key, None if there is none; it was asked for."""
        if token in self.family.new_tokens:
            return self.family.keys.get((token, key))
        return self.family.keys[token, key]

    def reserve(self, ids: Iterable[str]) -> bool:
        """Reserve ids for tokens that are about to start; False if one is taken, in whatever case."""
        lowered = {token.lower() for token in ids}
        missing = tuple(sorted(token for token in lowered if token not in self.facts.taken))
        if missing:
            raise Need(free=missing)
        if any(self.facts.taken[token] is not None for token in lowered):
            return False
        if not lowered.isdisjoint(self._reserved):
            return False
        self._reserved |= lowered
        return True

    @property
    def started(self) -> int:
        """How many tokens this command has started so far."""
        return len(self._new_tokens)

    def flow(self, task: int) -> Flow | None:
        """The task's flow, None as long as it has none."""
        found = self._flows.get(task)
        if found is not None:
            return found
        if task not in self.family.flows:
            raise Need(root=self.family.root, flows=((task, ()),))
        return self.family.flows[task]

    def flow_steps(self, task: int, names: Iterable[str]) -> dict[str, FlowStep | None]:
        """These steps of the task's flow by name, None: there is no such step; what was not read is needed all at once."""
        found: dict[str, FlowStep | None] = {}
        missing: list[str] = []
        for name in names:
            place = (task, name)
            if place in self._flow_steps:
                found[name] = self._flow_steps[place]
            elif place in self.family.steps:
                found[name] = self.family.steps[place]
            else:
                missing.append(name)
        if missing:
            raise Need(root=self.family.root, flows=((task, tuple(missing)),))
        return found

    def know_steps(self, asked: Mapping[int, Sequence[str]]) -> None:
        """Ask for these steps of many tasks' flows at once, as far as they were not read yet."""
        missing = tuple(
            (task, tuple(names))
            for task, names in asked.items()
            if task not in self.family.flows
            or any((task, name) not in self.family.steps for name in names)
        )
        if missing:
            raise Need(root=self.family.root, flows=missing)

    def open_step(self, task: int) -> FlowStep | None:
        """The step of the task's flow that is open; the flow was read."""
        steps = {**self.family.steps, **self._flow_steps}
        return next(
            (
                step
                for (of, _), step in steps.items()
                if of == task and step is not None and step.status == "open"
            ),
            None,
        )

    def item(self, key: ItemKey) -> Item:
        """The item as this draft has it; it was asked for."""
        return self._items.get(key) or self.facts.items[key]

    def read_locks(self, tasks: Iterable[Task]) -> None:
        """Ask for what these tasks have locked all at once: each need is waited for, and decided anew. Raises Need."""
        asked = [task.id for task in tasks if task.has_items]
        missing = tuple(task for task in asked if task not in self.facts.locks_read)
        if missing:
            raise Need(items_of=missing)

    def locked_items(self, task: int) -> list[Item]:
        """The items that this task has locked, by their keys. Raises Busy when others hold one of them."""
        if task in self.facts.busy_locks:
            raise Busy
        if task not in self.facts.locks_read:
            raise Need(items_of=(task,))
        keys = {*self.facts.locks.get(task, ()), *self._items}
        found = [self.item(key) for key in sorted(keys)]
        return [item for item in found if item.status == "processing" and item.task == task]

    # -- writing ------------------------------------------------------------------------------------

    def edit(self, token: str) -> Token:
        """A copy of the token that belongs to this draft and may be changed in place."""
        found = self._tokens.get(token)
        if found is None:
            found = copy.copy(self.token(token))
            self._tokens[token] = found
        return found

    def set_status(self, token: str, status: str) -> None:
        """Move the token's status as its life cycle allows."""
        edited = self.edit(token)
        check_move(TOKEN, edited.status, status)
        edited.status = status

    def add_token(self, token: Token) -> None:
        """A new token, whose id is free."""
        if token.token in self._tokens or token.token in self.family.tokens:
            msg = f"the token '{token.token}' was started before"
            raise IllegalMove(msg)
        self._tokens[token.token] = token
        self._new_tokens.append(token.token)

    def record(self, token: str, kind: str, data: Document, key: str | None = None) -> None:
        """Write the token's next ledger entry; `key` is used up by it."""
        edited = self.edit(token)
        edited.seq += 1
        edited.changed_at = self.at
        self._entries.append(Entry(token, edited.seq, self.at, kind, data, key))
        if key is not None:
            reason = data.get("reason") if kind == "event_rejected" else None
            self._keys[token, key] = Used(kind, reason)

    def new_id(self) -> int:
        """A number for a new task or timer."""
        self._ids_used += 1
        if self._ids_used > len(self.facts.ids):
            # Twice as many each time: a state with 500 children asks a few times, not thirty.
            raise Need(ids=max(16, self._ids_used))
        return self.facts.ids[-self._ids_used]

    def add_task(self, task: Task) -> None:
        """A new task, the open one of its token."""
        self._tasks[task.id] = task
        self._new_tasks.append(task.id)
        self.edit(task.token).task = task.id

    def edit_task(self, task: int, *, status: str | None = None) -> Task:
        """A copy of the task that may be changed in place, its status moved first if one is given."""
        found = self._tasks.get(task)
        if found is None:
            found = copy.copy(self.task(task))
            self._tasks[task] = found
        if status is not None:
            check_move(TASK, found.status, status)
            found.status = status
            found.awaiting = None
            self.edit(found.token).task = task if status in OPEN_TASK else None
        return found

    def add_timer(self, timer: Timer) -> None:
        """A new pending timer."""
        self._timers_of[timer.token].append(timer.id)
        self._timers[timer.id] = timer
        self._new_timers.append(timer.id)

    def edit_timer(self, timer: Timer, *, status: str | None = None) -> Timer:
        """A copy of the timer that may be changed in place, its status moved first if one is given."""
        edited = copy.copy(timer)
        self._timers[timer.id] = edited
        if status is not None:
            check_move(TIMER, edited.status, status)
            edited.status = status
        return edited

    def write_flow(self, flow: Flow) -> None:
        """A new flow, or a changed copy of one."""
        self._flows[flow.task] = flow

    def write_step(self, step: FlowStep) -> None:
        """A new step of a flow, or a changed copy of one."""
        self._flow_steps[step.task, step.name] = step

    def write_item(self, item: Item, *, is_told: bool = True) -> None:
        """A changed item; one that is not told leaves no trace among its changes."""
        self._items[item.key] = item
        if is_told:
            self._item_changes.append(item)

    def hold(self, held: Held) -> None:
        """Keep what arrived during a pause; its arrival is one more than the family holds."""
        self._held_added.append(held)
        self.edit(self.family.root).held_count += 1

    def clear_held(self) -> None:
        """Forget all that the family holds."""
        self._held = []
        self.edit(self.family.root).held_count = 0

    def memory_has(self, token: str, state: str, key: str) -> bool:
        """Whether the routine's memory has the key; it was asked for."""
        where = (token, state, key)
        if token in self.family.new_tokens:
            return self.family.memory_keys.get(where, False)
        return self.family.memory_keys[where]

    def set_memory(self, token: str, state: str, key: str, value: Json) -> None:
        """Write one key of a routine's memory; None deletes it."""
        self._memory[token, state, key] = value

    def wipe_memory(self, token: str) -> None:
        """Delete all that a token's routines remember."""
        self._wiped.append(token)

    # -- keeping ------------------------------------------------------------------------------------

    def keep(self) -> None:
        """Write this draft into the family: its command is decided."""
        family = self.family
        self._keep_tokens()
        family.tasks.update(self._tasks)
        family.new_tasks.update(self._new_tasks)
        family.changed_tasks.update(self._tasks.keys() - family.new_tasks)
        family.timers.update(self._timers)
        family.new_timers.update(self._new_timers)
        family.changed_timers.update(self._timers.keys() - family.new_timers)
        family.flows.update(self._flows)
        family.changed_flows.update(self._flows)
        family.steps.update(self._flow_steps)
        family.changed_steps.update(self._flow_steps)
        family.entries.extend(self._entries)
        family.keys.update(self._keys)
        for item in self._items.values():
            self.facts.keep_item(item)
        self.facts.changed_items.update(self._items)
        self.facts.item_changes.extend(self._item_changes)
        self._keep_held()
        for where, value in self._memory.items():
            family.memory_set[where] = value
            family.memory_keys[where] = value is not None
        for token in self._wiped:
            family.memory_wiped.add(token)
            family.memory_set = {k: v for k, v in family.memory_set.items() if k[0] != token}
        if self._ids_used:
            del self.facts.ids[-self._ids_used :]

    def _keep_tokens(self) -> None:
        family = self.family
        for token in self._new_tokens:
            family.new_tokens.add(token)
            family.absent.discard(token)
            self.facts.roots[token] = family.root
            self.facts.taken[token.lower()] = token
        for name, token in self._tokens.items():
            was = family.tokens.get(name)
            if was is not None and (was.status == "paused") != (token.status == "paused"):
                self._park(name)
            family.tokens[name] = token
            if name not in family.new_tokens:
                family.changed_tokens.add(name)

    def _park(self, token: str) -> None:
        """A queued task and pending timers follow the pause of their token (they are saved with it).

        A task that is worked on does not: a heartbeat may renew its lease meanwhile, without our lock.
        """
        task = self.open_task(self._tokens[token])
        if task is not None and task.status == "queued":
            self._tasks.setdefault(task.id, task)
        for timer in self.pending_timers(token):
            self._timers.setdefault(timer.id, timer)

    def _keep_held(self) -> None:
        family = self.family
        if self._held is not None:
            family.held = []
            family.held_added = []
            family.held_cleared = True
        family.held_added.extend(self._held_added)
