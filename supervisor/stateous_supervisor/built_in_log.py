"""The state log that the control plane keeps: each part of a call is one request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar, cast

import msgspec

from stateous.client.answers import ItemTold, StoredItem
from stateous.client.calls import (
    Call,
    items_as_written,
    items_exist_as_written,
    items_found_as_written,
    stored_items,
)
from stateous.client.calls import ItemCall as Name
from stateous.model.items import Acquired, ItemRecord, ItemStatus
from stateous.model.state_log_handlers import ItemCall, StateLogContext

Answered = TypeVar("Answered")


class Send(Protocol):
    """Sends a call until it is answered, and raises its refusals."""

    async def __call__(self, call: Call[Answered], /) -> Answered: ...


_encode: Final = msgspec.json.Encoder().encode


class BuiltInLog:
    """The handler `built-in`."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def exists(self, calls: Sequence[ItemCall], /) -> Sequence[bool]:
        body = _encode({"items": [_named(call) for call in calls]})
        return await self._send(items_exist_as_written(calls[0].context.task, body))

    async def acquire(self, calls: Sequence[ItemCall], /) -> list[Acquired]:
        return [_acquired(each) for each in await self._do("acquire", calls, _named)]

    async def set(self, calls: Sequence[ItemCall], /) -> None:
        await self._do("set", calls, _said)

    async def release(self, calls: Sequence[ItemCall], /) -> None:
        await self._do("release", calls, _failed)

    async def upsert(self, calls: Sequence[ItemCall], /) -> None:
        await self._do("upsert", calls, _kept)

    async def get(self, calls: Sequence[ItemCall], /) -> list[ItemRecord | None]:
        found: list[ItemRecord | None] = []
        while len(found) < len(calls):
            # An answer is of the first of them, as many as it has room for.
            body = _encode({"items": [_named(call) for call in calls[len(found) :]]})
            told = await self._send(items_found_as_written(calls[0].context.task, body))
            found += [None if each is None else _record(each) for each in told]
        return found

    async def list(
        self,
        context: StateLogContext,
        /,
        *,
        entity: str | None,
        status: ItemStatus | None,
        limit: int,
        after: tuple[str, str] | None,
    ) -> list[ItemRecord]:
        found: list[ItemRecord] = []
        next_: str | None = None
        if after is not None:
            next_ = _encode((context.scope_id, context.place, *after)).decode()
        while len(found) < limit:
            # A page may be shorter than was asked.
            page = await self._send(
                stored_items(
                    {
                        "scope": context.scope,
                        "place": context.place,
                        "entity": entity,
                        "status": status,
                        "limit": limit - len(found),
                        "after": next_,
                    }
                )
            )
            found += [_record(each) for each in page.items]
            next_ = page.next
            if next_ is None:
                break
        return found

    async def _do(
        self,
        name: Name,
        calls: Sequence[ItemCall],
        row: Callable[[ItemCall], Mapping[str, Any]],
    ) -> tuple[ItemTold, ...]:
        context = calls[0].context  # a part is of one attempt
        body = {
            "attempt": context.attempt,
            "supervisor": context.supervisor,
            "items": [row(call) for call in calls],
        }
        return await self._send(items_as_written(context.task, name, _encode(body)))


def _named(call: ItemCall) -> Mapping[str, Any]:
    named = {"item": call.item}
    return {**named, "entity": call.entity} if call.entity else named


def _said(call: ItemCall) -> Mapping[str, Any]:
    said = {**_kept(call), "status": call.status}
    return said if call.reason is None else {**said, "reason": call.reason}


def _kept(call: ItemCall) -> Mapping[str, Any]:
    return _named(call) if call.data is None else {**_named(call), "data": call.data}


def _failed(call: ItemCall) -> Mapping[str, Any]:
    return {**_named(call), "error": call.reason or ""}


def _acquired(told: ItemTold) -> Acquired:
    return Acquired(
        outcome=told.outcome or "busy",
        until=told.until,
        status=cast("ItemStatus | None", told.status),
        data=told.data,
        reason=told.reason,
        data_left_out=told.data_left_out,
    )


def _record(stored: StoredItem) -> ItemRecord:
    return ItemRecord(
        item=stored.item,
        entity=stored.entity,
        status=cast("ItemStatus", stored.status),
        data=stored.data,
        reason=stored.reason,
        token=stored.token,
        locked_until=stored.locked_until,
        changed_at=stored.changed_at,
        expires_at=stored.expires_at,
    )
