"""What a batch asks of the store, what it gets, and what it may ask for on top."""

from __future__ import annotations

from datetime import datetime

import msgspec

from stateous.engine.family import (
    Document,
    Family,
    Flow,
    FlowStep,
    Item,
    ItemKey,
    Remembered,
    Settled,
    Task,
    Token,
)


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """What one command needs to be decided. The store reads the asks of a batch together.

    `token`: its family is locked and read. `new`: an id that is about to be started: the token that has
    it, in any case of letters, is looked up, and the id is reserved when it is free.
    `task`: the task's row and its token's family are locked and read. `key`: is it used for `token`?
    `memory_key`: does the task's token and state have it? `ids`: how many task and timer ids to reserve.
    `row`: this row of the inbox is locked, and read if it is pending. `steps`: the flow of `task` is read, with these
    steps and the one that is open; None: it is not. `items` are locked and read.
    """

    token: str | None = None
    new: str | None = None
    task: int | None = None
    key: str | None = None
    memory_key: str | None = None
    ids: int = 0
    row: int | None = None
    steps: tuple[str, ...] | None = None
    items: tuple[ItemKey, ...] = ()


class ClaimAsk(msgspec.Struct, frozen=True, kw_only=True):
    """What one claim needs: `max` ready tasks of these queues.

    `supervisor` names whose last request is read; None when the claim carries no request id.
    """

    supervisor: str | None
    queues: tuple[str, ...]
    max: int


class FlowRead(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a token and of the task that was queued last for it, read at one moment.

    `flow` is None before the routine's first step. `memory` is what the routine remembers, `note` the text and the
    time of its last one. `parent_step` is the step of its parent's routine that began the token, if one did.
    """

    token: Token
    task: Task | None
    flow: Flow | None
    steps: tuple[FlowStep, ...]
    memory: Document
    note: tuple[str, datetime] | None
    parent_step: str | None = None


class Need(Exception):
    """Raised while deciding: the store fetches this in the same transaction, then it is decided again.

    `tokens`: more tokens of `root`'s family, with their open tasks and pending timers (what is not there
    goes into `Family.absent`). `free`: ids that must be free, looked up but not reserved: `save` meets
    one that is taken meanwhile, and commits nothing. `tasks`: tasks of this family by id, whatever their status. `held`: what the family holds.
    `ids`: how many more ids to reserve. `grants`: pairs of task and attempt that a supervisor was given
    before: the tasks, locked, with their tokens and memory (claims only). `flows`: pairs of a task of this family and
    steps: its flow is read, with these steps and the one that is open. `items_of`: the items that these tasks have
    locked, for each into `Facts.locks_read`.
    """

    def __init__(  # noqa: PLR0913 - all that can be needed
        self,
        *,
        root: str = "",
        tokens: tuple[str, ...] = (),
        free: tuple[str, ...] = (),
        tasks: tuple[int, ...] = (),
        held: bool = False,
        ids: int = 0,
        grants: tuple[tuple[int, int], ...] = (),
        flows: tuple[tuple[int, tuple[str, ...]], ...] = (),
        items_of: tuple[int, ...] = (),
    ) -> None:
        super().__init__()
        self.root = root
        self.tokens = tokens
        self.free = free
        self.tasks = tasks
        self.held = held
        self.ids = ids
        self.grants = grants
        self.flows = flows
        self.items_of = items_of

    @property
    def asked(self) -> tuple[object, ...]:
        """All of it as a value: the same twice means that it was looked for, and is not there."""
        return (
            self.root,
            self.tokens,
            self.free,
            self.tasks,
            self.held,
            self.ids,
            self.grants,
            self.flows,
            self.items_of,
        )


class Blocked(Exception):
    """Raised while deciding: another connection holds an item that the command in this place needs.

    Nothing of the batch may be kept, since a part of that command was decided already.
    """

    def __init__(self, place: int) -> None:
        super().__init__()
        self.place = place


class Busy(Exception):
    """Raised while deciding: another connection holds an item that this command needs."""


class Facts:
    """Everything that a batch has read, grown in place by each `Need`.

    `roots`: the root of every token that was read. `task_roots`: the root of every task that was read.
    A token or task that was asked and is in neither, and not busy, does not exist.
    `busy_tokens`, `busy_tasks`: asked, but held by another connection (for an id that is about to be
    started: its reservation). `taken`: of every looked-up id in lower case, the id that has it, or None.
    `ids`: reserved numbers for tasks and timers, handed out from the end.
    For claims: `ready` are the locked queued tasks by id, `memory` what each (token, state) remembers, `flows` the
    flow of each task that has one, with all its steps,
    `remembered` each supervisor's last claim with a request id.
    `inbox`: of every asked row of the inbox that is pending, the last pending one before it of the same token, or
    None; `busy_rows`: those that another connection holds; `settled`: what became of them in this batch.
    `items`: each asked item that is locked, as the batch's commands left it so far; one that nobody knew is there
    as `none`. `busy_items`: those that another connection holds. `locks`: by task the items that it has locked, of those
    here; they are all here for the tasks in `locks_read`, and for those in `busy_locks` some are held elsewhere.
    `item_changes`: what became of items, in order; `changed_items`: those whose row is to be written.
    """

    def __init__(self) -> None:
        self.families: dict[str, Family] = {}
        self.roots: dict[str, str] = {}
        self.task_roots: dict[int, str] = {}
        self.busy_tokens: set[str] = set()
        self.busy_tasks: set[int] = set()
        self.taken: dict[str, str | None] = {}
        self.ids: list[int] = []
        self.ready: list[Task] = []
        self.memory: dict[tuple[str, str], Document] = {}
        self.flows: dict[int, tuple[Flow, tuple[FlowStep, ...]]] = {}
        self.remembered: dict[str, Remembered] = {}
        self.inbox: dict[int, int | None] = {}
        self.busy_rows: set[int] = set()
        self.settled: dict[int, Settled] = {}
        self.items: dict[ItemKey, Item] = {}
        self.busy_items: set[ItemKey] = set()
        self.locks: dict[int, dict[ItemKey, None]] = {}
        self.locks_read: set[int] = set()
        self.busy_locks: set[int] = set()
        self.item_changes: list[Item] = []
        self.changed_items: set[ItemKey] = set()

    def take_item(self, item: Item) -> None:
        """An item as it was read; one that is here already may have been changed since."""
        if item.key not in self.items:
            self.keep_item(item)

    def keep_item(self, item: Item) -> None:
        """An item as it is from now on."""
        key = item.key
        was = self.items.get(key)
        if was is not None and was.task is not None and was.status == "processing":
            self.locks[was.task].pop(key, None)
        if item.status == "processing" and item.task is not None:
            self.locks.setdefault(item.task, {})[key] = None
        self.items[key] = item

    def write_item(self, item: Item) -> None:
        """A changed item, and a change of it to be remembered."""
        self.keep_item(item)
        self.changed_items.add(item.key)
        self.item_changes.append(item)

    def family_of(self, token: str) -> Family | None:
        """The family that has this token, None if there is no such token."""
        root = self.roots.get(token)
        return None if root is None else self.families[root]

    def family_of_task(self, task: int) -> Family | None:
        """The family that has this task, None if there is no such task."""
        root = self.task_roots.get(task)
        return None if root is None else self.families[root]
