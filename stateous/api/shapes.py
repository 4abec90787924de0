"""What bodies look like, for the OpenAPI document: nothing reads requests with these.

A fault has its own code and its place in an order, which a schema cannot say; `commands` checks them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from stateous.api.item_replies import (
    ItemChange,
    ItemChanges,
    ItemExists,
    ItemsExist,
    StoredItem,
    StoredItems,
    ToldItem,
    ToldItems,
)
from stateous.api.replies import (
    Clock,
    Duplicate,
    Entry,
    Flow,
    FlowStep,
    Grant,
    GrantFlow,
    GrantLog,
    Grants,
    GrantStep,
    Health,
    Lost,
    MessageResult,
    Released,
    Response,
    Results,
    Step,
    Token,
)
from stateous.model import ambient, flows
from stateous.model.items import LONGEST_KEY, MOST_ITEMS
from stateous.model.state_logs import Scope
from stateous.model.wire import fields
from stateous.model.wire.items import LONGEST_PLACE, SetTo

Document = dict[str, Any]
Supervisor = Annotated[str, Meta(min_length=1, max_length=fields.LONGEST_SUPERVISOR)]
Task = Annotated[int, Meta(ge=1, le=fields.LARGEST_INTEGER)]
RepeatId = Annotated[str, Meta(pattern="^[A-Za-z0-9._-]{1,64}$")]
ItemName = Annotated[str, Meta(min_length=1, max_length=LONGEST_KEY)]
ItemEntity = Annotated[str, Meta(max_length=LONGEST_KEY)]
StepName = Annotated[str, Meta(min_length=1, max_length=flows.LONGEST_STEP)]
Awaiting = Annotated[list[StepName], Meta(max_length=fields.MOST_IN_A_LIST)] | UnsetType | None
Delay = Annotated[str, Meta(pattern="^[1-9][0-9]*[smhd]$", description="At most 3650 days.")]


Ambient = Annotated[
    dict[
        Annotated[str, Meta(min_length=1, max_length=ambient.LONGEST_NAME)],
        str,
    ],
    Meta(
        max_length=ambient.MOST,
        description=f"At most {ambient.LARGEST} bytes, names and values together.",
    ),
]
TokenId = Annotated[str, Meta(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]


class StartBody(Struct):
    """A token's id, its business data, and what was captured around its start."""

    token: TokenId
    context: Document | UnsetType | None = UNSET
    ambient: Ambient | UnsetType | None = UNSET


class FireBody(Struct):
    """What the event carries; an event without a model carries nothing."""

    payload: Document | UnsetType | None = UNSET


class ClaimBody(Struct):
    """Who claims, tasks of which states, and how many at most."""

    supervisor: Supervisor
    states: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=fields.LONGEST_STATE)]],
        Meta(max_length=fields.MOST_IN_A_LIST),
    ]
    request: RepeatId | UnsetType | None = UNSET
    max: Annotated[int, Meta(ge=1, le=fields.MOST_IN_A_LIST)] | UnsetType | None = UNSET
    wait: Annotated[float, Meta(ge=0, le=fields.LONGEST_WAIT)] | UnsetType | None = UNSET


class HeartbeatBody(Struct):
    """Who works on which tasks."""

    supervisor: Supervisor
    tasks: Annotated[list[Task], Meta(max_length=fields.MOST_IN_A_LIST)]


class Schedule(Struct):
    """An event that the clock fires later."""

    event: str
    after: Delay
    payload: Document | UnsetType | None = UNSET


class ReportBody(Struct):
    """How a routine ended. `event` belongs to the kind `event`, `error` to the kind `failed`."""

    kind: Literal["event", "waiting", "failed"]
    event: str | UnsetType = UNSET
    payload: Document | UnsetType | None = UNSET
    error: str | UnsetType = UNSET
    context: Document | UnsetType | None = UNSET
    schedules: list[Schedule] | UnsetType = UNSET
    awaiting: Awaiting = UNSET
    final: bool | UnsetType | None = UNSET
    attempt: Annotated[int, Meta(ge=1)] | UnsetType | None = UNSET
    supervisor: Supervisor | UnsetType | None = UNSET


class StepBody(Struct):
    """What became of a step of a routine: it is done, or faulted, or it awaits a response or a child from now on."""

    attempt: Task
    revision: Annotated[int, Meta(ge=0, le=fields.LARGEST_INTEGER)]
    name: StepName
    kind: flows.StepKind
    supervisor: Supervisor | UnsetType | None = UNSET
    result: Any = UNSET
    faulted: bool | UnsetType | None = UNSET
    message: str | UnsetType | None = UNSET
    timeout: Delay | UnsetType | None = UNSET
    on_lost: flows.OnLost | UnsetType | None = UNSET
    workflow: str | UnsetType = UNSET
    input: Document | UnsetType | None = UNSET
    id: TokenId | UnsetType | None = UNSET
    fail_on_failure: bool | UnsetType | None = UNSET
    ambient: Ambient | UnsetType | None = UNSET


class ResponseBody(Struct):
    """What somebody outside answers; `progress` changes the message only."""

    status: flows.ResponseStatus
    payload: Any = UNSET
    message: str | UnsetType | None = UNSET


class ItemNamed(Struct):
    """One item, such as an invoice of an entity."""

    item: ItemName
    entity: ItemEntity = ""


class ItemSet(Struct):
    """What becomes of an item."""

    item: ItemName
    status: SetTo
    entity: ItemEntity = ""
    data: Any = UNSET
    reason: str | UnsetType | None = UNSET


