"""The flow of a token as it is seen from outside (docs/http.md)."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from stateous.engine.facts import FlowRead
from stateous.engine.family import Document, Flow, FlowStep, Task, Token
from stateous.engine.flows import check_readable, first_flow
from stateous.engine.lifecycles import OPEN_TASK
from stateous.model.refusals import FlowNotFound

Status = Literal["Running", "Succeeded", "Failed", "Suspended"]


class ShownFlow(msgspec.Struct, frozen=True, kw_only=True):
    """The flow of the routine that the token is in, or that it ended with."""

    token: Token
    task: Task
    flow: Flow
    steps: tuple[FlowStep, ...]
    memory: Document
    status: Status
    last_message: str | None
    parent_step: str | None


def shown_flow(read: FlowRead) -> ShownFlow:
    """The flow as it is shown. Raises FlowNotFound and FlowUnreadable."""
    token, task = read.token, read.task
    if task is None or (task.state, task.visit) != (token.state, token.visit):
        raise FlowNotFound(f"the token '{token.token}' is in no state that has a routine")
    flow = read.flow or first_flow(task, token, at=token.entered_at)
    check_readable(flow)
    return ShownFlow(
        token=token,
        task=task,
        flow=flow,
        steps=read.steps,
        memory=read.memory,
        status=_status(token, task),
        last_message=_last_message(flow, read.note),
        parent_step=read.parent_step,
    )


def _status(token: Token, task: Task) -> Status:
    if token.status == "paused":
        return "Suspended"  # also with an outcome, which is held, and may not fit any more at the resume
    if task.status in OPEN_TASK:
        return "Running"
    return "Succeeded" if task.status == "done" else "Failed"


def _last_message(flow: Flow, note: tuple[str, datetime] | None) -> str | None:
    if note is not None and (flow.message_at is None or note[1] >= flow.message_at):
        return note[0]
    return flow.last_message
