"""Values of a program as plain JSON values: models and datetimes are written out, anything else is refused by name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import Any, Final, cast
from uuid import UUID

import msgspec

from stateous.model.articles import with_article
from stateous.model.refusals import StateousError

DEEPEST: Final = 64
_LARGEST: Final = 10**4300


class NotJson(StateousError, ValueError):
    """A value that JSON cannot hold; the sentence names the field."""


def plain(value: object, at: str, *, level: int = 1) -> Any:
    """A copy of `value` made of dicts, lists, texts, numbers, bools and None only.

    `at` names the value in the sentence of an error, `level` is its depth in the body. Structs,
    dataclasses, attrs classes and pydantic models are written as their model says; datetimes, durations,
    UUIDs, Decimals and enums as the schemas of models expect them, a Decimal as text. Bytes, sets, NaN, keys
    that are no text and the like raise NotJson.
    """
    match value:
        case None | bool():
            return value
        case str():
            return _text(value, at)
        case Enum():
            return plain(value.value, at, level=level)
        case int():
            if not -_LARGEST < value < _LARGEST:
                raise NotJson(f"{at} is an integer of more than 4300 digits")
            return int(value)
        case float():
            if not math.isfinite(value):
                raise NotJson(f"{at} is {float(value)}, which JSON cannot hold")
            return float(value)
        case Decimal() if not value.is_finite():
            raise NotJson(f"{at} is {value}, which JSON cannot hold")
        case Decimal():
            return str(value)
        case date() | time():
            # A subclass, as other libraries make them, is unknown to msgspec.
            known = type(value) in (datetime, date, time)
            return msgspec.to_builtins(value) if known else value.isoformat()
        case timedelta() | UUID():
            return msgspec.to_builtins(value)
        case _:
            return _composite(value, at, level=level)


def _composite(value: object, at: str, *, level: int) -> Any:
    if level > DEEPEST:
        raise NotJson(f"{at[:200]} nests deeper than {DEEPEST} levels")
    if isinstance(value, Mapping):
        entries = cast("Mapping[object, object]", value).items()
        return {_key(key, at): plain(item, f"{at}.{key}", level=level + 1) for key, item in entries}
    if isinstance(value, list | tuple):
        items = cast("list[object]", value)
        return [plain(item, f"{at}[{i}]", level=level + 1) for i, item in enumerate(items)]
    return plain(_written(value, at), at, level=level)


def _written(value: object, at: str) -> object:
    """A model as its own library writes it; raises NotJson for what is no model."""
    kind = type(value)
    dump: Any = getattr(value, "model_dump", None)
    if dump is None and (writer := getattr(kind, "__pydantic_serializer__", None)) is not None:
        dump = partial(writer.to_python, value)  # a dataclass of pydantic's has no method for it
    try:
        if callable(dump) and not isinstance(value, type):
            return dump(mode="json", by_alias=True)
        if (
            isinstance(value, msgspec.Struct)
            or is_dataclass(kind)
            or hasattr(kind, "__attrs_attrs__")
        ):
            within = f"within {at}"
            return msgspec.to_builtins(
                value, str_keys=True, enc_hook=lambda inner: plain(inner, within)
            )
    except NotJson:
        raise
    except (TypeError, ValueError, RecursionError) as problem:
        raise NotJson(f"{at} cannot be written as JSON: {problem}") from problem
    raise NotJson(f"{at} is {with_article(kind.__name__)}, which JSON cannot hold")


def _key(key: object, at: str) -> str:
    if not isinstance(key, str):
        raise NotJson(f"{at} has the key {key!r:.80}, which is no text")
    return _text(key, f"a key of {at}")


def _text(text: str, at: str) -> str:
    text = str.__str__(text)
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise NotJson(f"{at} holds half of a surrogate pair, which JSON cannot hold") from None
    return text
