"""Defaults: from the JSON of a schema to the Python value that a field of its kind has."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final, cast
from uuid import UUID

import msgspec

from stateous.compiler.contract.kinds import (
    Alias,
    Anything,
    Either,
    Kind,
    Listing,
    Model,
    Name,
    Options,
    Row,
    Scalar,
    Table,
)
from stateous.compiler.contract.literals import written_value
from stateous.compiler.contract.spelling import Spelling

Fits = Callable[[str, Any], bool]
"""Whether a JSON value fits the model of this name."""

_TEXTS: Final[dict[Name, type[Any]]] = {
    "date-time": datetime,
    "date": date,
    "time": time,
    "duration": timedelta,
    "uuid": UUID,
    "decimal": Decimal,
    "base64": bytes,
}


class Default(msgspec.Struct, frozen=True):
    """An expression. `shared`: all objects may have the same value, for nobody can change it."""

    written: str
    shared: bool = True


def default_of(kind: Kind, value: Any, *, spelling: Spelling, fits: Fits) -> Default | None:
    """The default of a field; None when the JSON value is none of its kind."""
    return _Writing(spelling, fits).of(kind, value)


class _Writing:
    def __init__(self, spelling: Spelling, fits: Fits) -> None:
        self._spelling = spelling
        self._fits = fits

    def of(self, kind: Kind, value: Any) -> Default | None:
        match kind, value:
            case Anything(), _:
                return Default(written_value(value), not isinstance(value, list | dict))
            case Scalar(name), _:
                return self._scalar(name, value)
            case Options(values), _:
                known = any(type(each) is type(value) and each == value for each in values)
                return Default(written_value(value)) if known else None
            case Listing(items, unique), list():
                return self._listing(items, cast("list[Any]", value), unique=unique)
            case Row(), list():
                return self._row(kind, cast("list[Any]", value), "")
            case Alias(name, Row() as row), list() if row.least < len(row.items):
                return self._row(row, cast("list[Any]", value), self._spelling.names[name])
            case Alias(_, of), _:
                return self.of(of, value)
            case Table(keys, values), dict():
                return self._table(keys, values, cast("dict[str, Any]", value))
            case Model(name), dict() if self._fits(name, value):
                json = written_value(cast("object", value))
                read = self._spelling.converted(json, self._spelling.of(kind))
                return Default(read, shared=False)
            case Either(members), _:
                found = (self.of(member, value) for member in members)
                return next((each for each in found if each is not None), None)
            case _:
                return None

    def _scalar(self, name: Name, value: Any) -> Default | None:
        match name, value:
            case ("None", None) | ("bool", bool()) | ("str", str()):
                return Default(written_value(value))
            case "int" | "float", int() | float() if not isinstance(value, bool):
                whole = name == "float" or value == int(value)
                return Default(written_value(value)) if whole else None
            case "binary", str():
                return Default(
                    repr(value.encode())
                    if self._spelling.types[name] == "bytes"
                    else written_value(value)
                )
            case _, str() if name in _TEXTS:
                return _read(value, _TEXTS[name])
            case _:
                return None

    def _listing(self, items: Kind, values: list[Any], *, unique: bool) -> Default | None:
        written = self._each(items, values)
        if written is None:
            return None
        if not unique:
            return Default(f"[{', '.join(written)}]", shared=False)
        return Default(f"{{{', '.join(written)}}}" if written else "set()", shared=False)

    def _row(self, row: Row, values: list[Any], name: str) -> Default | None:
        if not row.least <= len(values) <= len(row.items):
            return None
        found = [self.of(kind, value) for kind, value in zip(row.items, values, strict=False)]
        known = [default for default in found if default is not None]
        if len(known) < len(values):
            return None
        comma = "," if len(known) == 1 and not name else ""
        written = ", ".join(default.written for default in known)
        return Default(f"{name}({written}{comma})", all(default.shared for default in known))

    def _table(self, keys: Kind, values: Kind, value: dict[str, Any]) -> Default | None:
        written_keys = self._each(keys, value)
        written = self._each(values, value.values())
        if written is None or written_keys is None:
            return None
        pairs = (f"{key}: {each}" for key, each in zip(written_keys, written, strict=True))
        return Default("{" + ", ".join(pairs) + "}", shared=False)

    def _each(self, kind: Kind, values: Iterable[Any]) -> list[str] | None:
        found = [self.of(kind, value) for value in values]
        written = [default.written for default in found if default is not None]
        return written if len(written) == len(found) else None


def _read(text: str, kind: type[Any]) -> Default | None:
    """The expression for what is a text in JSON; None for a text that is no such thing."""
    try:
        value: object = msgspec.convert(text, kind)
    except msgspec.ValidationError:
        return None
    match value:
        case UUID():
            return Default(f"uuid.UUID({written_value(str(value))})")
        case Decimal():
            return Default(f"decimal.Decimal({written_value(str(value))})")
        case _:
            return Default(repr(value))
