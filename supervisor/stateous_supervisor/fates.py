"""What becomes of a message, by what the control plane answered to it: one table of all answers."""

from __future__ import annotations

from enum import Enum, auto

from stateous.client.errors import Again
from stateous.client.messages import MessageKind
from stateous.client.patience import WAITS
from stateous.model.refusals import AttemptOver, Refusal, TaskNotFound, TaskNotHeld, Unexpected
from stateous_supervisor.link import GaveUp

Result = Refusal | Again | GaveUp | None
"""What was answered: None when the message was taken; Again when it could not be decided now."""


class Fate(Enum):
    """What becomes of a message."""

    ANSWERED = auto()
    """Taken, or refused for what it says; it is forgotten."""
    LOST = auto()
    """Refused because the task is not ours any more; it is forgotten."""
    FAILED = auto()
    """A report that is refused for what it says; another one says in its place that the attempt failed."""
    LATER = auto()
    """It is sent once more, and what is behind it waits."""
    KEPT = auto()
    """Nobody answers before the supervisor ends; it stays in the outbox, with what is behind it."""


def fate_of(kind: MessageKind, result: Result, *, tries: int, is_last: bool) -> Fate:
    """The fate of a message after this many tries; `is_last` when the supervisor only waits for answers to end."""
    match result:
        case None:
            return Fate.ANSWERED
        case GaveUp():
            return Fate.KEPT
        case AttemptOver() | TaskNotFound() | TaskNotHeld():
            return Fate.LOST
        case Again(cause=Unexpected()) if tries >= len(WAITS):
            return Fate.FAILED if kind == "report" else Fate.ANSWERED
        case Again():
            return Fate.KEPT if is_last else Fate.LATER
        case Refusal():
            return Fate.FAILED if kind == "report" else Fate.ANSWERED
