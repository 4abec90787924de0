"""The routes of tokens: start, look up, fire, steer."""

from __future__ import annotations

from litestar import get, post
from litestar.types import ASGIApp

from stateous.api import operations
from stateous.api.bodies import body_of
from stateous.api.commands import fire_asked, start_asked
from stateous.api.plane import plane_of
from stateous.api.refusals import Asked, answering
from stateous.api.replies import answer_reply, entry_shown, reply, token_shown
from stateous.engine.commands import Cancel, Pause, Resume
from stateous.model.refusals import TokenNotFound
from stateous.model.wire.query import (
    limit_asked,
    parent_asked,
    part_asked,
    read_query,
    status_asked,
)


@post("/tokens", operation_class=operations.START)
@answering
async def token_start(request: Asked) -> ASGIApp:
    body = await body_of(request)
    command = start_asked(body)
    return answer_reply(await plane_of(request).submit(command, size=body.size))


@get("/tokens", operation_class=operations.LIST)
@answering
async def tokens_list(request: Asked) -> ASGIApp:
    query = read_query(request.scope["query_string"])
    status, limit, parent = status_asked(query), limit_asked(query), parent_asked(query)
    found = await plane_of(request).tokens(status=status, parent=parent, limit=limit)
    return reply([token_shown(token) for token in found])


@get("/tokens/{token:str}", operation_class=operations.GET)
@answering
async def token_get(request: Asked) -> ASGIApp:
    return reply(token_shown(await plane_of(request).token(token_asked(request))))


@get("/tokens/{token:str}/history", operation_class=operations.HISTORY)
@answering
async def token_history(request: Asked) -> ASGIApp:
    after, limit = part_asked(read_query(request.scope["query_string"]))
    entries = await plane_of(request).history(token_asked(request), after=after, limit=limit)
    return reply([entry_shown(entry) for entry in entries])


@post("/tokens/{token:str}/events/{event:str}", operation_class=operations.FIRE)
@answering
async def event_fire(request: Asked) -> ASGIApp:
    path = request.scope["path_params"]
    body = await body_of(request)
    command = fire_asked(path["token"], path["event"], body, request.scope["headers"])
    token_asked(request)
    return answer_reply(await plane_of(request).submit(command, size=body.size))


@post("/tokens/{token:str}/pause", operation_class=operations.PAUSE)
@answering
async def token_pause(request: Asked) -> ASGIApp:
    return answer_reply(await plane_of(request).submit(Pause(token_asked(request))))


@post("/tokens/{token:str}/resume", operation_class=operations.RESUME)
@answering
async def token_resume(request: Asked) -> ASGIApp:
    return answer_reply(await plane_of(request).submit(Resume(token_asked(request))))


@post("/tokens/{token:str}/cancel", operation_class=operations.CANCEL)
@answering
async def token_cancel(request: Asked) -> ASGIApp:
    return answer_reply(await plane_of(request).submit(Cancel(token_asked(request))))


def token_asked(request: Asked) -> str:
    """The id in the path; one with a NUL never reaches a database, which could not read it."""
    token: str = request.scope["path_params"]["token"]
    if "\0" in token:
        raise TokenNotFound("there is no token with such an id")
    return token


ROUTES = [
    token_start,
    tokens_list,
    token_get,
    token_history,
    event_fire,
    token_pause,
    token_resume,
    token_cancel,
]
