"""What a control plane answers, as typed values. Fields that a newer one adds do no harm, and are not seen here."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a workflow. `parent` is set for a child only."""

    token: str
    state: str
    status: str
    visit: int
    context: dict[str, Any]
    entered_at: datetime
    parent: str | None = None


class StartedToken(Token, frozen=True, kw_only=True):
    """`created` is False when the token existed. After a repeated start it may be our own first try's."""

    created: bool


class FiredToken(Token, frozen=True, kw_only=True):
    """`duplicate` is True when the event's key was known, and nothing changed."""

    duplicate: bool = False


class Entry(msgspec.Struct, frozen=True):
    """One entry of a token's ledger."""

    seq: int
    at: datetime
    kind: str
    data: dict[str, Any]


class Health(msgspec.Struct, frozen=True):
    """Which graph a control plane serves; `lease_for` (seconds) and `version` when it says them."""

    workflow: str
    checksum: str
    lease_for: float | None = None
    version: str | None = None


class Clock(msgspec.Struct, frozen=True):
    """The time of a manual clock after it was moved."""

    now: datetime


class Occurred(msgspec.Struct, frozen=True):
    """An event that was accepted, as a grant tells it."""

    name: str
    payload: dict[str, Any] | None = None


class GrantStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step of a routine, as a later attempt finds it: `status` is `open`, `done` or `faulted`."""

    kind: str
    status: str
    result: Any = None
    correlation: str | None = None
    message: str | None = None
    child: str | None = None
    fault: str | None = None
    """Why there is no response, `failed` or `deadline`, while the routine is still to be told; then it asks afresh."""


class GrantFlow(msgspec.Struct, frozen=True, kw_only=True):
    """How far a routine got before. What cannot be read has no steps here, and must not begin anew."""

    revision: int = 0
    steps: dict[str, GrantStep] = {}
    unreadable: bool = False
    schemaVersion: int | None = None  # noqa: N815 - as the flow itself is shown


class Checkpointed(msgspec.Struct, frozen=True):
    """The flow's revision after a step, and what a response that it opened is known by, or the child that it began."""

    revision: int
    correlation: str | None = None
    child: str | None = None


class Responded(msgspec.Struct, frozen=True):
    """Where a response went; `duplicate` is True when the step had its response before."""

    token: str
    state: str
    step: str
    duplicate: bool


class FlowStep(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A step of a flow; `result_json` is a text of JSON."""

    completed: bool
    result_json: str | None = None
    pending_correlation_id: str | None = None
    faulted: bool = False
    message: str | None = None
    child_flow_id: str | None = None
    completed_at_utc: datetime | None = None


class Flow(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The flow of the routine that a token is in; `input_json` and each of the `values` is a text of JSON."""

    schema_version: int
    revision: int
    flow_id: str
    flow_type_name: str
    input_type_name: str | None
    input_json: str
    status: int
    status_name: str
    last_message: str | None
    created_at_utc: datetime | None
    updated_at_utc: datetime | None
    attempts: int
    steps: dict[str, FlowStep]
    values: dict[str, str]
    parent_flow_id: str | None = None
    parent_step_name: str | None = None
    context: dict[str, str] | None = None


class GrantLog(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The state log of a granted task's state: who keeps its items (`built-in`: the control plane), and where."""

    handler: str
    scope: str
    scope_id: int
    place: str
    options: dict[str, Any]
    tenant: str = ""
    app: str = ""


class ItemTold(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of an item of a call.

    After acquiring, `outcome` is `acquired` (with the `reason` that it failed with before, if it did), `busy` (`until`
    then), or `done` with its `status` and `data`. Other calls tell the `status` that it has now. `data_left_out`: the
    answer had no room for its data.
    """

    outcome: Literal["acquired", "busy", "done"] | None = None
    status: str | None = None
    until: datetime | None = None
    data: Any = None
    reason: str | None = None
    data_left_out: bool = False


class StoredItem(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What counts of a business item now."""

    scope: str
    place: str
    entity: str
    item: str
    status: str
    data: Any = None
    reason: str | None = None
    token: str | None = None
    seq: int | None = None
    task: int | None = None
    attempt: int | None = None
    locked_until: datetime | None = None
    changed_at: datetime
    expires_at: datetime | None = None


class StoredItems(msgspec.Struct, frozen=True):
    """A page of items; `next` is the `after` of the next one, None: there are no more."""

    items: tuple[StoredItem, ...]
    next: str | None = None


class ItemChange(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that became of an item: by which token, in which entry of its ledger."""

    at: datetime
    status: str
    data: Any = None
    reason: str | None = None
    token: str | None = None
    seq: int | None = None
    task: int | None = None
    attempt: int | None = None


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """A task that this supervisor holds now. `state` is `<workflow>/<state>` for a child token.

    `flow` is None when the control plane knows no flows, `stateLog` when the state has none. `ambient` is what was
    captured when the token was started, None: nothing, or the control plane keeps no such thing.
    """

    task: int
    token: str
    state: str
    visit: int
    attempt: int
    context: dict[str, Any]
    memory: dict[str, Any]
    entered_by: Occurred
    flow: GrantFlow | None = None
    ambient: dict[str, str] | None = None
    stateLog: GrantLog | None = None  # noqa: N815 - as the fields in it are written


class Lost(msgspec.Struct, frozen=True):
    """The tasks of a heartbeat that this supervisor does not hold."""

    lost: tuple[int, ...]


class Released(msgspec.Struct, frozen=True):
    """The tasks that went back to the queue, ascending."""

    released: tuple[int, ...]


class MessageResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one message: the status that its single route would have answered, and what went with it.

    `token` is there for a report that was taken; `code` and `error`, its sentence, for a refusal.
    """

    status: int
    code: str | None = None
    error: str | None = None
    token: Token | None = None


class ItemExists(msgspec.Struct, frozen=True):
    """Whether an item is done, or skipped."""

    exists: bool


class ItemsExist(msgspec.Struct, frozen=True):
    """What is answered when it is asked which items exist."""

    items: tuple[ItemExists, ...]


class ItemsFound(msgspec.Struct, frozen=True):
    """What counts of items, of the first of them."""

    items: tuple[StoredItem | None, ...]


class ItemsTold(msgspec.Struct, frozen=True):
    """What became of the items of a call."""

    items: tuple[ItemTold, ...]


class ItemChanges(msgspec.Struct, frozen=True):
    """The history of an item."""

    changes: tuple[ItemChange, ...]
