"""The items of a call: each a name, an entity, and what is to become of it."""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple, cast

import msgspec

from stateous.model.items import LARGEST_DATA, LONGEST_KEY, MOST_ITEMS, NO_REASON
from stateous.model.refusals import InvalidArgument, InvalidBody, InvalidPayload, Refusal
from stateous.model.state_logs import SCOPES
from stateous.model.wire.body import Body, kind_of

LONGEST_PLACE: Final = 1024

SetTo = Literal["processed", "failed", "skipped"]
ItemStatus = Literal["processing", "processed", "failed", "skipped", "expired"]
STATUSES: Final = ("processing", "processed", "failed", "skipped", "expired")

_encode: Final = msgspec.json.Encoder().encode


class ItemSent(NamedTuple):
    """One item of a call, and what is to become of it; `data` is a JSON text."""

    entity: str
    item: str
    status: Literal["processing", "processed", "failed", "skipped"]
    data: str | None
    reason: str | None


def items(
    body: Body, call: Literal["exists", "acquire", "set", "release", "upsert"]
) -> list[ItemSent]:
    """`items`: 1 to 10,000, each once. Raises InvalidBody, InvalidArgument and InvalidPayload."""
    given = body.fields.get("items")
    if not isinstance(given, list):
        raise InvalidBody(f"'items' is a list, not {kind_of(given)}")
    listed = cast("list[object]", given)
    if not 1 <= len(listed) <= MOST_ITEMS:
        raise InvalidArgument(f"'items' has 1 to {MOST_ITEMS} entries")
    sent = [_item(body, each, call) for each in listed]
    if len(sent) > 1 and len({each[:2] for each in sent}) < len(sent):
        raise InvalidBody("an item is in 'items' twice")
    return sent


def _item(body: Body, given: object, call: str) -> ItemSent:
    if not isinstance(given, dict):
        raise InvalidBody(f"an item is an object, not {kind_of(given)}")
    fields = cast("dict[str, Any]", given)
    name, entity = fields.get("item"), fields.get("entity", "")
    if type(name) is not str or type(entity) is not str:
        raise InvalidBody("'item' of an item is a string, and so is its 'entity'")
    if not 1 <= len(name) <= LONGEST_KEY or len(entity) > LONGEST_KEY:
        raise InvalidArgument(
            f"'item' of an item has 1 to {LONGEST_KEY} characters, its 'entity' at most {LONGEST_KEY}"
        )
    if body.may_hold_nul:
        body.refuse_nul([name, entity], "an item", InvalidArgument)
    match call:
        case "set":
            return _set(body, fields, entity, name)
        case "release":
            error = _text_or_none(fields, "error", InvalidBody)
            return ItemSent(entity, name, "failed", None, error or NO_REASON)
        case "upsert":
            return ItemSent(entity, name, "processed", _data(body, fields), None)
        case _:
            return ItemSent(entity, name, "processing", None, None)


def _set(body: Body, fields: dict[str, Any], entity: str, name: str) -> ItemSent:
    match fields.get("status"):
        case "processed" | "failed" | "skipped" as status:
            pass
        case _:
            raise InvalidBody("'status' of an item is 'processed', 'failed' or 'skipped'")
    reason = _text_or_none(fields, "reason", InvalidBody)
    if status == "failed":
        reason = reason or NO_REASON
    return ItemSent(entity, name, status, _data(body, fields), reason)


def _data(body: Body, fields: dict[str, Any]) -> str | None:
    value = fields.get("data")
    if value is None:
        return None
    body.refuse_nul(value, "the 'data' of an item", InvalidPayload)
    text = _encode(value)
    if len(text) > LARGEST_DATA:
        raise InvalidPayload(f"the 'data' of an item has at most {LARGEST_DATA // 1024} KiB")
    return text.decode()


def _text_or_none(fields: dict[str, Any], name: str, refusal: type[Refusal]) -> str | None:
    """A text for people, kept with U+FFFD for each NUL; None if there is none."""
    value = fields.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise refusal(f"'{name}' of an item is a string, not {kind_of(value)}")
    return value.replace("\0", "\ufffd")


def item_key(fields: dict[str, Any]) -> tuple[int, str, str, str]:
    """`scope`, `place`, `entity` and `item`: which item it is. Raises InvalidArgument."""
    scope = scope_number(fields.get("scope"))
    place = _key_part(fields, "place", 1, LONGEST_PLACE)
    entity = _key_part({"entity": "", **fields}, "entity", 0, LONGEST_KEY)
    return (scope, place, entity, _key_part(fields, "item", 1, LONGEST_KEY))


def scope_number(scope: object) -> int:
    """The number of a scope by its name. Raises InvalidArgument."""
    if not isinstance(scope, str) or scope not in SCOPES:
        raise InvalidArgument(f"'scope' is one of {', '.join(SCOPES)}")
    return SCOPES[scope]


def _key_part(fields: dict[str, Any], name: str, least: int, most: int) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not least <= len(value) <= most or "\0" in value:
        raise InvalidArgument(f"'{name}' has {least} to {most} characters, none of them \\u0000")
    return value
