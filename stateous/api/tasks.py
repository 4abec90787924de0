"""The routes of tasks, for supervisors: claim, release, heartbeat, report, note, memory, and many messages at once."""

from __future__ import annotations

from litestar import post, put
from litestar.types import ASGIApp

from stateous.api import operations
from stateous.api.bodies import body_of
from stateous.api.commands import (
    beat_asked,
    claim_asked,
    memory_asked,
    note_asked,
    release_asked,
    report_asked,
)
from stateous.api.hangups import while_connected
from stateous.api.messages import messages_asked, results_of
from stateous.api.plane import plane_of
from stateous.api.refusals import Asked, answering
from stateous.api.replies import NOTHING, Lost, Released, Results, answer_reply, grant_shown, reply
from stateous.model.wire.body import DEEPEST
from stateous.model.wire.query import task_id


@post("/tasks/claim", operation_class=operations.CLAIM)
@answering
async def task_claim(request: Asked) -> ASGIApp:
    asked = claim_asked(await body_of(request))
    claiming = plane_of(request).claim(asked.claim, wait=asked.wait)
    # Who waited and hung up must be given no task. Who does not wait has no time to hang up.
    granted = await (while_connected(request, claiming) if asked.wait else claiming)
    if granted is None:
        return NOTHING
    if asked.many or not granted.grants:
        return answer_reply(granted)
    return reply(grant_shown(granted.grants[0]))


@post("/tasks/release", operation_class=operations.RELEASE)
@answering
async def task_release(request: Asked) -> ASGIApp:
    asked = release_asked(await body_of(request))
    released = await plane_of(request).release(
        asked.supervisor, tasks=asked.tasks, request=asked.request
    )
    return reply(Released(list(released)))


@post("/tasks/messages", operation_class=operations.MESSAGES)
@answering
async def task_messages(request: Asked) -> ASGIApp:
    # Each message may be as deep as the body of its single route; it lies in a list in an object.
    body = await body_of(request, deepest=DEEPEST + 2)
    results = await results_of(plane_of(request), messages_asked(body), size=body.size)
    return reply(Results(results))


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


ROUTES = [
    task_claim,
    task_release,
    task_heartbeat,
    task_report,
    task_note,
    task_memory,
    task_messages,
]
