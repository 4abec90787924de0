"""Short words for what supervisors say about their tasks."""

from __future__ import annotations

from typing import Any

from stateous.engine.answers import Answer
from stateous.engine.commands import Report
from stateous.model.refusals import Refusal
from tests.engine.world import World


def waits(world: World, task: int, *, supervisor: str = "box", **rest: Any) -> Answer | Refusal:
    """The supervisor that holds the task reports that it waits."""
    return world.do(Report(task=task, kind="waiting", supervisor=supervisor, **rest))


def fails(world: World, task: int, error: str = "no ink", **rest: Any) -> Answer | Refusal:
    """A failed attempt is reported."""
    return world.do(Report(task=task, kind="failed", error=error, **rest))
