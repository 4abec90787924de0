"""Chance, in two kinds: drawn by Hypothesis, which can shrink a failure, or from a seed, which spreads wider."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Chance(Protocol):
    """What the makers of graphs and commands choose with."""

    def one(self, found: Sequence[T]) -> T:
        """One of these, all alike; there is at least one."""
        ...


class Drawn:
    """Chosen by Hypothesis."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self._draw = draw

    def one(self, found: Sequence[T]) -> T:
        return self._draw(st.sampled_from(found))


class Seeded:
    """Chosen by a generator whose seed is told when a test fails."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def one(self, found: Sequence[T]) -> T:
        return self._random.choice(found)


def happens(chance: Chance, times: int, of: int) -> bool:
    """True `times` out of `of`. Hypothesis shrinks towards what happens more often."""
    likely = times * 2 > of
    return chance.one([likely] * max(times, of - times) + [not likely] * min(times, of - times))


def some(chance: Chance, found: Sequence[T], least: int, most: int) -> list[T]:
    """Between `least` and `most` different ones of these."""
    left, taken = list(found), list[T]()
    for _ in range(chance.one(range(least, most + 1))):
        if left:
            taken.append(left.pop(left.index(chance.one(left))))
    return taken


def likely(chance: Chance, found: Sequence[T], other: Sequence[T]) -> T:
    """One of what was found, the latest first; seldom, or when nothing was, one of the others."""
    if not found or (other and happens(chance, 1, 12)):
        return chance.one(other)
    return chance.one(list(reversed(found)))
