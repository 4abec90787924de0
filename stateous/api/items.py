"""The routes of business items: what routines say of them, and what operators see and do."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import msgspec
from litestar import get, post
from litestar.types import ASGIApp

from stateous.api import item_operations
from stateous.api.bodies import body_of
from stateous.api.item_replies import (
    exists_shown,
    found_shown,
    history_shown,
    items_shown,
)
from stateous.api.plane import plane_of
from stateous.api.refusals import Asked, answering
from stateous.api.replies import NOTHING, answer_reply, reply
from stateous.engine.commands import ItemAsked, ItemCall
from stateous.engine.items import not_found
from stateous.model.refusals import InvalidArgument
from stateous.model.state_logs import SCOPE_NAMES
from stateous.model.wire import fields, query
from stateous.model.wire.items import STATUSES, item_key, items, scope_number
from stateous.model.wire.query import read_query, task_id
from stateous.store.store import ItemsAsked

_CURSOR: Final = msgspec.json.Decoder(tuple[int, str, str, str])


@post("/tasks/{task:str}/items/exists", operation_class=item_operations.ITEMS_EXIST)
@answering
async def items_exist(request: Asked) -> ASGIApp:
    task = task_id(request.scope["path_params"]["task"])
    sent = items(await body_of(request), "exists")
    asked = [(each.entity, each.item) for each in sent]
    return reply(exists_shown(await plane_of(request).items.exist(task, asked)))


@post("/tasks/{task:str}/items/get", operation_class=item_operations.ITEMS_GET)
@answering
async def items_get(request: Asked) -> ASGIApp:
    task = task_id(request.scope["path_params"]["task"])
    sent = items(await body_of(request), "exists")
    asked = [(each.entity, each.item) for each in sent]
    return reply(found_shown(await plane_of(request).items.get(task, asked)))


async def _call(request: Asked, call: ItemCall) -> ASGIApp:
    task = task_id(request.scope["path_params"]["task"])
    body = await body_of(request)
    supervisor = fields.supervisor_or_none(body)
    attempt = fields.attempt(body, InvalidArgument, largest=fields.LARGEST_INTEGER)
    if attempt is None:
        raise InvalidArgument("'attempt' is missing: items are worked on by an attempt of the task")
    asked = [ItemAsked(*each) for each in items(body, call)]
    return answer_reply(
        await plane_of(request).items.call(
            task, call, asked, attempt=attempt, supervisor=supervisor, size=body.size
        )
    )


@post("/tasks/{task:str}/items/acquire", operation_class=item_operations.ITEMS_ACQUIRE)
@answering
async def items_acquire(request: Asked) -> ASGIApp:
    return await _call(request, "acquire")


@post("/tasks/{task:str}/items/set", operation_class=item_operations.ITEMS_SET)
@answering
async def items_set(request: Asked) -> ASGIApp:
    return await _call(request, "set")


@post("/tasks/{task:str}/items/release", operation_class=item_operations.ITEMS_RELEASE)
@answering
async def items_release(request: Asked) -> ASGIApp:
    return await _call(request, "release")


@post("/tasks/{task:str}/items/upsert", operation_class=item_operations.ITEMS_UPSERT)
@answering
async def items_upsert(request: Asked) -> ASGIApp:
    return await _call(request, "upsert")


@get("/items", operation_class=item_operations.ITEMS)
@answering
async def items_list(request: Asked) -> ASGIApp:
    asked = _listing(read_query(request.scope["query_string"]))
    return reply(items_shown(await plane_of(request).items.list(asked), limit=asked.limit))


@get("/items/history", operation_class=item_operations.ITEM_HISTORY)
@answering
async def item_history(request: Asked) -> ASGIApp:
    key = item_key(dict(read_query(request.scope["query_string"])))
    changes = await plane_of(request).items.history(key)
    if not changes:
        raise not_found(key)
    return reply(history_shown(changes))


@post("/items/reset", operation_class=item_operations.ITEM_RESET)
@answering
async def item_reset(request: Asked) -> ASGIApp:
    await plane_of(request).items.reset(item_key((await body_of(request)).fields))
    return NOTHING


@post("/items/expire", operation_class=item_operations.ITEM_EXPIRE)
@answering
async def item_expire(request: Asked) -> ASGIApp:
    await plane_of(request).items.expire(item_key((await body_of(request)).fields))
    return NOTHING


def _listing(asked: dict[str, str]) -> ItemsAsked:
    status = asked.get("status")
    if status is not None and status not in STATUSES:
        raise InvalidArgument(f"'status' is one of {', '.join(STATUSES)}")
    return ItemsAsked(
        scope=None if "scope" not in asked else scope_number(asked["scope"]),
        place=asked.get("place"),
        entity=asked.get("entity"),
        item=asked.get("item"),
        status=status,
        token=asked.get("token"),
        after=_after(asked.get("after")),
        limit=query.limit_asked(asked),
    )


def _after(cursor: str | None) -> tuple[int, str, str, str] | None:
    if cursor is None:
        return None
    with suppress(msgspec.DecodeError):
        key = _CURSOR.decode(cursor)
        if key[0] in SCOPE_NAMES:
            return key
    raise InvalidArgument("'after' is what 'next' of the page before said")


ROUTES = [
    items_exist,
    items_get,
    items_acquire,
    items_set,
    items_release,
    items_upsert,
    items_list,
    item_history,
    item_reset,
    item_expire,
]
