"""How guards compare two JSON values: exactly, and never with an error (docs/guards.md).

Python compares decoded JSON as guards do: numbers exactly by value and a bool as 0 or 1, other types
never equal, strings by code point, lists item by item. What it cannot order is a TypeError, which here
means false. What lies too deep for its stack (no document from outside does) is walked by hand.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final, TypeGuard

from stateous.model.guard_tree import Operator

Json = Any
Compare = Callable[[Json, Json], bool]


def _is_list(value: Json) -> TypeGuard[list[Json]]:
    return isinstance(value, list)


def _is_object(value: Json) -> TypeGuard[dict[str, Json]]:
    return isinstance(value, dict)


def _equal(left: Json, right: Json) -> bool:
    try:
        return left == right
    except RecursionError:
        return _equal_deep(left, right)


def _equal_deep(left: Json, right: Json) -> bool:
    pairs: list[tuple[Json, Json]] = [(left, right)]
    while pairs:
        one, other = pairs.pop()
        if _is_list(one) and _is_list(other):
            if len(one) != len(other):
                return False
            pairs.extend(zip(one, other, strict=True))
        elif _is_object(one) and _is_object(other):
            if one.keys() != other.keys():
                return False
            pairs.extend((one[key], other[key]) for key in one)
        elif isinstance(one, list | dict) or isinstance(other, list | dict) or one != other:
            return False
    return True


def _ordered(compare: Compare) -> Compare:
    def ordered(left: Json, right: Json) -> bool:
        try:
            return compare(left, right)
        except TypeError:
            return False
        except RecursionError:
            return _ordered_deep(compare, left, right)

    return ordered


def _ordered_deep(compare: Compare, left: Json, right: Json) -> bool:
    """Two lists: what orders them is the first pair of items, or lengths, that differs."""
    ahead: list[tuple[list[Json], list[Json], int]] = [(left, right, 0)]
    while ahead:
        ones, others, at = ahead.pop()
        if at == min(len(ones), len(others)):
            if len(ones) != len(others):
                return compare(len(ones), len(others))
            continue
        ahead.append((ones, others, at + 1))
        one, other = ones[at], others[at]
        if _is_list(one) and _is_list(other):
            ahead.append((one, other, 0))
        elif not _equal(one, other):
            return _ordered(compare)(one, other)
    return compare(0, 0)


def _contains(item: Json, container: Json) -> bool:
    if _is_list(container):
        try:
            return item in container
        except RecursionError:
            return any(_equal(item, each) for each in container)
    if isinstance(container, str | dict):
        return isinstance(item, str) and item in container
    return False


def _lacks(item: Json, container: Json) -> bool:
    if isinstance(container, list | dict) or (isinstance(container, str) and isinstance(item, str)):
        return not _contains(item, container)
    return False


COMPARES: Final[dict[Operator, Compare]] = {
    "==": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
    "in": _contains,
    "not in": _lacks,
}
