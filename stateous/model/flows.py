"""What a routine raises, and what is raised in it, when its work goes step by step (docs/flows.md)."""

from __future__ import annotations

from stateous.model.refusals import StateousError


class FlowFailed(StateousError):
    """Raised by a routine: it has failed for good, whatever retries are left."""


class ResponseFailed(StateousError):
    """The response that a step awaited says that it failed; the text is what it says."""


class ResponseTimeout(ResponseFailed):
    """No response came in time."""
