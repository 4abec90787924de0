"""Guards: conditions on transitions, compiled to closures that never raise, whatever the JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never

import msgspec

from stateous.model.guard_syntax import parse_tree
from stateous.model.guard_tokens import GuardError
from stateous.model.guard_tree import (
    Branches,
    Comparison,
    Constant,
    Count,
    Every,
    Field,
    Node,
    Not,
    Some,
)
from stateous.model.guard_values import COMPARES

__all__ = ["Guard", "GuardError", "Scope", "parse_guard"]

Json = Any
Read = Callable[[Any], Json]
"""Reads one value, from a Scope or, inside `branches`, from one branch."""


class Scope(msgspec.Struct, frozen=True):
    """What a guard reads.

    `counts` already counts the event that is being decided; `branches` is None unless it is `joined`.
    """

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
            return lambda branch: _payload_of(branch).get(name)
        case _:
            assert_never(field.place)


def _payload_of(branch: Mapping[str, Json]) -> Mapping[str, Json]:
    payload: Mapping[str, Json] | None = branch.get("payload")
    return {} if payload is None else payload


def _branches(node: Branches) -> Read:
    read = _compiled(node.condition)
    decide = all if node.which == "all" else any
    return lambda scope: decide(bool(read(branch)) for branch in scope.branches or ())


def _comparison(node: Comparison) -> Read:
    first = _compiled(node.first)
    if len(node.rest) == 1:
        operator_, right = node.rest[0]
        compare, second = COMPARES[operator_], _compiled(right)
        return lambda scope: compare(first(scope), second(scope))
    links = tuple((COMPARES[operator_], _compiled(right)) for operator_, right in node.rest)

    def chain(scope: Any) -> bool:
        left = first(scope)
        for compare, read in links:
            right = read(scope)
            if not compare(left, right):
                return False
            left = right
        return True

    return chain
