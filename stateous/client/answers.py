"""What a control plane answers, as typed values. Fields that a newer one adds do no harm, and are not seen here."""

from __future__ import annotations

from datetime import datetime
from typing import Any

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


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """A task that this supervisor holds now. `state` is `<workflow>/<state>` for a child token."""

    task: int
    token: str
    state: str
    visit: int
    attempt: int
    context: dict[str, Any]
    memory: dict[str, Any]
    entered_by: Occurred


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
