"""The routes of flows: a routine's steps, the responses that they await, and what is seen of them."""

from __future__ import annotations

from litestar import get, post
from litestar.types import ASGIApp

from stateous.api import operations
from stateous.api.bodies import body_of
from stateous.api.commands import response_asked, step_asked
from stateous.api.plane import plane_of
from stateous.api.refusals import Asked, answering
from stateous.api.replies import answer_reply, flow_shown, reply
from stateous.api.tokens import token_asked
from stateous.model.wire.query import task_id


@post("/tasks/{task:str}/steps", operation_class=operations.STEP)
@answering
async def task_step(request: Asked) -> ASGIApp:
    task = task_id(request.scope["path_params"]["task"])
    body = await body_of(request)
    command = step_asked(task, body)
    return answer_reply(await plane_of(request).checkpoint(command, size=body.size))


@post("/responses/{correlation:str}", operation_class=operations.RESPOND)
@answering
async def response_take(request: Asked) -> ASGIApp:
    correlation: str = request.scope["path_params"]["correlation"]
    body = await body_of(request)
    asked = response_asked(body)
    answer = await plane_of(request).respond(
        correlation,
        status=asked.status,
        payload=asked.payload,
        message=asked.message,
        size=body.size,
    )
    return answer_reply(answer)


@get("/tokens/{token:str}/flow", operation_class=operations.FLOW)
@answering
async def token_flow(request: Asked) -> ASGIApp:
    plane = plane_of(request)
    return reply(flow_shown(await plane.flow(token_asked(request)), plane.graph))


ROUTES = [task_step, response_take, token_flow]
