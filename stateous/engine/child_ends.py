"""A child that a routine began has ended: its step is done, or the routine has failed with it (docs/flows.md)."""

from __future__ import annotations

import copy

from stateous.engine.draft import Draft
from stateous.engine.family import Document, FlowStep, Json, Task, Token
from stateous.engine.flows import is_readable, turned, unreadable, write_step
from stateous.engine.giving_up import give_up_for_good
from stateous.engine.lifecycles import OPEN_TASK, STEP, check_move
from stateous.engine.plans import ChildEnded
from stateous.engine.waking import go_on, is_lost, wait_and_go_on


def is_awaited(draft: Draft, child: str) -> bool:
    """Whether a routine of its parent began this child, and the parent is still there where it did."""
    parent = draft.token(child).parent
    return parent is not None and draft.token(parent).child == child


def end_awaited(draft: Draft, ended: ChildEnded) -> None:
    """End the step that awaits the child."""
    child = draft.token(ended.child)
    parent = draft.edit(str(child.parent))
    assert parent.child_task is not None  # noqa: S101 - it stands beside the child
    task = draft.task(parent.child_task)
    parent.child = parent.child_task = None
    parent.children_open -= 1
    flow = draft.flow(task.id)
    if flow is not None and not is_readable(flow):
        # As an attempt that is given it; the child's end is not held up by it.
        if task.status in OPEN_TASK:
            give_up_for_good(draft, task, unreadable(flow).sentence)
        return
    step = draft.open_step(task.id)
    if flow is None or step is None or step.child != child.token:
        return
    failed = child.status != "completed"
    if failed and step.fail_on_failure:
        why = f"the child '{child.token}' {child.status}: {ended.reason}"
        turned(draft, flow, message=why)
        _end(draft, step, status="faulted", message=why)
        data: Document = {"task": task.id, "step": step.name, "message": why}
        draft.record(parent.token, "step_faulted", data)
        if task.status in OPEN_TASK:
            give_up_for_good(draft, task, why)
        return
    turned(draft, flow, message=None)
    _end(draft, step, status="done", result=_result(child, ended.reason))
    draft.record(parent.token, "step_done", {"task": task.id, "step": step.name})
    _wake(draft, task, step)


def _end(
    draft: Draft, step: FlowStep, *, status: str, result: Json = None, message: str | None = None
) -> None:
    check_move(STEP, step.status, status)
    ended = copy.copy(step)
    ended.status = status
    ended.result = result
    ended.message = message or step.message
    ended.completed_at = draft.at if status == "done" else None
    write_step(draft, ended, step)


def _result(child: Token, reason: str | None) -> Document:
    brought = child.entered_by
    return {
        "workflow": child.workflow,
        "token": child.token,
        "status": child.status,
        "final": child.state,
        "payload": None if brought is None else brought.payload,
        "context": child.context,
        "reason": reason,
    }


def _wake(draft: Draft, task: Task, step: FlowStep) -> None:
    if not is_lost(task, step):
        go_on(draft, task)
    elif task.status == "waiting":
        # The run that began it has ended without waiting for it; nobody else would tell the next one.
        wait_and_go_on(draft, task, step)
