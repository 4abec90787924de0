"""A task that waits for steps of its flow is queued again when they have ended."""

from __future__ import annotations

from stateous.engine.draft import Draft
from stateous.engine.family import FlowStep, Task
from stateous.engine.flows import is_readable


def go_on(draft: Draft, task: Task) -> None:
    """Queue a task that waits for steps of its flow if all of them have ended; in a pause it stays as it is."""
    if task.status != "waiting" or task.awaiting is None:
        return
    if draft.token(task.token).status != "active":
        return
    flow = draft.flow(task.id)
    if flow is None or not is_readable(flow):
        return
    steps = draft.flow_steps(task.id, task.awaiting).values()
    if all(step is not None and step.status != "open" for step in steps):
        requeue(draft, task)


def wait_and_go_on(draft: Draft, task: Task, step: FlowStep) -> None:
    """Queue a task that waits for something else, since this step has ended.

    In a pause it waits for the step from now on: the resume finds that it has ended.
    """
    draft.edit_task(task.id).awaiting = (*(task.awaiting or ()), step.name)
    go_on(draft, draft.task(task.id))


def requeue(draft: Draft, task: Task) -> None:
    """Queue a task that waits: no attempt has failed."""
    queued = draft.edit_task(task.id, status="queued")
    queued.queued_at = draft.at
    draft.record(task.token, "task_resumed", {"task": task.id})


def is_lost(task: Task, step: FlowStep) -> bool:
    """Whether the run that asked has ended without waiting for the step."""
    if task.status == "waiting":
        return step.name not in (task.awaiting or ())
    return task.status != "claimed" or task.attempt != step.attempt
