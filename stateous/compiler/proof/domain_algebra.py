"""Domains of domains: the values that two have in common, those that either has, and listed values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from math import lcm
from typing import Any, TypeVar

import msgspec

from stateous.compiler.proof.domains import (
    ANYTHING,
    KINDS,
    NOTHING,
    Bound,
    Domain,
    Kind,
    Lists,
    Numbers,
    Objects,
    Strings,
    kind_of,
)

Json = Any
T = TypeVar("T")


def listed(values: Iterable[Json]) -> Domain:
    """The domain of exactly these values."""
    of_kind: dict[Kind, list[Json]] = {}
    for value in values:
        of_kind.setdefault(kind_of(value), []).append(value)
    numbers = tuple(dict.fromkeys(of_kind.get("number", ())))
    domain = Domain(
        kinds=frozenset(of_kind),
        booleans=frozenset(of_kind.get("boolean", ())),
        numbers=_around(Numbers(options=numbers)),
        strings=Strings(options=tuple(dict.fromkeys(of_kind.get("string", ())))),
        lists=Lists(options=tuple(of_kind.get("list", ()))),
        objects=Objects(options=tuple(of_kind.get("object", ()))),
    )
    return tidied(domain)


def met(one: Domain, other: Domain) -> Domain:
    """The values that both domains have, or some more."""
    if one is ANYTHING or one == other:
        return other
    if other is ANYTHING:
        return one
    domain = Domain(
        kinds=one.kinds & other.kinds,
        booleans=one.booleans & other.booleans,
        numbers=_numbers_met(one.numbers, other.numbers),
        strings=_strings_met(one.strings, other.strings),
        lists=_lists_met(one.lists, other.lists),
        objects=_objects_met(one.objects, other.objects),
    )
    return tidied(domain)


def tidied(domain: Domain) -> Domain:
    """The same values, without the kinds of which there is none, and with nothing said of these."""
    kinds = domain.kinds - _empty(domain)
    if kinds == KINDS:
        return domain
    return Domain(
        kinds=kinds,
        booleans=domain.booleans if "boolean" in kinds else ANYTHING.booleans,
        numbers=domain.numbers if "number" in kinds else ANYTHING.numbers,
        strings=domain.strings if "string" in kinds else ANYTHING.strings,
        lists=domain.lists if "list" in kinds else ANYTHING.lists,
        objects=domain.objects if "object" in kinds else ANYTHING.objects,
    )


def joined(domains: Iterable[Domain]) -> Domain:
    """The values that any of the domains has, or some more."""
    whole = NOTHING
    for domain in domains:
        if whole is NOTHING or domain is ANYTHING:
            whole = domain
        elif domain.kinds and whole is not ANYTHING and domain != whole:
            whole = _two_joined(whole, domain)
    return whole


def any_item(lists: Lists) -> Domain:
    """The values of a list's items, wherever they stand."""
    return joined((*lists.prefix, ANYTHING if lists.items is None else lists.items))


def _two_joined(one: Domain, other: Domain) -> Domain:
    def either(kind: Kind, mine: T, others: T, join: Callable[[T, T], T]) -> T:
        if kind in one.kinds and kind in other.kinds:
            return join(mine, others)
        return mine if kind in one.kinds else others

    return Domain(
        kinds=one.kinds | other.kinds,
        booleans=either("boolean", one.booleans, other.booleans, lambda a, b: a | b),
        numbers=either("number", one.numbers, other.numbers, _numbers_joined),
        strings=either("string", one.strings, other.strings, _strings_joined),
        lists=either("list", one.lists, other.lists, _lists_joined),
        objects=either("object", one.objects, other.objects, _objects_joined),
    )


def _empty(domain: Domain) -> frozenset[Kind]:
    """The kinds of which nothing is left."""
    empty: set[Kind] = set()
    numbers, low, high = domain.numbers, domain.numbers.least, domain.numbers.most
    if not domain.booleans:
        empty.add("boolean")
    if numbers.options == ():
        empty.add("number")
    if low and high and (low.value, low.open) > (high.value, False):
        empty.add("number")
    if domain.strings.options == () or _crossed(domain.strings.shortest, domain.strings.longest):
        empty.add("string")
    if domain.lists.options == () or _crossed(domain.lists.fewest, domain.lists.most):
        empty.add("list")
    needed = (domain.objects.field(name) for name in domain.objects.required)
    if domain.objects.options == () or any(not field.kinds for field in needed):
        empty.add("object")
    return frozenset(empty)


def _crossed(least: int, most: int | None) -> bool:
    return most is not None and least > most


# Ranges. An absent bound is None.


def _tighter_least(one: Bound | None, other: Bound | None) -> Bound | None:
    return max(_there(one, other), key=_as_least, default=None)


def _tighter_most(one: Bound | None, other: Bound | None) -> Bound | None:
    return min(_there(one, other), key=_as_most, default=None)


