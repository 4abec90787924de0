"""What a value of a model can be: how a schema is read, before a library spells it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

Rules = tuple[tuple[str, Any], ...]
"""What a value must fulfil beside its kind, by the names that both libraries use: `("ge", 1)`."""

Name = Literal[
    "str", "int", "float", "bool", "None",
    "date-time", "date", "time", "duration", "uuid", "decimal", "base64", "binary",
]  # fmt: skip
"""Those of the second line are texts in JSON. `base64` is bytes spelled so; `binary` is bytes as UTF-8."""


class Anything(msgspec.Struct, frozen=True):
    """Any JSON value, or what Python has no type for."""


class Scalar(msgspec.Struct, frozen=True):
    """A value without parts."""

    name: Name
    rules: Rules = ()


class Options(msgspec.Struct, frozen=True):
    """One of these values."""

    values: tuple[str | int | bool, ...]


class Listing(msgspec.Struct, frozen=True):
    """A list; a set where `unique`."""

    items: Kind
    unique: bool = False
    rules: Rules = ()


class Row(msgspec.Struct, frozen=True):
    """A list of so many values, each of its own kind. Those after the first `least` may be missing."""

    items: tuple[Kind, ...]
    least: int


class Table(msgspec.Struct, frozen=True):
    """An object whose keys are not known before."""

    keys: Kind
    values: Kind
    rules: Rules = ()


class Model(msgspec.Struct, frozen=True):
    """An object with fields: a class of the contract. `name` is the one that the graph has for it."""

    name: str


class Alias(msgspec.Struct, frozen=True):
    """A model that is no class: a name for another kind."""

    name: str
    of: Kind


class Either(msgspec.Struct, frozen=True):
    """One of several kinds, at least two. None of them is an Either."""

    members: tuple[Kind, ...]


Kind = Anything | Scalar | Options | Listing | Row | Table | Model | Alias | Either

ANYTHING = Anything()
TEXT = Scalar("str")


def seen_through(kind: Kind) -> Kind:
    """What a kind is when names for it are forgotten."""
    while isinstance(kind, Alias):
        kind = kind.of
    return kind


def members_of(kind: Kind) -> tuple[Kind, ...]:
    """The members of a union, also of one that has a name; any other kind is its own only member."""
    core = seen_through(kind)
    if not isinstance(core, Either):
        return (kind,)
    return tuple(member for each in core.members for member in members_of(each))


def either(kinds: list[Kind]) -> Kind:
    """The union of kinds, each once. With anything in it, it is anything."""
    # By their spelling: Python takes 1 for True.
    found = list({repr(member): member for kind in kinds for member in _flat(kind)}.values())
    if not found or any(isinstance(seen_through(member), Anything) for member in found):
        return ANYTHING
    return found[0] if len(found) == 1 else Either(tuple(found))


def _flat(kind: Kind) -> tuple[Kind, ...]:
    return kind.members if isinstance(kind, Either) else (kind,)


def parts_of(kind: Kind) -> Iterator[Kind]:
    """The kind itself, and every kind that it is made of; models are not looked into."""
    yield kind
    match kind:
        case Listing(items):
            yield from parts_of(items)
        case Row(items) | Either(items):
            for item in items:
                yield from parts_of(item)
        case Table(keys, values):
            yield from parts_of(keys)
            yield from parts_of(values)
        case Alias(_, of):
            yield from parts_of(of)
        case _:
            pass
