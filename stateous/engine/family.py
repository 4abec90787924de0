"""What the engine decides on: one family of tokens, as the database has it.

A family is a top token and all its child tokens; it is locked as a whole and decided as a whole.
The store builds these values from rows and writes them back; nothing here does I/O.
A value that was handed out is never changed in place: the engine replaces it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

Json = Any
"""A decoded JSON value: None, bool, int, float, str, list or dict."""

Document = dict[str, Json]
"""A decoded JSON object. Documents are shared between values, so nobody changes one in place."""

Ambient = dict[str, str]
"""What was captured around the start of a token, for the runs of its routines; as a Document, never changed in place."""


class Occurrence(msgspec.Struct, frozen=True):
    """An accepted event: its name and what it carried (None when it carried nothing)."""

    name: str
    payload: Document | None = None


class Token(msgspec.Struct, kw_only=True):
    """One run of a workflow: a row of `tokens`.

    `seq` is the number of its last ledger entry, `counts` how often each event was accepted,
    `visits` how often each state was entered, `task` the id of its one open task, if any.
    `children_open` counts the live child tokens of the current visit. `child` is the live one that its routine
    began, `child_task` the task whose routine that was. `held_count` is how many events the family holds; only the
    top token's is used. `children_open` and `held_count` are never below 0.
    `ambient` is written when the token starts, and never again.
    """

    token: str
    root: str
    parent: str | None
    workflow: str
    state: str
    status: str
    visit: int
    seq: int
    context: Document
    counts: dict[str, int]
    visits: dict[str, int]
    entered_by: Occurrence | None
    task: int | None
    children_open: int
    held_count: int
    created_at: datetime
    entered_at: datetime
    changed_at: datetime
    paused_at: datetime | None = None
    ambient: Ambient | None = None
    child: str | None = None
    child_task: int | None = None


class Task(msgspec.Struct, kw_only=True):
    """The work of one state for one token: a row of `tasks`, one per visit.

    `queue` is what supervisors ask for: the state's name, or `<workflow>/<state>` for a child.
    `attempt` is the fence and grows at every claim; `failures` is what `retries` bounds. `awaiting` are the
    steps of its flow that a waiting task waits for; None: it waits for somebody outside, or does not wait.
    `has_items`: an attempt of it has locked items since the last one ended.
    """

    id: int
    token: str
    queue: str
    state: str
    visit: int
    status: str
    attempt: int
    failures: int
    claimed_by: str | None
    lease_until: datetime | None
    queued_at: datetime
    awaiting: tuple[str, ...] | None = None
    has_items: bool = False


class Timer(msgspec.Struct, kw_only=True):
    """An event that the clock fires later: a row of `timers`. `kind` is `timeout`, `timer` or `deadline`.

    A deadline ends the step `step` of its token's task; its payload is `{"timeout": "2h"}`, as it was asked for.
    """

    id: int
    token: str
    state: str
    visit: int
    event: str
    payload: Document | None
    kind: str
    status: str
    set_at: datetime
    due_at: datetime
    step: str | None = None


class Used(msgspec.Struct, frozen=True):
    """What used a key up: the kind of its ledger entry, and the reason of an `event_rejected`."""

    kind: str
    reason: str | None = None


class Schedule(msgspec.Struct, frozen=True):
    """A timer that a routine asks for: the event, its payload, and the delay as it was written (`6h`)."""

    event: str
    payload: Document | None
    after: str


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """An event that arrived while its family was paused: a row of `held`.

    `arrival` is its place across the family. `task`, `state` and `visit` are set when it is the outcome
    of a task; `context` and `schedules` are what that outcome brought.
    """

    arrival: int
    token: str
    event: str
    payload: Document | None
    key: str | None = None
    task: int | None = None
    state: str | None = None
    visit: int | None = None
    context: Document | None = None
    schedules: tuple[Schedule, ...] = ()


class Entry(msgspec.Struct, frozen=True):
    """One row of the ledger. `key` is an idempotency key that this entry uses up."""

    token: str
    seq: int
    at: datetime
    kind: str
    data: Document
    key: str | None = None


class Remembered(msgspec.Struct, frozen=True):
    """A supervisor's last claim that carried a request id: `grants` are pairs of task and attempt."""

    supervisor: str
    request: str
    grants: tuple[tuple[int, int], ...]


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a row of the inbox: applied, with a `code` and an `error` refused.

    `duplicate`: it changed nothing, because the token or the key was there already.
    """

    row: int
    at: datetime
    duplicate: bool = False
    code: str | None = None
    error: str | None = None


class Flow(msgspec.Struct, kw_only=True):
    """How far the routine of one task got: a row of `flows`, there from its first step on.

    `revision` grows by one with each step that is written and each response that comes. `input` is the context
    when the routine was entered first. `message_at` tells since when `last_message` is the last one. `step_count` and
    `size` are those of its steps, in bytes: they are known without a look at any of them.
    """

    task: int
    token: str
    schema_version: int
    revision: int
    input: Document
    last_message: str | None
    message_at: datetime | None
    created_at: datetime
    updated_at: datetime
    step_count: int
    size: int


class FlowStep(msgspec.Struct, kw_only=True):
    """One step of a flow: a row of `steps`. `kind` is `step`, `response` or `child`, `status` `open`, `done` or `faulted`.

    `seq` is the revision that made it, `revision` that of its last checkpoint, `attempt` the one that sent it.
    An open response has a `correlation`; `answered` is the one that a response came for last. `on_lost` is
    `resume`, `fail` or `keep`. `result` counts only when it is done. `fault` says why there is no response, `failed`
    or `deadline`; it is told to the attempts that have as many `failures` before them, and not to later ones.
    Of a child there are its id `child`, its `workflow`, the `input_hash` of what it was asked to work on, and whether
    its failure is the routine's (`fail_on_failure`).
    """

    task: int
    name: str
    seq: int
    kind: str
    status: str
    result: Json
    correlation: str | None
    answered: str | None
    message: str | None
    child: str | None
    on_lost: str | None
    attempt: int
    revision: int
    opened_at: datetime
    completed_at: datetime | None
    fault: str | None = None
    failures: int | None = None
    workflow: str | None = None
    input_hash: str | None = None
    fail_on_failure: bool | None = None


ItemKey = tuple[int, str, str, str]
"""Which item: the number of its scope, the place in it, the entity, and the item itself."""


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """What counts of one business item now: a row of `items`; or what it was once: a row of `item_changes`.

    `data` is a JSON text, kept as it was sent. `task`, `attempt` and `token` tell who changed it last, `seq` is the
    number of the ledger entry that says so, None: the change has none. `locked_until` is there while it is
    processed, `expires_at` when what became of it is forgotten some day. `left_out`: it has data that was not read, since
    there was no room for it.
    """

    scope: int
    place: str
    entity: str
    item: str
    status: str = "none"
    data: str | None = None
    reason: str | None = None
    task: int | None = None
    attempt: int | None = None
    token: str | None = None
    seq: int | None = None
    locked_until: datetime | None = None
    changed_at: datetime
    expires_at: datetime | None = None
    left_out: bool = False

    @property
    def key(self) -> ItemKey:
        """Which item it is."""
        return (self.scope, self.place, self.entity, self.item)


class Family:
    """The part of one family that a batch has read, as the batch's commands have left it so far.

    `tokens` holds the asked tokens, their ancestors, and whatever a `Need` added; `absent` are ids that
    were looked up and are not there. `tasks` holds the open task of each token here and the tasks that
    were asked for by id, `timers` the pending timers of each token here. `held` is None until it is read.
    `keys` tells of each asked (token, key) what used it, None: nothing did; `memory_keys` of each asked
    (token, state, key) whether it is there. `flows` has the flow of each task that was asked for one, None: it
    has none; then `steps` has its open step, and each asked one, None: there is no such step.
    """

    __slots__ = (
        "absent",
        "changed_flows",
        "changed_steps",
        "changed_tasks",
        "changed_timers",
        "changed_tokens",
        "entries",
        "flows",
        "held",
        "held_added",
        "held_cleared",
        "keys",
        "memory_keys",
        "memory_set",
        "memory_wiped",
        "new_tasks",
        "new_timers",
        "new_tokens",
        "root",
        "seq_loaded",
        "steps",
        "tasks",
        "timers",
        "tokens",
    )

    def __init__(self, root: str) -> None:
        self.root = root
        self.tokens: dict[str, Token] = {}
        self.tasks: dict[int, Task] = {}
        self.timers: dict[int, Timer] = {}
        self.held: list[Held] | None = None
        self.absent: set[str] = set()
        self.keys: dict[tuple[str, str], Used | None] = {}
        self.memory_keys: dict[tuple[str, str, str], bool] = {}
        self.flows: dict[int, Flow | None] = {}
        self.steps: dict[tuple[int, str], FlowStep | None] = {}
        self.seq_loaded: dict[str, int] = {}
        # What the decided commands changed, for `save`.
        self.new_tokens: set[str] = set()
        self.changed_tokens: set[str] = set()
        self.new_tasks: set[int] = set()
        self.changed_tasks: set[int] = set()
        self.new_timers: set[int] = set()
        self.changed_timers: set[int] = set()
        self.changed_flows: set[int] = set()
        self.changed_steps: set[tuple[int, str]] = set()
        self.entries: list[Entry] = []
        self.held_added: list[Held] = []
        self.held_cleared = False
        self.memory_set: dict[tuple[str, str, str], Json] = {}
        self.memory_wiped: set[str] = set()