def _looser_least(one: Bound | None, other: Bound | None) -> Bound | None:
    return None if one is None or other is None else min(one, other, key=_as_least)


def _looser_most(one: Bound | None, other: Bound | None) -> Bound | None:
    return None if one is None or other is None else max(one, other, key=_as_most)


def _there(*bounds: T | None) -> list[T]:
    return [bound for bound in bounds if bound is not None]


def _as_least(bound: Bound) -> tuple[Fraction, bool]:
    return bound.value, bound.open


def _as_most(bound: Bound) -> tuple[Fraction, bool]:
    return bound.value, not bound.open


def _longest(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)


def _both_listed(one: tuple[T, ...] | None, other: tuple[T, ...] | None) -> tuple[T, ...] | None:
    """The options of two domains joined: listed only if those of both are."""
    if one is None or other is None:
        return None
    try:
        return tuple(dict.fromkeys((*one, *other)))
    except TypeError:  # lists and objects have no hash
        return (*one, *(option for option in other if option not in one))


def _chosen(
    one: tuple[T, ...] | None,
    one_has: Callable[[T], bool],
    other: tuple[T, ...] | None,
    other_has: Callable[[T], bool],
) -> tuple[T, ...] | None:
    """The options of two domains met: those of one that the other has."""
    options, has = (one, other_has) if one is not None else (other, one_has)
    return None if options is None else tuple(option for option in options if has(option))


def _around(numbers: Numbers) -> Numbers:
    """With the bounds that the options have."""
    if not numbers.options:
        return numbers
    exact = [Fraction(option) for option in numbers.options]
    return msgspec.structs.replace(
        numbers,
        least=Bound(min(exact)),
        most=Bound(max(exact)),
        integral=all(each.denominator == 1 for each in exact),
    )


def _numbers_met(one: Numbers, other: Numbers) -> Numbers:
    steps = _there(one.step, other.step)
    options = _chosen(one.options, one.has, other.options, other.has)
    return _around(
        Numbers(
            least=_tighter_least(one.least, other.least),
            most=_tighter_most(one.most, other.most),
            integral=one.integral or other.integral,
            step=lcm(*steps) if steps else None,
            options=options,
        )
    )


def _numbers_joined(one: Numbers, other: Numbers) -> Numbers:
    return Numbers(
        least=_looser_least(one.least, other.least),
        most=_looser_most(one.most, other.most),
        integral=one.integral and other.integral,
        step=one.step if one.step == other.step else None,
        options=_both_listed(one.options, other.options),
    )


def _strings_met(one: Strings, other: Strings) -> Strings:
    return Strings(
        shortest=max(one.shortest, other.shortest),
        longest=min(_there(one.longest, other.longest), default=None),
        patterns=tuple(dict.fromkeys((*one.patterns, *other.patterns))),
        options=_chosen(one.options, one.has, other.options, other.has),
    )


def _strings_joined(one: Strings, other: Strings) -> Strings:
    return Strings(
        shortest=min(one.shortest, other.shortest),
        longest=_longest(one.longest, other.longest),
        patterns=tuple(each for each in one.patterns if each in other.patterns),
        options=_both_listed(one.options, other.options),
    )


def _lists_met(one: Lists, other: Lists) -> Lists:
    places = range(max(len(one.prefix), len(other.prefix)))
    return Lists(
        fewest=max(one.fewest, other.fewest),
        most=min(_there(one.most, other.most), default=None),
        prefix=tuple(met(one.at(place), other.at(place)) for place in places),
        items=met(one.items or ANYTHING, other.items or ANYTHING),
        options=_chosen(one.options, one.has, other.options, other.has),
    )


def _lists_joined(one: Lists, other: Lists) -> Lists:
    places = range(max(len(one.prefix), len(other.prefix)))
    return Lists(
        fewest=min(one.fewest, other.fewest),
        most=_longest(one.most, other.most),
        prefix=tuple(joined((one.at(place), other.at(place))) for place in places),
        items=joined((one.items or ANYTHING, other.items or ANYTHING)),
        options=_both_listed(one.options, other.options),
    )


def _objects_met(one: Objects, other: Objects) -> Objects:
    names = dict.fromkeys((*one.fields, *other.fields))
    return Objects(
        fields={name: met(one.field(name), other.field(name)) for name in names},
        required=one.required | other.required,
        others=met(one.others or ANYTHING, other.others or ANYTHING),
        fewest=max(one.fewest, other.fewest),
        options=_chosen(one.options, one.has, other.options, other.has),
    )


def _objects_joined(one: Objects, other: Objects) -> Objects:
    names = dict.fromkeys((*one.fields, *other.fields))
    return Objects(
        fields={name: joined((one.field(name), other.field(name))) for name in names},
        required=one.required & other.required,
        others=joined((one.others or ANYTHING, other.others or ANYTHING)),
        fewest=min(one.fewest, other.fewest),
        options=_both_listed(one.options, other.options),
    )
