"""The state log that a control plane keeps, in memory: decided by the engine, as in earnest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Protocol, cast

import msgspec

from stateous.engine.answers import Answer, ItemsTold
from stateous.engine.commands import ItemAsked, Items
from stateous.engine.commands import ItemCall as Name
from stateous.engine.family import Item, ItemKey
from stateous.engine.items import does_exist
from stateous.model.items import NO_REASON, Acquired, ItemOutcome, ItemRecord, ItemStatus
from stateous.model.refusals import Refusal
from stateous.model.state_log_handlers import ItemCall, StateLogContext


class Rows(Protocol):
    """The store that the engine decides on."""

    items: dict[ItemKey, Item]
    now: datetime


class EngineLog:
    """The handler `built-in`. Items go to `decide` as commands, and come back from `rows`."""

    def __init__(self, rows: Rows, *, decide: Callable[[Items], Answer | Refusal]) -> None:
        self._rows = rows
        self._decide = decide

    def put(self, context: StateLogContext, records: Sequence[ItemRecord]) -> None:
        """Have these records, whatever was known before."""
        for record in records:
            item = Item(
                scope=context.scope_id,
                place=context.place,
                entity=record.entity,
                item=record.item,
                status=record.status,
                data=_written(record.data),
                reason=record.reason,
                token=record.token,
                locked_until=record.locked_until,
                changed_at=record.changed_at or self._rows.now,
                expires_at=record.expires_at,
            )
            self._rows.items[item.key] = item

    @property
    def records(self) -> list[ItemRecord]:
        """All that is kept, by scope, place, entity and item."""
        return [_record(self._rows.items[key]) for key in sorted(self._rows.items)]

    async def exists(self, calls: Sequence[ItemCall], /) -> list[bool]:
        found = [self._rows.items.get(call.key) for call in calls]
        return [item is not None and does_exist(item, self._rows.now) for item in found]

    async def acquire(self, calls: Sequence[ItemCall], /) -> list[Acquired]:
        told = self._do("acquire", calls, status="processing")
        return [
            Acquired(
                outcome=cast("ItemOutcome", each.outcome),
                until=each.until,
                status=cast("ItemStatus | None", each.status),
                data=_read(each.data),
                reason=each.reason,
            )
            for each in told.items
        ]

    async def set(self, calls: Sequence[ItemCall], /) -> None:
        self._do("set", calls, status=None)

    async def release(self, calls: Sequence[ItemCall], /) -> None:
        self._do("release", calls, status="failed")

    async def upsert(self, calls: Sequence[ItemCall], /) -> None:
        self._do("upsert", calls, status="processed")

    async def get(self, calls: Sequence[ItemCall], /) -> list[ItemRecord | None]:
        found = [self._rows.items.get(call.key) for call in calls]
        return [None if item is None else _record(item) for item in found]

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
        found = [
            _record(item)
            for (scope, place, of, name), item in sorted(self._rows.items.items())
            if (scope, place) == (context.scope_id, context.place)
            and entity in (None, of)
            and status in (None, item.status)
            and (after is None or (of, name) > after)
        ]
        return found[:limit]

    def _do(self, name: Name, calls: Sequence[ItemCall], *, status: Any) -> ItemsTold:
        context = calls[0].context
        becomes = [status or call.status for call in calls]
        command = Items(
            task=context.task,
            attempt=context.attempt,
            call=name,
            scope=context.scope_id,
            place=context.place,
            items=tuple(
                ItemAsked(
                    entity=call.entity,
                    item=call.item,
                    status=cast("Any", each),
                    data=_written(call.data),
                    reason=call.reason or (NO_REASON if each == "failed" else None),
                )
                for call, each in zip(calls, becomes, strict=True)
            ),
            supervisor=context.supervisor,
        )
        answer = self._decide(command)
        if isinstance(answer, Refusal):
            raise answer
        assert isinstance(answer, ItemsTold)  # noqa: S101 - the engine answers so
        return answer


def _record(item: Item) -> ItemRecord:
    return ItemRecord(
        item=item.item,
        entity=item.entity,
        status=cast("ItemStatus", item.status),
        data=_read(item.data),
        reason=item.reason,
        token=item.token,
        locked_until=item.locked_until,
        changed_at=item.changed_at,
        expires_at=item.expires_at,
    )


def _written(data: Any) -> str | None:
    return None if data is None else msgspec.json.encode(data).decode()


def _read(data: str | None) -> Any:
    return None if data is None else msgspec.json.decode(data)
