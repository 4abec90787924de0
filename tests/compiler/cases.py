"""A model with JSON that fits it, and JSON that does not; and when two JSON values are the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from stateous import END, START, Workflow
from stateous.compiler.checking import check
from stateous.compiler.contract import Library
from stateous.compiler.document import document_of

Json = Any


class Case(msgspec.Struct, frozen=True):
    """`missing` are the keys that stay missing when they were not given; all others have defaults.

    `looser` says by their places which wrong ones a contract's class takes, for Python has no narrower type.
    """

    model: type[Any]
    right: list[Json]
    wrong: list[Json]
    missing: set[str] = msgspec.field(default_factory=set[str])
    looser: dict[Library, set[int]] = msgspec.field(default_factory=dict[Library, set[int]])

    def __str__(self) -> str:
        return self.model.__name__


def graph_of_model(model: type[Any]) -> dict[str, Any]:
    """The graph file of a workflow whose state `pay` emits `paid` with a payload of the model."""
    flow = Workflow("payments")
    paid = flow.event("paid", payload=model)
    pay = flow.state("pay", emits=[paid])
    flow.transition(START, pay)
    flow.transition(pay, END, on=paid)
    return document_of(check(flow))


def is_same(one: Json, other: Json, *, filled: bool = False) -> bool:
    """Whether two JSON values are the same; the order of a list of different scalars is none, as in a set.

    `filled`: the other may have more keys in its objects, as defaults fill them.
    """
    match one, other:
        case dict(), dict():
            left = cast("Mapping[str, Json]", one)
            right = cast("Mapping[str, Json]", other)
            more = right.keys() - left.keys()
            return (
                left.keys() <= right.keys()
                and (filled or not more)
                and all(is_same(value, right[key], filled=filled) for key, value in left.items())
            )
        case list(), list():
            first, second = cast("list[Json]", one), cast("list[Json]", other)
            in_order = len(first) == len(second) and all(
                is_same(a, b, filled=filled) for a, b in zip(first, second, strict=True)
            )
            return in_order or (
                len(set(map(json.dumps, first))) == len(first)
                and sorted(map(json.dumps, first)) == sorted(map(json.dumps, second))
            )
        case _:
            alike = isinstance(one, bool) is isinstance(other, bool)
            return alike and one == other


def keys_of(value: Json) -> set[str]:
    """Every key that any object in a JSON value has."""
    match value:
        case dict():
            fields = cast("Mapping[str, Json]", value)
            return set(fields).union(*map(keys_of, fields.values()))
        case list():
            return set[str]().union(*map(keys_of, cast("list[Json]", value)))
        case _:
            return set()
