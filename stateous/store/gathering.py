"""What was read becomes Facts: the same for both databases.

Facts grow while a batch is decided, so nothing that is already there is ever read over: the batch's
earlier commands may have changed it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from stateous.engine.facts import Facts, Need
from stateous.engine.family import Family, Item, ItemKey, Task, Token, Used
from stateous.store import values
from stateous.store.rows import Before, before_of
from stateous.store.values import TASK_COLUMNS, TOKEN_COLUMNS, Row
from stateous.store.wanted import Wanted


class Gathered:
    """The facts of one batch, and what each token's row held when it was read."""

    def __init__(self) -> None:
        self.facts = Facts()
        self.before: dict[str, Before] = {}
        self._offered: set[int] = set()

    def offer_ids(self, ids: Collection[int]) -> None:
        """Add reserved numbers to the facts so that the lowest is handed out first."""
        self._offered.update(ids)
        self.facts.ids[:] = sorted({*self.facts.ids, *ids}, reverse=True)

    @property
    def last_id(self) -> int:
        """The highest number that was used of those that were offered; 0: none was."""
        return max(self._offered.difference(self.facts.ids), default=0)

    def add_families(self, read: Iterable[Row], *, locked: Collection[str] | None) -> set[str]:
        """Add what families_read answered. Returns the tokens that are there, but in no locked family.

        `locked` holds the locked top tokens; None: all of them are.
        """
        facts = self.facts
        skipped: set[str] = set()
        for row in read:
            name, root = row[0], row[1]
            if locked is not None and root not in locked:
                skipped.add(name)
                continue
            family = facts.families.get(root)
            if family is None:
                family = facts.families[root] = Family(root)
            if name in family.tokens:
                continue
            self._add_token(family, values.token_of(row))
            if row[TOKEN_COLUMNS] is not None:
                open_task = row[TOKEN_COLUMNS : TOKEN_COLUMNS + TASK_COLUMNS]
                self._add_task(family, values.task_of(open_task))
            for timer in values.timers_of(row[TOKEN_COLUMNS + TASK_COLUMNS]):
                family.timers.setdefault(timer.id, timer)
        return skipped

    def _add_token(self, family: Family, token: Token) -> None:
        family.tokens[token.token] = token
        family.seq_loaded[token.token] = token.seq
        self.facts.roots[token.token] = family.root
        self.before[token.token] = before_of(token)

    def _add_task(self, family: Family, task: Task) -> None:
        family.tasks.setdefault(task.id, task)
        self.facts.task_roots[task.id] = family.root

    def add_tasks(self, read: Iterable[Row]) -> set[int]:
        """Add what tasks_read answered. Returns the tasks that are there, but in no family here."""
        skipped: set[int] = set()
        for row in read:
            task = values.task_of(row)
            family = self.facts.family_of(task.token)
            if family is None:
                skipped.add(task.id)
            else:
                self._add_task(family, task)
        return skipped

    def add_keys(self, wanted: Wanted, used: Iterable[Row]) -> None:
        """Add what keys_read answered for these asked keys."""
        found = {(row[0], row[1]): Used(row[2], row[3]) for row in used}
        for asked in wanted.keys:
            token = asked["token"] or self._token_of_task(asked["task"])
            family = None if token is None else self.facts.family_of(token)
            if family is not None and token is not None:
                family.keys.setdefault((token, asked["key"]), found.get((token, asked["key"])))

    def add_memory_keys(self, wanted: Wanted, there: Iterable[Row]) -> None:
        """Add what memory_keys_read answered for these asked keys."""
        found = {(row[0], row[1], row[2]) for row in there}
        for asked in wanted.memory_keys:
            family = self.facts.family_of_task(asked["task"])
            if family is not None:
                task = family.tasks[asked["task"]]
                name = (task.token, task.state, asked["key"])
                family.memory_keys[name] = name in found

    def add_flows(self, wanted: Wanted, read: Iterable[Row]) -> None:
        """Add what flows_find answered for these asked flows and steps."""
        found = {row[0]: values.flow_of(row) for row in read}
        for asked in wanted.flows:
            family = self.facts.family_of_task(asked["task"])
            if family is None:
                continue
            flow, steps = found.get(asked["task"], (None, ()))
            family.flows.setdefault(asked["task"], flow)
            for step in steps:
                family.steps.setdefault((step.task, step.name), step)
            if asked["step"] is not None:
                family.steps.setdefault((asked["task"], asked["step"]), None)

    def add_whole_flows(self, read: Iterable[Row]) -> None:
        """Add what flows_read answered, for grants."""
        for row in read:
            self.facts.flows.setdefault(row[0], values.flow_of(row))

    def add_items(self, wanted: Wanted, read: Iterable[Row], *, all_there: bool) -> None:
        """Add these asked items as they are, locked.

        One that was not read is new if all that are there were read, else it is held elsewhere.
        """
        facts = self.facts
        for row in read:
            facts.take_item(values.item_of(row))
        for key in wanted.items:
            if key in facts.items:
                continue
            if not all_there:
                facts.busy_items.add(key)
                continue
            scope, place, entity, item = key
            facts.take_item(
                Item(scope=scope, place=place, entity=entity, item=item, changed_at=values.EPOCH)
            )

    def add_locks(
        self, tasks: Iterable[int], read: Iterable[Row], *, locked: Iterable[Row] | None
    ) -> None:
        """Add the items that these tasks have locked; `locked` are the keys that are locked here, None: all are."""
        held: set[ItemKey] | None = None
        if locked is not None:
            held = {(row[0], row[1], row[2], row[3]) for row in locked}
        self.facts.locks_read.update(tasks)
        for row in read:
            item = values.item_of(row)
            if held is None or item.key in held or item.key in self.facts.items:
                self.facts.take_item(item)
            elif item.task is not None:
                self.facts.busy_locks.add(item.task)

    def _token_of_task(self, task: int | None) -> str | None:
        family = None if task is None else self.facts.family_of_task(task)
        return None if family is None or task is None else family.tasks[task].token

    def add_taken(
        self, found: Iterable[Row], *, asked: Collection[str], unreserved: Collection[str]
    ) -> None:
        """Add what new_ids_find answered, after the families; `asked` are ids whose tokens were read, too.

        An id that is being started elsewhere is busy, and nothing is said of who has it. So is one that a
        token has here and had not when the families were read: that was another snapshot, a moment before.
        """
        for name, taken in found:
            is_new = name in unreserved or (taken == name and name in asked)
            if is_new and name not in self.facts.roots:
                self.facts.busy_tokens.add(name)
            else:
                self.facts.taken[name.lower()] = taken

    def add_busy(self, wanted: Wanted, *, tokens: Collection[str], tasks: Collection[int]) -> None:
        """Put aside what was asked, is there, and is locked elsewhere.

        `tokens` and `tasks` are those that are there and were not locked.
        """
        self.facts.busy_tokens.update(token for token in wanted.tokens if token in tokens)
        self.facts.busy_tasks.update(task for task in wanted.tasks if task in tasks)

    def add_inbox(self, read: Iterable[Row], *, locked: Collection[int]) -> None:
        """Add what inbox_read answered; a row that is pending and not `locked` is held elsewhere."""
        for row, before in read:
            if row in locked:
                self.facts.inbox[row] = before
            else:
                self.facts.busy_rows.add(row)

    def add_needed_tokens(self, need: Need) -> None:
        """Note which of the needed tokens are not there."""
        family = self.facts.families.get(need.root)
        if family is not None:
            family.absent.update(token for token in need.tokens if token not in family.tokens)

    def add_held(self, root: str, read: Iterable[Row]) -> None:
        """Add what held_read answered."""
        family = self.facts.families[root]
        if family.held is None:
            family.held = [values.held_of(row) for row in read]

    def add_ready(self, ids: Collection[int]) -> None:
        """Offer the locked tasks that a claim may take, by id."""
        for task in sorted(ids):
            family = self.facts.family_of_task(task)
            if family is not None:
                self.facts.ready.append(family.tasks[task])

    def add_memory(self, tasks: Iterable[int], read: Iterable[Row]) -> None:
        """Add what memory_read answered for these tasks; a token and state without memory has an empty one."""
        memory = self.facts.memory
        wanted = {
            (task.token, task.state)
            for family, task in ((self.facts.family_of_task(task), task) for task in tasks)
            if family is not None
            for task in (family.tasks[task],)
        }
        fresh = {place: dict[str, Any]() for place in wanted if place not in memory}
        for token, state, key, value in read:
            if (token, state) in fresh:
                fresh[token, state][key] = values.json_value(value)
        memory.update(fresh)

    def add_remembered(self, read: Iterable[Row]) -> None:
        """Add what remembered_read answered."""
        for row in read:
            remembered = values.remembered_of(row)
            self.facts.remembered[remembered.supervisor] = remembered


class Leftovers:
    """Reserved numbers that nobody used yet; at most 256 are kept, the rest become gaps.

    So do those below a number that is used: what starts later has the higher number, though batches
    overlap and give back in any order.
    """

    def __init__(self) -> None:
        self._ids: list[int] = []
        self._last = 0

    def take(self, count: int) -> list[int]:
        """Up to `count` numbers, the lowest first."""
        taken, self._ids = self._ids[:count], self._ids[count:]
        return taken

    def give_back(self, ids: Sequence[int], *, last: int) -> None:
        """Keep what a batch left over that used numbers up to `last`."""
        self._last = max(self._last, last)
        self._ids = [number for number in sorted({*self._ids, *ids}) if number > self._last][:256]
