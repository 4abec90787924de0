"""Where an event leads, as a value: the route that was decided, and the steps that follow from a move."""

from __future__ import annotations

import msgspec

from stateous.engine.family import Document


class Taken(msgspec.Struct, frozen=True):
    """The event moves the token to `target`; `children` are what a parallel target starts."""

    target: str
    children: tuple[ChildPlan, ...] = ()


class ChildPlan(msgspec.Struct, frozen=True):
    """A child token that can be started: its id, workflow, context with defaults, and its own START."""

    token: str
    workflow: str
    context: Document
    start: Taken


class Refused(msgspec.Struct, frozen=True):
    """The event cannot move the token; `reason` is a sentence."""

    reason: str


class Ambiguous(msgspec.Struct, frozen=True):
    """Two guards hold at once: the token fails; `reason` is a sentence."""

    reason: str


Route = Taken | Refused | Ambiguous


class BeginChild(msgspec.Struct, frozen=True):
    """A step to come: start this child, if its parent is still in the state and visit that starts it."""

    parent: str
    state: str
    visit: int
    plan: ChildPlan


class ChildEnded(msgspec.Struct, frozen=True):
    """A step to come: this child completed or failed, so its parent's join, or the routine that began it, is looked at.

    `reason` says why it failed.
    """

    child: str
    reason: str | None = None


Step = BeginChild | ChildEnded
