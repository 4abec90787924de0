"""The tree of a guard: what a condition says, before it is compiled or proved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

Operator = Literal["<", "<=", ">", ">=", "==", "!=", "in", "not in"]
Place = Literal["ctx", "payload", "branch", "branch payload"]


class Constant(msgspec.Struct, frozen=True):
    """A literal: null, a bool, number, string or list of literals."""

    value: Any


class Field(msgspec.Struct, frozen=True):
    """A value that is read: `ctx['name']`, `payload.name`, or `name` of a branch."""

    place: Place
    name: str


class Count(msgspec.Struct, frozen=True):
    """How often an event was accepted."""

    event: str


class Branches(msgspec.Struct, frozen=True):
    """Whether a condition holds for all, or for any, of the children that a join brought."""

    which: Literal["all", "any"]
    condition: Node


class Not(msgspec.Struct, frozen=True):
    """The opposite of the truth of a value."""

    item: Node


class Every(msgspec.Struct, frozen=True):
    """`and` of two or more."""

    items: tuple[Node, ...]


class Some(msgspec.Struct, frozen=True):
    """`or` of two or more."""

    items: tuple[Node, ...]


class Comparison(msgspec.Struct, frozen=True):
    """One comparison, or a chain: `first < second <= third`."""

    first: Node
    rest: tuple[tuple[Operator, Node], ...]


Node = Constant | Field | Count | Branches | Not | Every | Some | Comparison


def reads_of(node: Node) -> Iterator[Field | Count | Branches]:
    """Everything that a guard reads, from left to right."""
    match node:
        case Constant():
            return
        case Field() | Count():
            yield node
        case Branches(condition=condition):
            yield node
            yield from reads_of(condition)
        case Not(item=item):
            yield from reads_of(item)
        case Every(items=items) | Some(items=items):
            for item in items:
                yield from reads_of(item)
        case Comparison(first=first, rest=rest):
            yield from reads_of(first)
            for _, right in rest:
                yield from reads_of(right)
