"""A request's body as JSON: what cannot be read, what is too deep, and what is not an object."""

from __future__ import annotations

import re
from typing import Any, Final, cast

import msgspec

from stateous.model.refusals import BadRequest, InvalidBody, Refusal

LARGEST_BODY: Final = 1_048_576
"""In bytes, inclusive."""

DEEPEST: Final = 64
"""Levels of arrays and objects; the body itself is level 1, scalars do not count."""

_STRING: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
_ONE_KIND: Final = bytes.maketrans(b"{}", b"[]")
_NOT_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")

_decoder: Final = msgspec.json.Decoder()


class Body:
    """The JSON object that was sent: its fields, its size in bytes, and whether its text may hold a NUL."""

    __slots__ = ("fields", "may_hold_nul", "size")

    def __init__(self, fields: dict[str, Any], *, may_hold_nul: bool, size: int = 0) -> None:
        self.fields = fields
        self.may_hold_nul = may_hold_nul
        self.size = size

    def refuse_nul(self, value: Any, what: str, refusal: type[Refusal]) -> None:
        """Raise `refusal` when the JSON value holds a NUL in any text, keys included."""
        if self.may_hold_nul and holds_nul(value):
            raise refusal(f"{what} holds the character \\u0000, which no database keeps")


def read_body(raw: bytes, *, deepest: int = DEEPEST) -> Body:
    """Read the JSON object; nothing and white space are `{}`.

    Raises BadRequest for what is not JSON as docs/http.md wants it (numbers beyond a double, integers of more
    than 4,300 characters, lone surrogates, more levels than `deepest`), InvalidBody for JSON that is no object.
    """
    if not raw or raw.isspace():
        return Body({}, may_hold_nul=False)
    read = _read_json(raw, "the body", deepest)
    if not isinstance(read, dict):
        raise InvalidBody(f"the body is a JSON object, not {kind_of(read)}")
    fields = cast("dict[str, Any]", read)
    return Body(fields, may_hold_nul=_may_hold_nul(raw), size=len(raw))


def read_field(raw: bytes, name: str) -> Body:
    """A body of this one field, read from the field's own JSON, as if it had come in that body.

    Raises BadRequest as `read_body` does.
    """
    read = _read_json(raw, f"the {name}", DEEPEST - 1)
    return Body({name: read}, may_hold_nul=_may_hold_nul(raw), size=len(raw))


def _read_json(raw: bytes, what: str, deepest: int) -> Any:
    too_deep = f"{what} is deeper than {deepest} levels"
    try:
        read = _decoder.decode(raw)
    except msgspec.DecodeError as fault:
        raise BadRequest(f"{what} is not JSON: {fault}") from None
    except RecursionError:
        raise BadRequest(too_deep) from None
    if raw.count(b"[") + raw.count(b"{") > deepest and _is_deeper(raw, deepest):
        raise BadRequest(too_deep)
    return read


def _may_hold_nul(raw: bytes) -> bool:
    # A NUL can only have come as an escape: raw control characters do not decode.
    return b"\\u0000" in raw


def _is_deeper(raw: bytes, deepest: int) -> bool:
    """Whether JSON that decoded has more levels than this.

    Each round takes away the innermost pairs, so what is left after n rounds is what is higher than n.
    """
    left = _STRING.sub(b"", raw).translate(_ONE_KIND, _NOT_BRACKETS)
    for _ in range(deepest):
        left = left.replace(b"[]", b"")
        if not left:
            return False
    return True


def holds_nul(value: Any) -> bool:
    """Whether any text in the JSON value, keys included, holds a NUL."""
    match value:
        case str():
            return "\0" in value
        case list():
            return any(map(holds_nul, cast("list[Any]", value)))
        case dict():
            fields = cast("dict[str, Any]", value)
            return any(map(holds_nul, fields)) or any(map(holds_nul, fields.values()))
        case _:
            return False


def kind_of(value: Any) -> str:
    """The JSON value's type in words: `a list`, `null`."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "an object"
