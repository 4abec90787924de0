"""What a decided command is answered with, when it is not a refusal."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from stateous.engine.family import Ambient, Document, Flow, FlowStep, Occurrence, Token
from stateous.model.refusals import Refusal


class Started(msgspec.Struct, frozen=True):
    """The token, and whether this command made it (False: it existed, and nothing changed)."""

    token: Token
    created: bool


class Moved(msgspec.Struct, frozen=True):
    """The token after the command; `duplicate` when its key was known and nothing changed."""

    token: Token
    duplicate: bool = False


class Done(msgspec.Struct, frozen=True):
    """Done, with nothing to tell."""


class Checkpointed(msgspec.Struct, frozen=True):
    """The flow's revision after the step, and what a response that it opened is known by, or the child that it began."""

    revision: int
    correlation: str | None = None
    child: str | None = None


class Responded(msgspec.Struct, frozen=True):
    """The token after a response, and the step that it is for; `duplicate` when it had its response before."""

    token: Token
    step: str
    duplicate: bool = False


class ItemTold(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of one item of a call. `data` is a JSON text; `left_out`: there was no room for it.

    `outcome` is that of an acquire: `acquired` (with the reason that it failed with before, if it did), `busy` until
    then, or `done` with its status. Other calls are answered with the status that the item has now.
    """

    outcome: Literal["acquired", "busy", "done"] | None = None
    status: str | None = None
    until: datetime | None = None
    data: str | None = None
    reason: str | None = None
    left_out: bool = False


class ItemsTold(msgspec.Struct, frozen=True):
    """What became of the items of a call, in the order in which they were asked."""

    items: tuple[ItemTold, ...]


class GrantLog(msgspec.Struct, frozen=True, kw_only=True):
    """The state log of a granted task's state: whose items it keeps, and where."""

    handler: str
    scope: str
    scope_id: int
    place: str
    options: Document
    tenant: str
    app: str


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """A task that a supervisor holds now, and all that its routine needs; `flow` is None before its first step."""

    task: int
    token: str
    state: str
    visit: int
    attempt: int
    context: Document
    memory: Document
    entered_by: Occurrence
    flow: Flow | None = None
    steps: tuple[FlowStep, ...] = ()
    ambient: Ambient | None = None
    state_log: GrantLog | None = None


class Granted(msgspec.Struct, frozen=True):
    """What a claim got; empty when no task is ready."""

    grants: tuple[Grant, ...]


class Told(msgspec.Struct, frozen=True):
    """What became of each of a routine's messages, in their order; a refusal is its own message's only."""

    results: tuple[Answer | Refusal, ...]


class Skipped(msgspec.Struct, frozen=True):
    """Not decided: another connection holds what the command needs. The lane tries it again."""


Answer = Started | Moved | Done | Granted | Checkpointed | Responded | ItemsTold
