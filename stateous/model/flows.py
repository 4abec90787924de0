"""What a routine raises, and what is raised in it, when its work goes step by step (docs/flows.md)."""

from __future__ import annotations

from typing import Any, Final, Generic, Literal, TypeVar

import msgspec

from stateous.model.refusals import StateousError

StepKind = Literal["step", "response", "child"]
StepStatus = Literal["open", "done", "faulted"]
OnLost = Literal["resume", "fail", "keep"]
ResponseStatus = Literal["completed", "failed", "progress"]

LONGEST_STEP: Final = 128
"""Characters of its name."""
MOST_STEPS: Final = 10_000
LARGEST_FLOW: Final = 8 * 1_048_576
"""Bytes of the names, results and messages of a flow's steps together: each grant of its task carries them."""

Model = TypeVar("Model")


class ChildResult(msgspec.Struct, Generic[Model], frozen=True, kw_only=True):
    """What a child of a routine came to. `context` is an instance of its model if that is known, else JSON.

    `final` is its last state, `payload` what the event carried that brought it there, `reason` why it failed.
    """

    token: str
    workflow: str
    status: Literal["completed", "failed"]
    final: str
    context: Model
    payload: dict[str, Any] | None = None
    reason: str | None = None


class FlowFailed(StateousError):
    """Raised by a routine: it has failed for good, whatever retries are left."""


class ResponseFailed(StateousError):
    """The response that a step awaited says that it failed; the text is what it says."""


class ResponseTimeout(ResponseFailed):
    """No response came in time."""


class Mistyped(StateousError, ValueError):
    """What was kept is not what the routine takes it for with `type`."""
