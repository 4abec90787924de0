"""Responses to steps that await one: they come, or come too late, and the task goes on (docs/http.md)."""

from __future__ import annotations

import copy
from typing import Final

from stateous.engine.answers import Answer, Responded
from stateous.engine.commands import Respond
from stateous.engine.draft import Draft
from stateous.engine.failures import fail_for_good
from stateous.engine.family import Document, FlowStep, Json, Task, Timer
from stateous.engine.flows import (
    DEADLINE,
    cancel_deadline,
    check_readable,
    readable_flow,
    turned,
    write_step,
)
from stateous.engine.lifecycles import LIVE_TOKEN, OPEN_TASK, STEP, check_move
from stateous.engine.waking import go_on, is_lost, wait_and_go_on
from stateous.model.refusals import FlowUnreadable, ResponseNotAwaited

NO_MESSAGE: Final = "the response says that it failed, and not why"
_SHOWN: Final = 128


def respond(draft: Draft, command: Respond) -> Answer:
    """End the step that awaits this response, or note how far it is; whoever waits for it goes on.

    Raises ResponseNotAwaited and FlowUnreadable, which change nothing.
    """
    task = draft.task(command.task)
    flow = readable_flow(draft, task.id)
    step = draft.flow_steps(task.id, [command.step])[command.step]
    if flow is None or step is None or command.correlation not in {step.correlation, step.answered}:
        raise not_awaited(command.correlation)
    if command.correlation != step.correlation:
        return Responded(draft.token(task.token), step.name, duplicate=True)
    if not _is_in_visit(draft, task):
        raise not_awaited(command.correlation)
    if command.status == "progress":
        turned(draft, flow, message=command.message, by=0)
        told = copy.copy(step)
        told.message = command.message or step.message
        write_step(draft, told, step)
        return Responded(draft.token(task.token), step.name)
    was_lost = is_lost(task, step)
    message = command.message
    if command.status == "failed":
        message = message or NO_MESSAGE
    turned(draft, flow, message=message)
    fault = "failed" if command.status == "failed" else None
    _end(draft, task, step, fault=fault, result=command.payload, message=message, answered=True)
    cancel_deadline(draft, task.token, step.name)
    data: Document = {"task": task.id, "step": step.name, "status": command.status}
    if command.status == "failed":
        data["message"] = message
    draft.record(task.token, "response_received", data)
    if was_lost:
        _meet_nobody(draft, task, step)
    else:
        go_on(draft, draft.task(task.id))
    return Responded(draft.token(task.token), step.name)


def miss(draft: Draft, timer: Timer) -> None:
    """Nobody answered in time: the step that the deadline is for has faulted."""
    draft.edit_timer(timer, status="fired")
    token = draft.token(timer.token)
    task = draft.open_task(token)
    if task is None or timer.step is None:
        return
    flow = draft.flow(task.id)
    if flow is None:
        return
    try:
        check_readable(flow)
    except FlowUnreadable as refusal:
        # As an attempt that is given it. A deadline that stays would be due for ever.
        fail_for_good(draft, task, refusal.sentence)
        return
    step = draft.flow_steps(task.id, [timer.step])[timer.step]
    if step is None or step.status != "open":
        return
    message = f"no response came within {(timer.payload or {}).get('timeout')}"
    turned(draft, flow, message=message)
    _end(draft, task, step, fault=DEADLINE, result=None, message=message, answered=False)
    data: Document = {"task": task.id, "step": step.name, "message": message}
    draft.record(token.token, "step_faulted", data)
    go_on(draft, task)


def _end(
    draft: Draft,
    task: Task,
    step: FlowStep,
    *,
    fault: str | None,
    result: Json,
    message: str | None,
    answered: bool,
) -> None:
    status = "done" if fault is None else "faulted"
    check_move(STEP, step.status, status)
    ended = copy.copy(step)
    ended.status = status
    ended.result = result if status == "done" else None
    ended.message = message or step.message
    if answered:
        ended.answered = step.correlation
    ended.correlation = None
    ended.completed_at = draft.at if status == "done" else None
    ended.fault = fault
    ended.failures = None if fault is None else task.failures
    write_step(draft, ended, step)


def _is_in_visit(draft: Draft, task: Task) -> bool:
    """Whether the token is still where the routine asked; its outcome may be held, and come back."""
    token = draft.token(task.token)
    return token.status in LIVE_TOKEN and (token.state, token.visit) == (task.state, task.visit)


def _meet_nobody(draft: Draft, task: Task, step: FlowStep) -> None:
    """What a response does when the run that asked for it is gone."""
    if task.status not in OPEN_TASK:
        return
    match step.on_lost:
        case "fail":
            why = f"the response for '{step.name}' came when the run that asked for it was gone"
            fail_for_good(draft, task, why)
        case "resume" if task.status == "waiting":
            wait_and_go_on(draft, task, step)
        case _:
            # The next run finds the step as it is now.
            return


def not_awaited(correlation: str) -> ResponseNotAwaited:
    """The refusal of a response that nobody awaits, or not any more."""
    shown = correlation if len(correlation) <= _SHOWN else correlation[:_SHOWN] + "…"
    return ResponseNotAwaited(f"nobody awaits the response '{shown}'")
