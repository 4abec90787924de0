"""Domains: which JSON values a field can have, as far as its JSON Schema says.

A domain may hold more values than the schema allows, never fewer: what is shown for all values of a domain
holds for all values of the field. `schema_domains` makes them of schemas, `domain_algebra` of each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final, Literal, cast

import msgspec

Json = Any
Kind = Literal["null", "boolean", "number", "string", "list", "object"]

KINDS: Final[frozenset[Kind]] = frozenset({"null", "boolean", "number", "string", "list", "object"})


class Bound(msgspec.Struct, frozen=True):
    """An end of a range of numbers; `open` leaves the value itself out."""

    value: Fraction
    open: bool = False


class Numbers(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers from `least` to `most` (None: no bound), whole ones only if `integral`.

    Each is a multiple of `step`, if there is one. `options` are all there are, if they were listed.
    """

    least: Bound | None = None
    most: Bound | None = None
    integral: bool = False
    step: int | None = None
    options: tuple[int | float, ...] | None = None

    def has(self, value: float) -> bool:
        """Whether the value (a number, no bool) lies in it."""
        if self.options is not None and value not in self.options:
            return False
        exact, low, high = Fraction(value), self.least, self.most
        if low and (exact < low.value or (low.open and exact == low.value)):
            return False
        if high and (exact > high.value or (high.open and exact == high.value)):
            return False
        if self.integral and exact.denominator != 1:
            return False
        return self.step is None or exact % self.step == 0


class Strings(msgspec.Struct, frozen=True, kw_only=True):
    """Strings of `shortest` to `longest` characters that `patterns` match; or the listed `options`."""

    shortest: int = 0
    longest: int | None = None
    patterns: tuple[str, ...] = ()
    options: tuple[str, ...] | None = None

    def has(self, value: str) -> bool:
        """Whether the value lies in it; a pattern is not asked."""
        if self.options is not None and value not in self.options:
            return False
        return self.shortest <= len(value) and (self.longest is None or len(value) <= self.longest)


class Lists(msgspec.Struct, frozen=True, kw_only=True):
    """Lists of `fewest` to `most` items: first those of `prefix`, then `items` (None: anything)."""

    fewest: int = 0
    most: int | None = None
    prefix: tuple[Domain, ...] = ()
    items: Domain | None = None
    options: tuple[list[Json], ...] | None = None

    def at(self, place: int) -> Domain:
        """The domain of the item at a place."""
        return self.prefix[place] if place < len(self.prefix) else self.items or ANYTHING

    def has(self, value: list[Json]) -> bool:
        """Whether the value lies in it, item by item."""
        if self.options is not None and value not in self.options:
            return False
        if len(value) < self.fewest or (self.most is not None and len(value) > self.most):
            return False
        return all(self.at(place).has(item) for place, item in enumerate(value))


class Objects(msgspec.Struct, frozen=True, kw_only=True):
    """Objects with `fields`, of which the `required` are never missing; `others` are all other keys' values.

    `others` is None for anything, and a domain of nothing when there can be no other keys.
    """

    fields: Mapping[str, Domain] = {}
    required: frozenset[str] = frozenset()
    others: Domain | None = None
    fewest: int = 0
    options: tuple[dict[str, Json], ...] | None = None

    def field(self, name: str) -> Domain:
        """The domain of a key's value when the key is there; of nothing when it never is."""
        found = self.fields.get(name, self.others)
        return ANYTHING if found is None else found

    def has(self, value: dict[str, Json]) -> bool:
        """Whether the value lies in it; what lies deeper is not looked at."""
        if self.options is not None and value not in self.options:
            return False
        return self.required <= value.keys() and len(value) >= self.fewest


class Domain(msgspec.Struct, frozen=True, kw_only=True):
    """A set of JSON values: the `kinds` they are of, and for each of these kinds which ones.

    What is said of a kind that is not in `kinds` has no meaning. A field that can be missing reads as
    null, so its domain has that kind, too.
    """

    kinds: frozenset[Kind]
    booleans: frozenset[bool] = frozenset({False, True})
    numbers: Numbers = Numbers()
    strings: Strings = Strings()
    lists: Lists = Lists()
    objects: Objects = Objects()

    @property
    def integral(self) -> bool:
        """Whether its numbers, if any, are whole."""
        return self.numbers.integral

    @property
    def options(self) -> tuple[Json, ...] | None:
        """All its values, when they were listed: null, booleans, and what enum and const say."""
        listed: dict[Kind, tuple[Json, ...] | None] = {
            "null": (None,),
            "boolean": tuple(sorted(self.booleans)),
            "number": self.numbers.options,
            "string": self.strings.options,
            "list": self.lists.options,
            "object": self.objects.options,
        }
        found: list[Json] = []
        for kind, values in listed.items():
            if kind in self.kinds:
                if values is None:
                    return None
                found.extend(values)
        return tuple(found)

    def has(self, value: Json) -> bool:
        """Whether the value may be one of it: False only when it certainly is not."""
        kind = kind_of(value)
        if kind not in self.kinds:
            return False
        match kind:
            case "null":
                return True
            case "boolean":
                return value in self.booleans
            case "number":
                return self.numbers.has(value)
            case "string":
                return self.strings.has(value)
            case "list":
                return self.lists.has(cast("list[Json]", value))
            case "object":
                return self.objects.has(cast("dict[str, Json]", value))


ANYTHING: Final = Domain(kinds=KINDS)
NOTHING: Final = Domain(kinds=frozenset())
NULL: Final = Domain(kinds=frozenset({"null"}))
BOOLEAN: Final = Domain(kinds=frozenset({"boolean"}))


def kind_of(value: Json) -> Kind:
    """The kind of a decoded JSON value."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "list"
        case _:
            return "object"
