"""Business items as the API shows them. What is kept as a text of JSON goes out as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from stateous.engine.answers import ItemsTold
from stateous.engine.family import Item
from stateous.engine.items import with_room
from stateous.model.state_logs import SCOPE_NAMES


class ItemExists(msgspec.Struct):
    """Whether an item is done, or skipped: nobody works on it again."""

    exists: bool


class ItemsExist(msgspec.Struct):
    """Which items exist, in the order in which they were asked."""

    items: list[ItemExists]


class ToldItem(msgspec.Struct, omit_defaults=True, rename="camel"):
    """What became of an item: the `outcome` of an acquire, else the `status` that it has now.

    `busy` comes with `until`, `done` with `status` and `data`, `acquired` with the `reason` that it failed with before.
    `data_left_out`: there was no room for its data.
    """

    outcome: str | UnsetType = UNSET
    status: str | UnsetType = UNSET
    until: datetime | UnsetType = UNSET
    data: Any = UNSET
    reason: str | UnsetType = UNSET
    data_left_out: bool = False


class ToldItems(msgspec.Struct):
    """What became of the items, in the order in which they were asked."""

    items: list[ToldItem]


class StoredItem(msgspec.Struct, rename="camel"):
    """What counts of an item now."""

    scope: str
    place: str
    entity: str
    item: str
    status: str
    data: Any
    reason: str | None
    token: str | None
    seq: int | None
    task: int | None
    attempt: int | None
    locked_until: datetime | None
    changed_at: datetime
    expires_at: datetime | None


class StoredItems(msgspec.Struct, omit_defaults=True):
    """Items by their keys; `next` is there when there may be more, and is the `after` of the next page."""

    items: list[StoredItem]
    next: str | UnsetType = UNSET


class FoundItems(msgspec.Struct):
    """What counts of the items, in the order in which they were asked; null where nothing is known.

    It ends with the last one that there was room for: ask for the rest again.
    """

    items: list[StoredItem | None]


class ItemChange(msgspec.Struct):
    """One thing that became of an item: by which token, in which entry of its ledger."""

    at: datetime
    status: str
    data: Any
    reason: str | None
    token: str | None
    seq: int | None
    task: int | None
    attempt: int | None


class ItemChanges(msgspec.Struct):
    """All that became of an item, the first first."""

    changes: list[ItemChange]


def exists_shown(exist: Iterable[bool]) -> ItemsExist:
    return ItemsExist([ItemExists(each) for each in exist])


def told_shown(told: ItemsTold) -> ToldItems:
    """The answers of a call."""
    return ToldItems(
        [
            ToldItem(
                UNSET if each.outcome is None else each.outcome,
                UNSET if each.status is None else each.status,
                UNSET if each.until is None else each.until,
                UNSET if each.data is None else Raw(each.data.encode()),
                UNSET if each.reason is None else each.reason,
                each.left_out,
            )
            for each in told.items
        ]
    )


def items_shown(items: Sequence[Item], *, limit: int) -> StoredItems:
    """A page of a listing."""
    kept = with_room(items)
    shown = [_stored(item) for item in kept]
    is_full = len(items) == limit or len(kept) < len(items)
    return StoredItems(shown, msgspec.json.encode(kept[-1].key).decode() if is_full else UNSET)


def found_shown(items: Iterable[Item | None]) -> FoundItems:
    """What counts of items."""
    return FoundItems([None if item is None else _stored(item) for item in items])


def _stored(item: Item) -> StoredItem:
    return StoredItem(
        scope=SCOPE_NAMES[item.scope],
        place=item.place,
        entity=item.entity,
        item=item.item,
        status=item.status,
        data=_json(item.data),
        reason=item.reason,
        token=item.token,
        seq=item.seq,
        task=item.task,
        attempt=item.attempt,
        locked_until=item.locked_until,
        changed_at=item.changed_at,
        expires_at=item.expires_at,
    )


def history_shown(changes: Iterable[Item]) -> ItemChanges:
    """What became of an item."""
    return ItemChanges(
        [
            ItemChange(
                at=change.changed_at,
                status=change.status,
                data=_json(change.data),
                reason=change.reason,
                token=change.token,
                seq=change.seq,
                task=change.task,
                attempt=change.attempt,
            )
            for change in changes
        ]
    )


def _json(text: str | None) -> Raw | None:
    return None if text is None else Raw(text.encode())
