"""Commands: what anybody can ask of the engine, parsed and of the right shape.

The edge (HTTP, the clock) makes them; every text in them is free of lone surrogates, and of NUL.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from stateous.engine.family import Ambient, Document, ItemKey, Json, Schedule
from stateous.model.flows import OnLost, ResponseStatus, StepStatus


class Start(msgspec.Struct, frozen=True):
    """Start a token; `ambient` is what was captured around that, None: nothing."""

    token: str
    context: Document
    ambient: Ambient | None = None


class Fire(msgspec.Struct, frozen=True):
    """Fire an event at a token. `payload` is None when none was sent."""

    token: str
    event: str
    payload: Document | None = None
    key: str | None = None


class Unreadable(msgspec.Struct, frozen=True):
    """What the inbox asks of a token and nobody can do: the code and the sentence that refuse it."""

    token: str
    code: str
    error: str


class FromInbox(msgspec.Struct, frozen=True):
    """Do what a row of the inbox asks, if that row is still pending and no earlier one of its token is."""

    row: int
    asked: Start | Fire | Unreadable

    @property
    def token(self) -> str:
        """The token that is asked for."""
        return self.asked.token


class Pause(msgspec.Struct, frozen=True):
    """Pause a top token and its family."""

    token: str


class Resume(msgspec.Struct, frozen=True):
    """Resume a paused top token and its family."""

    token: str


class Cancel(msgspec.Struct, frozen=True):
    """Cancel a top token and its family."""

    token: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Report the outcome of a task. `id` is that of the message, so that a repeat is told from another report.

    `awaiting` are the steps that a waiting task waits for. A `final` failure is not tried again.
    """

    task: int
    kind: Literal["event", "waiting", "failed"]
    event: str = ""
    payload: Document | None = None
    error: str = ""
    context: Document | None = None
    schedules: tuple[Schedule, ...] = ()
    attempt: int | None = None
    supervisor: str | None = None
    id: str | None = None
    awaiting: tuple[str, ...] = ()
    final: bool = False


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Write down what became of a step of a routine: it is done, it faulted, or (a response) it is open from now on.

    `revision` is that of the flow as the sender knows it. `correlation` is what a response that is opened is known by,
    `timeout` how long it is awaited, as it was written (`2h`).
    """

    task: int
    attempt: int
    revision: int
    name: str
    kind: Literal["step", "response"]
    status: StepStatus
    result: Json = None
    message: str | None = None
    correlation: str = ""
    timeout: str | None = None
    on_lost: OnLost = "resume"
    supervisor: str | None = None


class AwaitChild(msgspec.Struct, frozen=True, kw_only=True):
    """A routine begins a child token of a workflow, as a step that is open until the child has ended.

    `revision` as in Checkpoint. Without an `id` the child's is made of where the routine is, and the step's name.
    `ambient` is what was captured around it, None: what its parent has.
    """

    task: int
    attempt: int
    revision: int
    name: str
    workflow: str
    input: Document
    id: str | None = None
    fail_on_failure: bool = True
    ambient: Ambient | None = None
    message: str | None = None
    supervisor: str | None = None

    @property
    def kind(self) -> str:
        """The kind of its step."""
        return "child"

    @property
    def status(self) -> str:
        """The status that its step begins with."""
        return "open"


class Respond(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody outside answers the step of a task that awaits the response `correlation`, or says how far it is."""

    task: int
    step: str
    correlation: str
    status: ResponseStatus
    payload: Json = None
    message: str | None = None


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """Write a progress line into the ledger. `text` is trimmed and has 1 to 500 characters; `id` as in Report."""

    task: int
    text: str
    attempt: int | None = None
    id: str | None = None


class SetMemory(msgspec.Struct, frozen=True, kw_only=True):
    """Write one key of a routine's memory; the value None deletes it. `id` as in Report."""

    task: int
    key: str
    value: Json
    attempt: int | None = None
    id: str | None = None


class Messages(msgspec.Struct, frozen=True, kw_only=True):
    """What one routine says of its task, decided one after the other, each for itself."""

    task: int
    said: tuple[Message, ...]


ItemCall = Literal["acquire", "set", "release", "upsert"]


class ItemAsked(msgspec.Struct, frozen=True):
    """One item of a call, and what is to become of it. `data` is a JSON text."""

    entity: str
    item: str
    status: Literal["processing", "processed", "failed", "skipped"]
    data: str | None = None
    reason: str | None = None


class Items(msgspec.Struct, frozen=True, kw_only=True):
    """What a routine says of business items in its state log: all of it, or nothing. Each item is there once.

    `scope` (its number) and `place` are those of the state log of the task's state.
    """

    task: int
    attempt: int
    call: ItemCall
    scope: int
    place: str
    items: tuple[ItemAsked, ...]
    supervisor: str | None = None

    @property
    def keys(self) -> tuple[ItemKey, ...]:
        """Which items they are, in the order in which they are asked."""
        scope, place = self.scope, self.place
        return tuple([(scope, place, asked.entity, asked.item) for asked in self.items])


class EndLocks(msgspec.Struct, frozen=True):
    """End the locks of a task's items whose time is over."""

    task: int


class ExpireItems(msgspec.Struct, frozen=True):
    """Forget what became of these items, if their time is over; with `now`, whatever their time is."""

    items: tuple[ItemKey, ...]
    now: bool = False


class ResetItem(msgspec.Struct, frozen=True):
    """End the lock of an item, whoever has it."""

    item: ItemKey


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """Give a task back that was not worked on. With `attempt`, only if it is still on that one."""

    task: int
    supervisor: str
    attempt: int | None = None


class EndLease(msgspec.Struct, frozen=True):
    """End the lease of a task if it is over."""

    task: int


class FireTimer(msgspec.Struct, frozen=True):
    """Fire a timer if it is due."""

    timer: int
    token: str


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """Claim up to `max` tasks of these states. `request` makes a repeat safe."""

    supervisor: str
    states: tuple[str, ...]
    request: str | None = None
    max: int = 1


class Beat(msgspec.Struct, frozen=True):
    """A supervisor says which tasks it works on."""

    supervisor: str
    tasks: tuple[int, ...]


Message = Report | Note | SetMemory
"""What a routine says of its task."""

OfTask = Message | Checkpoint | AwaitChild | Respond | Release | EndLease | Items | EndLocks
"""What is about one task."""

OfItems = ExpireItems | ResetItem
"""What is about items, whoever works on them."""

Direct = OfItems | Start | Fire | Pause | Resume | Cancel | FireTimer | OfTask
"""What says itself what is to be done."""

Command = Direct | FromInbox
"""What is decided as one: all of it, or nothing."""

Carried = Command | Messages
"""What the token lane carries; claims and heartbeats have lanes of their own."""