class ItemReleased(Struct):
    """An item that failed, and why."""

    item: ItemName
    entity: ItemEntity = ""
    error: str | UnsetType | None = UNSET


class ItemUpserted(Struct):
    """An item that is done, whatever was known of it."""

    item: ItemName
    entity: ItemEntity = ""
    data: Any = UNSET


class ItemsAskedBody(Struct):
    """Items, each once."""

    items: Annotated[list[ItemNamed], Meta(min_length=1, max_length=MOST_ITEMS)]


class ItemsAcquireBody(Struct):
    """Items that an attempt wants to work on."""

    attempt: Task
    items: Annotated[list[ItemNamed], Meta(min_length=1, max_length=MOST_ITEMS)]
    supervisor: Supervisor | UnsetType | None = UNSET


class ItemsSetBody(Struct):
    """What became of items."""

    attempt: Task
    items: Annotated[list[ItemSet], Meta(min_length=1, max_length=MOST_ITEMS)]
    supervisor: Supervisor | UnsetType | None = UNSET


class ItemsReleaseBody(Struct):
    """Items that failed."""

    attempt: Task
    items: Annotated[list[ItemReleased], Meta(min_length=1, max_length=MOST_ITEMS)]
    supervisor: Supervisor | UnsetType | None = UNSET


class ItemsUpsertBody(Struct):
    """Items that are done."""

    attempt: Task
    items: Annotated[list[ItemUpserted], Meta(min_length=1, max_length=MOST_ITEMS)]
    supervisor: Supervisor | UnsetType | None = UNSET


class ItemKeyBody(Struct):
    """Which item it is."""

    scope: Scope
    place: Annotated[str, Meta(min_length=1, max_length=LONGEST_PLACE)]
    item: ItemName
    entity: ItemEntity = ""


class NoteBody(Struct):
    """A progress line; spaces around it are cut off."""

    text: Annotated[str, Meta(min_length=1, description="At most 500 characters when trimmed.")]
    attempt: Task | UnsetType | None = UNSET


class MemoryBody(Struct):
    """One key of the routine's memory; null deletes it."""

    key: Annotated[str, Meta(min_length=1, max_length=fields.LONGEST_MEMORY_KEY)]
    value: Any
    attempt: Task | UnsetType | None = UNSET


class Message(Struct):
    """A report, note or memory write, with the fields of its single route. A report's own kind is its `outcome`."""

    task: Task
    kind: fields.MessageKind
    id: RepeatId | UnsetType | None = UNSET
    attempt: Task | UnsetType | None = UNSET
    outcome: Literal["event", "waiting", "failed"] | UnsetType = UNSET
    event: str | UnsetType = UNSET
    payload: Document | UnsetType | None = UNSET
    error: str | UnsetType = UNSET
    context: Document | UnsetType | None = UNSET
    schedules: list[Schedule] | UnsetType = UNSET
    awaiting: Awaiting = UNSET
    final: bool | UnsetType | None = UNSET
    supervisor: Supervisor | UnsetType | None = UNSET
    text: str | UnsetType = UNSET
    key: str | UnsetType = UNSET
    value: Any = UNSET


class MessagesBody(Struct):
    """What a supervisor's routines say, of one task in the order of their saying."""

    supervisor: Supervisor
    messages: Annotated[list[Message], Meta(max_length=fields.MOST_IN_A_LIST)]


class ReleaseBody(Struct):
    """Whose tasks are given back; and the request of the claim that ends, with what it was given."""

    supervisor: Supervisor
    tasks: Annotated[list[Task], Meta(max_length=fields.MOST_IN_A_LIST)] | UnsetType | None = UNSET
    request: RepeatId | UnsetType | None = UNSET


class AdvanceBody(Struct):
    """By how many seconds the clock is moved on."""

    advance: Annotated[float, Meta(ge=0, le=fields.LONGEST_ADVANCE)]


SHAPES: Final[tuple[type[Struct], ...]] = (
    StartBody,
    FireBody,
    ClaimBody,
    HeartbeatBody,
    ReportBody,
    StepBody,
    ResponseBody,
    ItemNamed,
    ItemSet,
    ItemReleased,
    ItemUpserted,
    ItemsAskedBody,
    ItemsAcquireBody,
    ItemsSetBody,
    ItemsReleaseBody,
    ItemsUpsertBody,
    ItemKeyBody,
    NoteBody,
    MemoryBody,
    Message,
    MessagesBody,
    ReleaseBody,
    Token,
    Duplicate,
    Grant,
    GrantFlow,
    GrantLog,
    GrantStep,
    Grants,
    ItemExists,
    ItemsExist,
    ToldItem,
    ToldItems,
    StoredItem,
    StoredItems,
    ItemChange,
    ItemChanges,
    Step,
    Response,
    Flow,
    FlowStep,
    Lost,
    MessageResult,
    Results,
    Released,
    Entry,
    Health,
)
FOR_TESTS: Final[tuple[type[Struct], ...]] = (AdvanceBody, Clock)
"""Of the routes that are there with a manual clock only."""


def reference(shape: type[Struct]) -> str:
    """Where the document keeps the shape."""
    return f"#/components/schemas/{shape.__name__}"


def components(shapes: Sequence[type[Struct]]) -> dict[str, Any]:
    """The JSON Schema of each of the shapes, by name."""
    _, found = msgspec.json.schema_components(shapes, ref_template="#/components/schemas/{name}")
    return found
