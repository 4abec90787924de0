"""What the routine of a token's state has done, step by step: a line for each, as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stateous.model.refusals import FlowNotFound, NotFound
from stateous.model.sentences import step_sentence

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from stateous.client import Client
    from stateous.client.answers import Entry, FlowStep


def step_lines(client: Client, token: str) -> list[tuple[datetime, str]]:
    """When each step was written last, and its sentence; none for a token whose routine goes in no steps.

    A control plane that knows no flows has none. Raises the other refusals of a flow.
    """
    try:
        steps = client.flow(token).steps
    except (FlowNotFound, NotFound):
        return []
    if not steps:
        return []
    told = _told(client.history(token))
    return [
        (
            told[name][-1].at,
            step_sentence(_kind(step, told[name]), name, _status(step), step.message),
        )
        for name, step in steps.items()
        if name in told  # the token may have moved on meanwhile
    ]


def _told(history: Iterable[Entry]) -> dict[str, list[Entry]]:
    """What the history says of each step of the task that was queued last; it may have been given back, and queued again."""
    found: dict[str, list[Entry]] = {}
    task: object = None
    for entry in history:
        name = entry.data.get("step")
        if entry.kind == "task_queued" and entry.data.get("task") != task:
            task = entry.data.get("task")
            found.clear()
        elif isinstance(name, str):
            found.setdefault(name, []).append(entry)
    return found


def _kind(step: FlowStep, told: Iterable[Entry]) -> str:
    if step.child_flow_id is not None:
        return "child"
    return "response" if any(entry.kind.startswith("response_") for entry in told) else "step"


def _status(step: FlowStep) -> str:
    if step.completed:
        return "done"
    return "faulted" if step.faulted else "open"
