"""What a routine asks of its state log: checked, and cut into parts that one request can hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, cast

import msgspec

from stateous.client.documents import NotJson, plain
from stateous.model.items import (
    LARGEST_DATA,
    LONGEST_KEY,
    MOST_ITEMS,
    Acquired,
    BadItem,
    ItemRecord,
    ItemStatus,
)
from stateous.model.refusals import StateousError
from stateous.model.wire.body import LARGEST_BODY, holds_nul
from stateous_supervisor.outcome import clean

ROOM: Final = LARGEST_BODY - 4096
"""Bytes of a part: what one request holds, less what says whose it is."""
STATUSES: Final = ("processed", "skipped", "failed")

ItemCallName = Literal["exists", "acquire", "set", "release", "upsert", "get", "list"]


class HandlerFailed(StateousError):
    """A state log's handler did not do what its protocol promises."""


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """One item of a call, and what is to become of it; all of it is plain JSON."""

    item: str
    entity: str = ""
    status: Literal["processed", "skipped", "failed"] | None = None
    data: Any = None
    reason: str | None = None


class Listing(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which records a `list` is about."""

    entity: str | None = None
    status: ItemStatus | None = None
    limit: int = 100
    after: tuple[str, str] | None = None


class Ask(msgspec.Struct, frozen=True):
    """One part of a call."""

    call: ItemCallName
    rows: tuple[Row, ...] = ()
    listing: Listing = Listing()


_ANSWERS: Final[Mapping[ItemCallName, Any]] = {
    "exists": list[bool],
    "acquire": list[Acquired],
    "get": list[ItemRecord | None],
    "list": list[ItemRecord],
}
_encode: Final = msgspec.json.Encoder().encode
_decode_ask: Final = msgspec.json.Decoder(Ask).decode


def write_ask(ask: Ask) -> bytes:
    return _encode(ask)


def read_ask(body: bytes) -> Ask:
    return _decode_ask(body)


def write_answer(answer: object) -> bytes:
    """An answer for the process of an isolated routine. Raises NotJson for data that JSON cannot hold."""
    try:
        return _encode(answer)
    except (TypeError, ValueError) as problem:
        raise NotJson(f"the state log's answer cannot be written as JSON: {problem}") from problem


def read_answer(call: ItemCallName, body: bytes) -> Any:
    return msgspec.json.decode(body, type=_ANSWERS.get(call, Any))


def rows_of(
    item: object,
    entity: object,
    *,
    status: object = None,
    data: object = None,
    reason: object = None,
) -> tuple[tuple[Row, ...], bool]:
    """The items of a call, and whether it is about several. Raises BadItem, and NotJson for data."""
    if entity != "":
        _check_text(entity, "an entity")
    if status is not None and status not in STATUSES:
        raise BadItem(f"an item becomes one of {', '.join(STATUSES)}, not {status!r:.80}")
    if reason is not None:
        reason = clean(str(reason))
    several = not isinstance(item, str)
    if isinstance(item, Mapping):
        if data is not None:
            raise BadItem("a mapping of items has the data of each: give no other data")
        given = [*cast("Mapping[object, object]", item).items()]
    else:
        given = [(name, data) for name in (_listed(item) if several else [item])]
    rows: dict[str, Row] = {}
    for name, said in given:
        named = _check_text(name, "an item")
        if named in rows:
            raise BadItem(f"the item {named!r:.140} is there twice")
        rows[named] = Row(
            named,
            cast("str", entity),
            cast("Any", status),
            None if said is None else data_of(said, named),
            reason,
        )
    return tuple(rows.values()), several


def data_of(value: object, item: str) -> Any:
    """The data of an item as it is kept. Raises NotJson and BadItem."""
    kept = plain(value, f"the data of the item {item!r:.140}", level=4)
    body = _encode(kept)
    if b"\\u0000" in body and holds_nul(kept):
        raise NotJson(
            f"the data of the item {item!r:.140} holds the character \\u0000, which no database keeps"
        )
    if len(body) > LARGEST_DATA:
        raise BadItem(
            f"the data of the item {item!r:.140} is larger than 256 KiB: keep it elsewhere"
        )
    return kept


def parts_of(rows: Iterable[Row]) -> Iterator[tuple[Row, ...]]:
    """The rows in as few parts as can be, in their order."""
    part: list[Row] = []
    size = 0
    for row in rows:
        length = len(_encode(row)) + 1
        if part and (len(part) == MOST_ITEMS or size + length > ROOM):
            yield tuple(part)
            part, size = [], 0
        part.append(row)
        size += length
    if part:
        yield tuple(part)


def listing_of(entity: object, status: object, limit: object, after: object) -> Listing:
    """Raises BadItem."""
    if after is not None and not isinstance(after, ItemRecord):
        raise BadItem("a list goes on after a record, the last one of the list before")
    if entity is not None and entity != "":
        _check_text(entity, "an entity")
    if not isinstance(limit, int) or not 1 <= limit <= 1000:
        raise BadItem("the limit of a list is a whole number from 1 to 1000")
    try:
        return msgspec.convert(
            {
                "entity": entity,
                "status": status,
                "limit": limit,
                "after": None if after is None else (after.entity, after.item),
            },
            Listing,
            strict=True,
        )
    except msgspec.ValidationError:
        raise BadItem(f"no item has the status {status!r:.80}") from None


def _listed(items: object) -> list[object]:
    try:
        return list(cast("Iterable[object]", items))
    except TypeError:
        raise BadItem(f"{items!r:.80} is no item: name it by a text, or give a list") from None


def _check_text(text: object, what: str) -> str:
    if not isinstance(text, str) or not 1 <= len(text) <= LONGEST_KEY or text != clean(text):
        raise BadItem(f"{what} is named by a text of 1 to {LONGEST_KEY} characters")
    return str(text)
