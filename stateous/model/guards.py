"""Guards: conditions on transitions, compiled to closures that never raise, whatever the JSON."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never

import msgspec

from stateous.model.guard_syntax import (
    Branches,
    Comparison,
    Constant,
    Count,
    Every,
    Field,
    GuardError,
    Node,
    Not,
    Operator,
    Some,
    parse_tree,
)

__all__ = ["Guard", "GuardError", "Scope", "parse_guard"]

Json = Any
Read = Callable[[Any], Json]
"""Reads one value, from a Scope or, inside `branches`, from one branch."""

Compare = Callable[[Json, Json], bool]


class Scope(msgspec.Struct, frozen=True):
    """What a guard reads. `counts` already counts the event that is being decided; `branches` is None
    unless that event is `joined`."""

    ctx: Mapping[str, Json]
    payload: Mapping[str, Json]
    counts: Mapping[str, int]
    branches: Sequence[Mapping[str, Json]] | None = None


class Guard:
    """A parsed guard: its text, its tree, and whether it holds."""

    __slots__ = ("_read", "text", "tree")

    def __init__(self, text: str, tree: Node) -> None:
        self.text = text
        self.tree = tree
        self._read = _compiled(tree)

    def holds(self, scope: Scope) -> bool:
        """Whether the guard is true in this scope. Never raises: what is missing is null."""
        return bool(self._read(scope))

    def __repr__(self) -> str:
        return f"Guard({self.text!r})"


def parse_guard(text: str, *, joined: bool) -> Guard:
    """Return the guard that `text` spells; `joined` says that it stands on `joined`, where branches exist.

    Raises GuardError, with one sentence.
    """
    return Guard(text, parse_tree(text, joined=joined))


def _compiled(node: Node) -> Read:
    match node:
        case Constant(value=value):
            return lambda _scope: value
        case Field():
            return _field(node)
        case Count(event=event):
            return lambda scope: scope.counts.get(event, 0)
        case Branches():
            return _branches(node)
        case Not(item=item):
            read = _compiled(item)
            return lambda scope: not read(scope)
        case Every(items=items):
            reads = tuple(map(_compiled, items))
            return lambda scope: all(read(scope) for read in reads)
        case Some(items=items):
            reads = tuple(map(_compiled, items))
            return lambda scope: any(read(scope) for read in reads)
        case Comparison():
            return _comparison(node)
        case _:
            assert_never(node)


def _field(field: Field) -> Read:
    name = field.name
    match field.place:
        case "ctx":
            return lambda scope: scope.ctx.get(name)
        case "payload":
            return lambda scope: scope.payload.get(name)
        case "branch":
            return lambda branch: branch.get(name)
        case "branch payload":
            return lambda branch: (branch.get("payload") or {}).get(name)
        case _:
            assert_never(field.place)


def _branches(node: Branches) -> Read:
    read = _compiled(node.condition)
    decide = all if node.which == "all" else any
    return lambda scope: decide(bool(read(branch)) for branch in scope.branches or ())


def _comparison(node: Comparison) -> Read:
    first = _compiled(node.first)
    if len(node.rest) == 1:
        operator_, right = node.rest[0]
        compare, second = _COMPARES[operator_], _compiled(right)
        return lambda scope: compare(first(scope), second(scope))
    links = tuple((_COMPARES[operator_], _compiled(right)) for operator_, right in node.rest)

    def chain(scope: Any) -> bool:
        left = first(scope)
        for compare, read in links:
            right = read(scope)
            if not compare(left, right):
                return False
            left = right
        return True

    return chain


# Python compares decoded JSON as guards do: numbers exactly by value and a bool as 0 or 1, other types
# never equal, lists item by item. What it cannot order is a TypeError, which here means false; what
# lies too deep for its stack (no document from outside does) is walked by hand.


def _equal(left: Json, right: Json) -> bool:
    try:
        return left == right
    except RecursionError:
        return _equal_deep(left, right)


def _equal_deep(left: Json, right: Json) -> bool:
    pairs: list[tuple[Json, Json]] = [(left, right)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            pairs.extend(zip(one, other, strict=True))
        elif isinstance(one, dict) and isinstance(other, dict):
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
    while isinstance(left, list) and isinstance(right, list):
        for one, other in zip(left, right, strict=False):
            if not _equal(one, other):
                left, right = one, other
                break
        else:
            return compare(len(left), len(right))
    try:
        return compare(left, right)
    except TypeError:
        return False


def _contains(item: Json, container: Json) -> bool:
    if isinstance(container, list):
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


_COMPARES: dict[Operator, Compare] = {
    "==": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
    "in": _contains,
    "not in": _lacks,
}
