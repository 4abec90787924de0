"""What stands outside the body: the query, the path's ids, and the idempotency key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import parse_qsl

from stateous.model.refusals import InvalidArgument, InvalidPayload, NotFound, TaskNotFound
from stateous.model.wire.fields import LARGEST_INTEGER

STATUSES: Final = ("active", "paused", "completed", "failed", "cancelled")
LONGEST_LISTING: Final = 1000
LONGEST_PARENT: Final = 128
LONGEST_KEY: Final = 256

_DIGITS: Final = frozenset("0123456789")
_DELETE: Final = "\x7f"


def read_query(raw: bytes) -> dict[str, str]:
    """The parameters by name; of a repeated one the last counts."""
    if not raw:
        return {}
    # Bytes that a URL may not hold are read one by one, so that nothing here can fail.
    return dict(parse_qsl(raw.decode("latin-1"), keep_blank_values=True))


def status_asked(query: dict[str, str]) -> str | None:
    """`status`: one of the five, if there is one. Raises InvalidArgument."""
    status = query.get("status")
    if status is not None and status not in STATUSES:
        raise InvalidArgument(f"'status' is one of {', '.join(STATUSES)}")
    return status


def limit_asked(query: dict[str, str]) -> int:
    """`limit` of a listing: 1 to 1000, 100 when absent. Raises InvalidArgument."""
    limit = query.get("limit")
    if limit is None:
        return 100
    return _number(limit, "limit", smallest=1, largest=LONGEST_LISTING)


def parent_asked(query: dict[str, str]) -> str | None:
    """`parent`: 1 to 128 characters, if there is one. Raises InvalidArgument."""
    parent = query.get("parent")
    if parent is None:
        return None
    if not 1 <= len(parent) <= LONGEST_PARENT or "\0" in parent:
        raise InvalidArgument(
            f"'parent' has 1 to {LONGEST_PARENT} characters, none of them \\u0000"
        )
    return parent


def part_asked(query: dict[str, str]) -> tuple[int, int | None]:
    """`after` and `limit` of a history: the last number that is left out, and how many at most.

    Raises InvalidArgument. Without them: 0, and None for all.
    """
    after, limit = query.get("after"), query.get("limit")
    return (
        0 if after is None else _number(after, "after", smallest=0, largest=LARGEST_INTEGER),
        None if limit is None else _number(limit, "limit", smallest=1, largest=LARGEST_INTEGER),
    )


def task_id(segment: str) -> int:
    """The task that a path names. Raises NotFound for what is not digits, TaskNotFound beyond 2^63-1."""
    if not _DIGITS.issuperset(segment):
        raise NotFound("there is no such path: a task's id is a number")
    # Counted first: turning very many digits into a number is slow, then an error.
    digits = segment.lstrip("0")
    if len(digits) > 19 or int(digits or "0") > LARGEST_INTEGER:
        raise TaskNotFound("there is no task with such a number: they end at 2^63-1")
    return int(digits or "0")


def idempotency_key(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """The header `Idempotency-Key`, byte by byte, if there is one; of a repeated one the last counts.

    Names of headers are in lower case. Raises InvalidPayload.
    """
    found: bytes | None = None
    for name, value in headers:
        if name == b"idempotency-key":
            # Spaces around a header's value are not part of it; the HTTP parser leaves those behind it.
            found = value.strip(b" \t")
    if found is None:
        return None
    return checked_key(found.decode("latin-1"), "the Idempotency-Key")


def checked_key(key: str, what: str) -> str:
    """The key, if it may be one: 1 to 256 characters, no control among them. Raises InvalidPayload."""
    if not 1 <= len(key) <= LONGEST_KEY:
        raise InvalidPayload(f"{what} has 1 to {LONGEST_KEY} characters")
    if min(key) < " " or _DELETE in key:
        raise InvalidPayload(f"{what} holds a control character")
    return key


def _number(digits: str, name: str, *, smallest: int, largest: int) -> int:
    if digits and _DIGITS.issuperset(digits):
        significant = digits.lstrip("0") or "0"
        if len(significant) <= len(str(largest)) and smallest <= int(significant) <= largest:
            return int(significant)
    raise InvalidArgument(f"'{name}' is a whole number from {smallest} to {largest}, in digits")
