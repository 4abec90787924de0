"""A state log in memory: a handler that forgets everything with the test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from stateous.engine.lifecycles import DONE_ITEM
from stateous.model.durations import parse_duration
from stateous.model.items import (
    ATTEMPT_ENDED,
    NO_REASON,
    RAN_OUT,
    Acquired,
    ItemRecord,
    ItemStatus,
)
from stateous.model.refusals import AttemptOver, ItemBusy, ItemMoveNotAllowed
from stateous.model.state_log_handlers import ItemCall, StateLogContext
from stateous.model.state_logs import LOCK_FOR

Key = tuple[int, str, str, str]


class Kept(msgspec.Struct, frozen=True):
    """A record, and which attempt of which task wrote it last; 0: none that is known."""

    record: ItemRecord
    task: int = 0
    attempt: int = 0


class MemoryStateLog:
    """A handler that keeps to all that is promised of handlers. Its time is what `now` says."""

    def __init__(self, *, now: Callable[[], datetime]) -> None:
        self._now = now
        self._kept: dict[Key, Kept] = {}

    def put(self, context: StateLogContext, records: Iterable[ItemRecord]) -> None:
        """Have these records, whatever was known before."""
        for record in records:
            call = ItemCall(context=context, item=record.item, entity=record.entity)
            changed = record.changed_at or self._now()
            self._kept[call.key] = Kept(msgspec.structs.replace(record, changed_at=changed))

    def end_locks(self, task: int) -> None:
        """The task's attempt has ended: what it had locked has failed."""
        for key, kept in self._kept.items():
            if kept.record.status == "processing" and kept.task == task:
                self._kept[key] = self._written(kept, "failed", reason=ATTEMPT_ENDED)

    @property
    def records(self) -> list[ItemRecord]:
        """All that is kept, by scope, place, entity and item."""
        return [self._kept[key].record for key in sorted(self._kept)]

    # -- what handlers do ----------------------------------------------------------------------------

    async def exists(self, calls: Sequence[ItemCall], /) -> list[bool]:
        return [self._current(call).record.status in DONE_ITEM for call in calls]

    async def acquire(self, calls: Sequence[ItemCall], /) -> list[Acquired]:
        return self._together(calls, self._acquired)

    async def set(self, calls: Sequence[ItemCall], /) -> None:
        self._together(calls, lambda call, kept: (None, self._set(call, kept, call.status)))

    async def release(self, calls: Sequence[ItemCall], /) -> None:
        self._together(calls, lambda call, kept: (None, self._set(call, kept, "failed")))

    async def upsert(self, calls: Sequence[ItemCall], /) -> None:
        self._together(calls, lambda call, kept: (None, self._upserted(call, kept)))

    async def get(self, calls: Sequence[ItemCall], /) -> list[ItemRecord | None]:
        found = [self._current(call).record for call in calls]
        return [None if record.status == "none" else record for record in found]

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
        calls = [
            ItemCall(context=context, item=item, entity=of)
            for scope, place, of, item in sorted(self._kept)
            if (scope, place) == (context.scope_id, context.place) and entity in (None, of)
            if after is None or (of, item) > after
        ]
        found = [self._current(call).record for call in calls]
        return [each for each in found if status in (None, each.status)][:limit]

    # -- the rules -----------------------------------------------------------------------------------

    def _together(
        self, calls: Sequence[ItemCall], decide: Callable[[ItemCall, Kept], tuple[Any, Kept]]
    ) -> list[Any]:
        """Decide all of them, then keep what they came to: one that is refused refuses all."""
        decided = [(call.key, *decide(call, self._current(call))) for call in calls]
        self._kept |= {key: kept for key, _, kept in decided if kept.record.status != "none"}
        return [answer for _, answer, _ in decided]

    def _current(self, call: ItemCall) -> Kept:
        """The item as it is now: locks whose time is over are none, and what was kept long enough has expired."""
        kept = self._kept.get(call.key)
        if kept is None:
            return Kept(ItemRecord(item=call.item, entity=call.entity, status="none"))
        record, now = kept.record, self._now()
        if record.status == "processing":
            is_over = record.locked_until is not None and record.locked_until < now
            is_own = kept.task == call.context.task
            return self._written(kept, "failed", reason=RAN_OUT) if is_over and not is_own else kept
        if record.expires_at is not None and record.expires_at <= now:
            return self._written(kept, "expired")
        return kept

    def _acquired(self, call: ItemCall, kept: Kept) -> tuple[Acquired, Kept]:
        record, context = kept.record, call.context
        if record.status in DONE_ITEM:
            told = Acquired(
                outcome="done", status=record.status, data=record.data, reason=record.reason
            )
            return told, kept
        if record.status == "processing":
            if kept.task != context.task:
                return Acquired(outcome="busy", until=record.locked_until), kept
            self._refuse_stale(call, kept)
        reason = record.reason if record.status == "failed" else None
        locked = self._written(
            self._of(call, kept),
            "processing",
            until=self._now() + _duration(context, "lock", LOCK_FOR),
        )
        return Acquired(outcome="acquired", reason=reason), locked

    def _set(self, call: ItemCall, kept: Kept, status: Any) -> Kept:
        record = kept.record
        if record.status == "processing":
            self._refuse_others(call, kept)
        elif record.status == status == "skipped" or (
            record.status == status and self._is_repeat(call, kept)
        ):
            return kept
        elif status != "skipped":
            raise _not_allowed(call, record, status)
        return self._done(call, kept, status)

    def _upserted(self, call: ItemCall, kept: Kept) -> Kept:
        record = kept.record
        if record.status == "processing":
            self._refuse_others(call, kept)
        elif record.status == "skipped":
            raise _not_allowed(call, record, "processed")
        elif record.status == "processed" and self._is_repeat(call, kept):
            return kept
        return self._done(call, kept, "processed")

    def _done(self, call: ItemCall, kept: Kept, status: Any) -> Kept:
        kept_for = _duration(call.context, "retention", None)
        return self._written(
            self._of(call, kept),
            status,
            data=call.data,
            reason=call.reason or (NO_REASON if status == "failed" else None),
            expires=None if kept_for is None else self._now() + kept_for,
        )

    def _is_repeat(self, call: ItemCall, kept: Kept) -> bool:
        is_ours = (kept.task, kept.attempt) == (call.context.task, call.context.attempt)
        return is_ours and (kept.record.status == "failed" or kept.record.data == call.data)

    def _refuse_others(self, call: ItemCall, kept: Kept) -> None:
        if kept.task != call.context.task:
            raise ItemBusy(f"another task works on the item {call.item!r:.140}: it has it locked")
        self._refuse_stale(call, kept)

    def _refuse_stale(self, call: ItemCall, kept: Kept) -> None:
        if kept.attempt > call.context.attempt:
            raise AttemptOver(f"task {kept.task} is on attempt {kept.attempt} now")

    def _of(self, call: ItemCall, kept: Kept) -> Kept:
        record = msgspec.structs.replace(kept.record, token=call.context.token)
        return Kept(record, call.context.task, call.context.attempt)

    def _written(
        self,
        kept: Kept,
        status: ItemStatus,
        *,
        data: Any = None,
        reason: str | None = None,
        until: datetime | None = None,
        expires: datetime | None = None,
    ) -> Kept:
        record = msgspec.structs.replace(
            kept.record,
            status=status,
            data=data,
            reason=reason,
            locked_until=until,
            changed_at=self._now(),
            expires_at=expires,
        )
        return msgspec.structs.replace(kept, record=record)


def _duration(context: StateLogContext, option: str, otherwise: Any) -> Any:
    given = context.options.get(option)
    return otherwise if given is None else parse_duration(given)


def _not_allowed(call: ItemCall, record: ItemRecord, status: object) -> ItemMoveNotAllowed:
    return ItemMoveNotAllowed(
        f"the item {call.item!r:.140} is {record.status}, and cannot become {status}"
    )
