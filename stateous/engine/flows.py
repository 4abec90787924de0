"""Checkpoints: what a routine has done of its work is written down step by step (docs/http.md)."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from datetime import datetime
from typing import Final

import msgspec

from stateous.engine.answers import Answer, Checkpointed
from stateous.engine.attempts import held_task
from stateous.engine.commands import AwaitChild, Checkpoint
from stateous.engine.draft import Draft
from stateous.engine.family import Document, Flow, FlowStep, Task, Timer, Token
from stateous.engine.lifecycles import STEP, check_move
from stateous.model.durations import parse_duration
from stateous.model.flows import LARGEST_FLOW, MOST_STEPS
from stateous.model.refusals import (
    FlowTooLarge,
    FlowUnreadable,
    StaleRevision,
    StepDoneAlready,
    StepOpen,
)

SCHEMA_VERSION: Final = 1
"""In which form flows are kept; one that was written in another is refused, never taken for none."""

DEADLINE: Final = "deadline"
NO_MESSAGE: Final = "the step failed and said nothing"


def checkpoint(draft: Draft, command: Checkpoint) -> Answer:
    """Write one step of the routine that has the task; a repeat of the last one is answered as that was.

    Raises AttemptOver, TaskNotHeld, FlowUnreadable, StaleRevision, StepOpen, StepDoneAlready and FlowTooLarge.
    """
    if command.status == "faulted" and not command.message:
        command = msgspec.structs.replace(command, message=NO_MESSAGE)
    task = held_task(draft, command)
    flow = readable_flow(draft, task.id)
    step = draft.flow_steps(task.id, [command.name])[command.name]
    if flow is not None and step is not None and is_repeat(command, flow, step):
        return _answer(command, step)
    check_revision(command, flow)
    check_order(draft, command, step)
    flow = turned(draft, flow or new_flow(draft, task), message=command.message)
    written = _written(draft, command, flow, step)
    _record(draft, task, command, written)
    return _answer(command, written)


def readable_flow(draft: Draft, task: int) -> Flow | None:
    """The task's flow, None as long as it has none. Raises FlowUnreadable."""
    flow = draft.flow(task)
    if flow is not None:
        check_readable(flow)
    return flow


def check_readable(flow: Flow) -> None:
    """Raise FlowUnreadable for a flow that is kept in a form that is not known here."""
    if not is_readable(flow):
        raise unreadable(flow)


def unreadable(flow: Flow) -> FlowUnreadable:
    """The refusal of a flow that is kept in a form that is not known here."""
    return FlowUnreadable(
        f"the flow of task {flow.task} is kept in form {flow.schema_version}, "
        f"and this version of Stateous knows form {SCHEMA_VERSION} only"
    )


def is_readable(flow: Flow) -> bool:
    """Whether this version of Stateous knows the form that the flow is kept in."""
    return flow.schema_version == SCHEMA_VERSION


def as_granted(steps: Iterable[FlowStep], task: Task) -> tuple[FlowStep, ...]:
    """The steps as the attempt finds them that begins: a fault that a failed attempt was told has no news in it.

    One behind which something else was asked for, or done, was handled. It stays as it was told: a run that asked anew
    would come to what is awaited behind it another way, or not at all, and what was done behind it would be done in vain.
    """
    steps = tuple(steps)
    handled_at = max(
        (step.revision for step in steps if step.kind != "step" or step.status == "done"), default=0
    )
    return tuple(
        step
        if step.fault is None or step.failures == task.failures or step.revision < handled_at
        else _told_before(step)
        for step in steps
    )


def _told_before(step: FlowStep) -> FlowStep:
    told = copy.copy(step)
    told.fault = told.failures = None
    return told


def is_repeat(command: Checkpoint | AwaitChild, flow: Flow, step: FlowStep) -> bool:
    """Whether it was accepted before, and nothing came after it but, at most, the end of what it opened."""
    since = flow.revision - step.revision
    has_ended_since = since == 1 and step.kind != "step" and step.status != "open"
    was = "open" if has_ended_since else step.status
    return (
        (since == 0 or has_ended_since)
        and (step.attempt, step.kind, was) == (command.attempt, command.kind, command.status)
        and step.revision == command.revision + 1
    )


def check_revision(command: Checkpoint | AwaitChild, flow: Flow | None) -> None:
    """Raise StaleRevision unless the sender knows all that was written."""
    now = 0 if flow is None else flow.revision
    if command.revision != now:
        msg = f"the flow of task {command.task} is at revision {now}, not at {command.revision}"
        raise StaleRevision(msg)


def check_order(draft: Draft, command: Checkpoint | AwaitChild, step: FlowStep | None) -> None:
    """Raise StepOpen or StepDoneAlready: one step after the other, and each is done once."""
    opened = draft.open_step(command.task)
    ends_it = (
        opened is not None
        and opened.name == command.name
        and opened.kind == command.kind
        and command.status == "faulted"
    )
    if opened is not None and not ends_it:
        msg = f"the step '{opened.name}' of task {command.task} is open: nothing else can begin before it ends"
        raise StepOpen(msg)
    if step is not None and step.status == "done":
        msg = f"the step '{command.name}' of task {command.task} is done: its first result stays"
        raise StepDoneAlready(msg)


