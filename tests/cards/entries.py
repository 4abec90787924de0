"""Ledger entries in short, so that a test can write down all that a step has left."""

from __future__ import annotations

from typing import Any

Entry = tuple[str, dict[str, Any]]


def started(context: dict[str, Any], parent: str | None = None) -> list[Entry]:
    """The two entries that every token begins with."""
    data = {"context": context} if parent is None else {"context": context, "parent": parent}
    return [("started", data), accepted("__started__", "__start__")]


def accepted(event: str, state: str, payload: Any = None) -> Entry:
    return ("event_accepted", {"event": event, "payload": payload, "state": state})


def rejected(event: str, reason: str) -> Entry:
    return ("event_rejected", {"event": event, "reason": reason})


def deferred(event: str, arrival: int, payload: Any = None, **from_task: Any) -> Entry:
    data = {"event": event, "payload": payload, "arrival": arrival, **from_task}
    return ("event_deferred", data)


def replayed(event: str) -> Entry:
    return ("event_replayed", {"event": event})


def dropped(event: str, reason: str) -> Entry:
    return ("event_dropped", {"event": event, "reason": reason})


def entered(state: str, visit: int = 1) -> Entry:
    return ("entered", {"state": state, "visit": visit})


def queued(task: int, state: str) -> Entry:
    return ("task_queued", {"task": task, "state": state})


def claimed(task: int, attempt: int = 1, by: str = "build-box-1") -> Entry:
    return ("task_claimed", {"task": task, "supervisor": by, "attempt": attempt})


def waiting(task: int) -> Entry:
    return ("task_waiting", {"task": task})


def done(task: int) -> Entry:
    return ("task_done", {"task": task})


def task_cancelled(task: int) -> Entry:
    return ("task_cancelled", {"task": task})


def task_failed(task: int, error: str) -> Entry:
    return ("task_failed", {"task": task, "error": error})


def retrying(task: int, attempt: int) -> Entry:
    return ("task_retrying", {"task": task, "attempt": attempt})


def timer_set(event: str, due_at: str) -> Entry:
    return ("timer_set", {"event": event, "due_at": due_at})


def timer_fired(event: str) -> Entry:
    return ("timer_fired", {"event": event})


def branch(workflow: str, token: str) -> Entry:
    return ("branch_started", {"workflow": workflow, "token": token})


def changed(**changes: Any) -> Entry:
    return ("context_changed", {"keys": sorted(changes), "changes": changes})


PAUSED: Entry = ("paused", {})
RESUMED: Entry = ("resumed", {})
COMPLETED: Entry = ("completed", {})
CANCELLED: Entry = ("cancelled", {})


def failed(reason: str) -> Entry:
    return ("failed", {"reason": reason})


def cancelled(reason: str) -> Entry:
    return ("cancelled", {"reason": reason})
