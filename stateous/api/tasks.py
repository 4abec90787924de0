"""The routes of tasks, for supervisors: claim, heartbeat, report, note, memory."""

from __future__ import annotations

from litestar import post, put
from litestar.types import ASGIApp

from stateous.api import operations
from stateous.api.bodies import body_of
from stateous.api.commands import (
    ClaimAsked,
    beat_asked,
    claim_asked,
    memory_asked,
    note_asked,
    report_asked,
)
from stateous.api.plane import Plane, plane_of
from stateous.api.refusals import Asked, answering
from stateous.api.replies import Lost, answer_reply, grant_shown, reply
from stateous.engine.answers import Granted
from stateous.model.wire.query import task_id


@post("/tasks/claim", operation_class=operations.CLAIM)
@answering
async def task_claim(request: Asked) -> ASGIApp:
    asked = claim_asked(await body_of(request))
    granted = await _granted(plane_of(request), asked)
    if asked.many or not granted.grants:
        return answer_reply(granted)
    return reply(grant_shown(granted.grants[0]))


async def _granted(plane: Plane, asked: ClaimAsked) -> Granted:
    # This is where a claim with `asked.wait` will wait for a task; until then it is answered at once.
    return await plane.claim(asked.claim)


@post("/tasks/heartbeat", operation_class=operations.HEARTBEAT)
@answering
async def task_heartbeat(request: Asked) -> ASGIApp:
    lost = await plane_of(request).beat(beat_asked(await body_of(request)))
    return reply(Lost(list(lost)))


@post("/tasks/{task:str}/report", operation_class=operations.REPORT)
@answering
async def task_report(request: Asked) -> ASGIApp:
    task = task_id(request.scope["path_params"]["task"])
    body = await body_of(request)
    command = report_asked(task, body)
    return answer_reply(await plane_of(request).submit(command, size=body.size))


@post("/tasks/{task:str}/note", operation_class=operations.NOTE)
@answering
async def task_note(request: Asked) -> ASGIApp:
    task = task_id(request.scope["path_params"]["task"])
    body = await body_of(request)
    command = note_asked(task, body)
    return answer_reply(await plane_of(request).submit(command, size=body.size))


@put("/tasks/{task:str}/memory", operation_class=operations.MEMORY)
@answering
async def task_memory(request: Asked) -> ASGIApp:
    task = task_id(request.scope["path_params"]["task"])
    body = await body_of(request)
    command = memory_asked(task, body)
    return answer_reply(await plane_of(request).submit(command, size=body.size))


ROUTES = [task_claim, task_heartbeat, task_report, task_note, task_memory]