def new_flow(draft: Draft, task: Task) -> Flow:
    """The flow of a routine that begins."""
    return first_flow(task, draft.token(task.token), at=draft.at)


def first_flow(task: Task, token: Token, *, at: datetime) -> Flow:
    """The flow of a routine that has done nothing yet; nothing has changed its token's context in this visit."""
    return Flow(
        task=task.id,
        token=task.token,
        schema_version=SCHEMA_VERSION,
        revision=0,
        input=token.context,
        last_message=None,
        message_at=None,
        created_at=token.entered_at,
        updated_at=at,
        step_count=0,
        size=0,
    )


def turned(draft: Draft, flow: Flow, *, message: str | None, by: int = 1) -> Flow:
    """The flow with its next revision (`by` 0: the same one), and the message as its last one if there is one."""
    flow = copy.copy(flow)
    flow.revision += by
    flow.updated_at = draft.at
    if message is not None:
        flow.last_message = message
        flow.message_at = draft.at
    draft.write_flow(flow)
    return flow


def write_step(draft: Draft, step: FlowStep, before: FlowStep | None) -> Flow:
    """A new step, or what became of the one of before; its flow as it is with it."""
    flow = copy.copy(draft.flow(step.task))
    assert flow is not None  # noqa: S101 - it is there before its first step
    flow.step_count += before is None
    flow.size += size_of(step) - (0 if before is None else size_of(before))
    draft.write_flow(flow)
    draft.write_step(step)
    return flow


def size_of(step: FlowStep) -> int:
    """Bytes of what a grant tells of it."""
    result = 0 if step.result is None else len(msgspec.json.encode(step.result))
    return len(step.name.encode()) + len((step.message or "").encode()) + result


def check_room(flow: Flow, step: FlowStep) -> None:
    """Raise FlowTooLarge for a step with which its flow has more than it may have.

    What comes from outside, an answer or a child's end, is never refused: somebody else would pay for it. The
    next step is. Nor is a fault: it has to be told.
    """
    if flow.step_count > MOST_STEPS:
        msg = f"the flow of task {flow.task} has {MOST_STEPS} steps, and may have no more: '{step.name}' is not kept"
        raise FlowTooLarge(msg)
    if flow.size > LARGEST_FLOW and step.status != "faulted":
        msg = (
            f"the flow of task {flow.task} would have {flow.size} bytes with the step '{step.name}', and may have "
            f"{LARGEST_FLOW} at most: it is not kept"
        )
        raise FlowTooLarge(msg)


def _written(draft: Draft, command: Checkpoint, flow: Flow, step: FlowStep | None) -> FlowStep:
    if step is not None:
        check_move(STEP, step.status, command.status)
    is_open = command.status == "open"
    written = FlowStep(
        task=command.task,
        name=command.name,
        seq=flow.revision if step is None else step.seq,
        kind=command.kind,
        status=command.status,
        result=command.result if command.status == "done" else None,
        correlation=command.correlation if is_open else None,
        answered=None if step is None else step.answered,
        message=command.message,
        child=None,
        on_lost=command.on_lost if command.kind == "response" else None,
        attempt=command.attempt,
        revision=flow.revision,
        opened_at=draft.at if step is None or step.status != "open" else step.opened_at,
        completed_at=draft.at if command.status == "done" else None,
    )
    check_room(write_step(draft, written, step), written)
    return written


def _record(draft: Draft, task: Task, command: Checkpoint, step: FlowStep) -> None:
    data: Document = {"task": task.id, "step": step.name}
    match step.status:
        case "open":
            data["correlation"] = step.correlation
            if command.timeout is not None:
                data["due_at"] = _set_deadline(draft, task, step.name, command.timeout).due_at
            draft.record(task.token, "response_awaited", data)
        case "done":
            draft.record(task.token, "step_done", data)
        case _:
            cancel_deadline(draft, task.token, step.name)
            data["message"] = step.message
            draft.record(task.token, "step_faulted", data)


def _set_deadline(draft: Draft, task: Task, step: str, timeout: str) -> Timer:
    timer = Timer(
        id=draft.new_id(),
        token=task.token,
        state=task.state,
        visit=task.visit,
        event=DEADLINE,
        payload={"timeout": timeout},
        kind=DEADLINE,
        status="pending",
        set_at=draft.at,
        due_at=draft.at + parse_duration(timeout),
        step=step,
    )
    draft.add_timer(timer)
    return timer


def cancel_deadline(draft: Draft, token: str, step: str) -> None:
    """The step is awaited no longer."""
    for timer in draft.pending_timers(token):
        if timer.kind == DEADLINE and timer.step == step:
            draft.edit_timer(timer, status="cancelled")


def _answer(command: Checkpoint, step: FlowStep) -> Checkpointed:
    if command.status != "open":
        return Checkpointed(step.revision)
    # When its time is over before its repeat comes, an answer that it had before is not one to this.
    answered = None if step.fault == DEADLINE else step.answered
    return Checkpointed(step.revision, step.correlation or answered)
