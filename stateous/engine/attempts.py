"""Who writes for a task: its attempt is the one that counts, and somebody works on it (docs/http.md)."""

from __future__ import annotations

from stateous.engine.commands import AwaitChild, Checkpoint, Items
from stateous.engine.draft import Draft
from stateous.engine.family import Task
from stateous.engine.lifecycles import WORKED_TASK
from stateous.model.refusals import AttemptOver, TaskNotHeld


def worked_task(draft: Draft, task: int, attempt: int | None) -> Task:
    """The task, if somebody works on this attempt of it; raises AttemptOver and TaskNotHeld."""
    found = _of_attempt(draft, task, attempt)
    if found.status not in WORKED_TASK:
        msg = f"nobody works on task {task} now: it is {found.status}"
        raise TaskNotHeld(msg)
    return found


def held_task(draft: Draft, command: Checkpoint | AwaitChild | Items) -> Task:
    """The task, if the supervisor that asks, or any if none is named, works on this attempt; raises as `worked_task`."""
    found = _of_attempt(draft, command.task, command.attempt)
    if found.status != "claimed":
        msg = f"no supervisor works on task {found.id} now: it is {found.status}"
        raise TaskNotHeld(msg)
    if command.supervisor is not None:
        check_holder(found, command.supervisor)
    return found


def check_holder(task: Task, supervisor: str) -> None:
    """Raise TaskNotHeld unless this supervisor has claimed the task."""
    if task.status != "claimed" or task.claimed_by != supervisor:
        raise not_held(task, supervisor)


def not_held(task: Task, supervisor: str) -> TaskNotHeld:
    """The refusal of a supervisor that has not claimed the task."""
    return TaskNotHeld(f"task {task.id} is not held by '{supervisor}'")


def _of_attempt(draft: Draft, task: int, attempt: int | None) -> Task:
    found = draft.task(task)
    if attempt is not None and attempt < found.attempt:
        msg = f"attempt {attempt} of task {task} is over: it is on attempt {found.attempt}"
        raise AttemptOver(msg)
    if attempt is not None and attempt > found.attempt:
        msg = f"task {task} has no attempt {attempt} yet: it is on attempt {found.attempt}"
        raise TaskNotHeld(msg)
    return found
