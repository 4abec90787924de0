"""Candidates: a few values of a domain to try first, the simplest before the others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import chain, islice, pairwise
from typing import Any, Final, cast

from stateous.compiler.proof.between import number_between, texts_between
from stateous.compiler.proof.domain_algebra import any_item
from stateous.compiler.proof.domains import KINDS, Domain, Kind, Lists, Objects, kind_of
from stateous.compiler.proof.patterns import can_be_sent, may_match, samples

Json = Any

MOST: Final = 32
WIDEST: Final = 10**4300
"""JSON from outside holds only integers below this."""

_MOST_OVERLAID: Final = 500
_MOST_OF_A_KIND: Final = 14
_MOST_LITERALS: Final = 500
_DEEPEST: Final = 8
_LONG: Final = 10**16
_ORDER: Final[tuple[Kind, ...]] = ("boolean", "number", "string", "list", "object", "null")


def candidates(domain: Domain, literals: Iterable[Json]) -> list[Json]:
    """Values of the domain that the literals tell apart: each literal, what lies between two, what is longer.

    First comes the simplest of each kind. Not all may be valid for a schema.
    """
    near = list(islice(literals, _MOST_LITERALS))
    if (options := domain.options) is not None and len(options) <= MOST:
        return [*(it for it in options if it is not None), *(it for it in options if it is None)]
    kinds = {kind_of(literal) for literal in near}
    # A key of which nothing is known is most simply missing; a known field is better shown with a value.
    null_at = 0 if len(domain.kinds) > 2 else 3
    places = {kind: null_at if kind == "null" else 1 if kind in kinds else 2 for kind in KINDS}
    ordered = sorted(domain.kinds, key=lambda kind: (places[kind], _ORDER.index(kind)))
    of_kinds: list[list[Json]] = []
    for kind in ordered:
        # Each literal is told apart from what lies below and above it.
        number = 3 * sum(kind_of(literal) == kind for literal in near)
        most = max(_MOST_OF_A_KIND, number) if kind in kinds or len(ordered) <= 2 else 3
        of_kinds.append(list(islice(_of_kind(domain, kind, near), most)))
    rounds = max(map(len, of_kinds), default=0)
    return [it[at] for at in range(rounds) for it in of_kinds if at < len(it)]


def sample(domain: Domain, depth: int = 0) -> Json:
    """The simplest value of the domain: null, if it has it. Raises LookupError when none is found."""
    if "null" in domain.kinds:
        return None
    for kind in _ORDER:
        if kind in domain.kinds and depth <= _DEEPEST:
            for value in _of_kind(domain, kind, [], depth):
                return value
    raise LookupError


def smallest_object(objects: Objects, given: dict[str, Json], depth: int = 0) -> dict[str, Json]:
    """The given keys, and all that are required besides. Raises LookupError when none is found."""
    missing = sorted(objects.required - given.keys())
    return {**given, **{name: sample(objects.field(name), depth + 1) for name in missing}}


def _of_kind(domain: Domain, kind: Kind, near: list[Json], depth: int = 0) -> Iterator[Json]:
    match kind:
        case "null":
            yield None
        case "boolean":
            yield from sorted(domain.booleans)
        case "number":
            yield from _numbers(domain, near)
        case "string":
            yield from _strings(domain, [it for it in near if isinstance(it, str)])
        case "list":
            yield from _lists(domain.lists, near, depth)
        case "object":
            yield from _objects(domain.objects, near, depth)


def _numbers(domain: Domain, near: list[Json]) -> Iterator[int | float]:
    numbers = domain.numbers
    if numbers.options is not None:
        yield from sorted(numbers.options, key=abs)
        return
    ends = [Fraction(it) for it in near if isinstance(it, int | float) and abs(it) < WIDEST]
    ends.extend(bound.value for bound in (numbers.least, numbers.most) if bound)
    points = sorted({*ends, Fraction(0)})
    found: set[int | float] = set()
    for point in points:
        said = said_as(point, integral=numbers.integral)
        if said is not None:
            found.add(said)
    found.update(near for it in points for near in (math.floor(it) + 1, math.ceil(it) - 1))
    for low, high in ((None, points[0]), *pairwise(points), (points[-1], None)):
        value = number_between(low, high, integral=numbers.integral)
        if value is not None:
            found.add(value)
    if numbers.step is not None:
        step = numbers.step
        found.update(int(point // step + more) * step for point in points for more in (0, 1))
    fitting = (value for value in found if abs(value) < WIDEST and numbers.has(value))
    yield from sorted(fitting, key=lambda it: (isinstance(it, float), abs(it), it < 0))


def said_as(value: Fraction, *, integral: bool) -> int | float | None:
    """The number as JSON says it, a long one that is a double as one; None when it cannot be said."""
    is_whole = value.denominator == 1
    if is_whole and (integral or abs(value) < _LONG):
        return int(value)
    try:
        nearest = float(value)
    except OverflowError:
        return int(value) if is_whole else None
    if Fraction(nearest) == value:
        return nearest
    return int(value) if is_whole else None


def _strings(domain: Domain, near: list[str]) -> Iterator[str]:
    strings = domain.strings
    if strings.options is not None:
        yield from strings.options
        return
    points = sorted({"", *near})
    found = chain(
        points,
        *(islice(texts_between(low, high), 2) for low, high in pairwise(points)),
        islice(texts_between(points[-1], None), 2),
        *(samples(pattern, strings.shortest) for pattern in strings.patterns),
        (overlaid(texts) for texts in (near, near[::-1]) if sum(map(len, near)) < _MOST_OVERLAID),
        [letter * strings.shortest for letter in "ab" if 1 < strings.shortest < 100_000],
    )
    fitting = {text for text in found if fits_strings(domain, text)}
    yield from sorted(fitting, key=lambda it: (not it.isprintable(), len(it), it.swapcase()))


def overlaid(texts: list[str]) -> str:
    """A text that has all of them as parts: each laid over the end of the ones before, as far as they agree."""
    whole = ""
    for text in texts:
        if text not in whole:
            common = next(at for at in range(len(text), -1, -1) if whole.endswith(text[:at]))
            whole += text[common:]
    return whole


def fits_strings(domain: Domain, text: str) -> bool:
    """Whether a string lies in the domain and can be sent, patterns included."""
    strings = domain.strings
    return (
        strings.has(text)
        and can_be_sent(text)
        and all(may_match(pattern, text) for pattern in strings.patterns)
    )


def _lists(lists: Lists, near: list[Json], depth: int) -> Iterator[list[Json]]:
    if lists.options is not None:
        yield from lists.options
        return
    try:
        least = [sample(lists.at(place), depth + 1) for place in range(min(lists.fewest, 100))]
    except LookupError:
        return
    whole = [cast("list[Json]", it) for it in near if isinstance(it, list)]
    items = [it for it in near if not isinstance(it, list)]
    if not items:
        items = list(_plain(any_item(lists), depth + 1))
    tried: list[list[Json]] = [least, *([items] if len(items) > 2 and not least else [])]
    tried.extend([*least[:-1], item] if least else [item] for item in items)
    tried.extend(whole)
    tried.extend([*least, item] for item in items if least)
    tried.append([*least, *items])
    tried.extend([*known, item] for known in whole for item in items[:2])
    for known in tried:
        if lists.has(known):
            yield known


def _plain(domain: Domain, depth: int) -> Iterator[Json]:
    """Two values of each kind at most, and of lists, which may hold lists for ever, one."""
    for kind in _ORDER:
        if kind in domain.kinds and depth <= _DEEPEST:
            yield from islice(_of_kind(domain, kind, [], depth), 1 if kind == "list" else 2)


def _objects(objects: Objects, near: list[Json], depth: int) -> Iterator[dict[str, Json]]:
    if objects.options is not None:
        yield from objects.options
        return
    keys = [it for it in near if isinstance(it, str) and can_be_sent(it)]
    for given in ([], *([key] for key in keys), keys, sorted(objects.fields)[:1], ["a"]):
        try:
            chosen = {name: sample(objects.field(name), depth + 1) for name in given}
            yield smallest_object(objects, chosen, depth)
        except LookupError:
            continue
