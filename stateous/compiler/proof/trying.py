"""Trying: cases that are worth a look by the real guards, the simplest first."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from math import prod
from typing import Any, cast

from stateous.compiler.proof.candidates import MOST, candidates
from stateous.compiler.proof.cases import Case
from stateous.compiler.proof.slots import Slots

Json = Any


class Trials:
    """The cases of some slots that are worth a try, one value of each slot with the others."""

    def __init__(self, slots: Slots) -> None:
        self._slots = tuple(slots.domains)
        self._places = len(slots.endings)
        self._choices: list[Sequence[Any]] = [
            *slots.endings,
            *(candidates(domain, slots.literals[slot]) for slot, domain in slots.domains.items()),
        ]
        listed = (domain.options for domain in slots.domains.values())
        self._all_listed = all(options is not None and len(options) <= MOST for options in listed)

    def first(self, most: int) -> Iterator[Case]:
        """At most so many cases, those of the simplest values first."""
        return map(self._case, islice(_mixed(self._choices), most))

    def are_all(self, most: int) -> bool:
        """Whether the first so many cases are all that there are: booleans, null, and listed values only."""
        return self._all_listed and prod(map(len, self._choices)) <= most

    def near(self, case: Case, most: int) -> Iterator[Case]:
        """The case itself, then those that differ from it in few slots."""
        choices = [
            [chosen, *(it for it in choice if it is not chosen)]
            for chosen, choice in zip(self._chosen(case), self._choices, strict=True)
        ]
        return map(self._case, islice(_mixed(choices), most))

    def smallest(self, case: Case, fits: Callable[[Case], bool]) -> Case:
        """The case with each value as simple as it can be while the case still fits."""
        chosen = self._chosen(case)
        for _ in range(2):
            for place, choice in enumerate(self._choices):
                for simpler in choice:
                    if simpler is chosen[place] or _is_same(simpler, chosen[place]):
                        break
                    if fits(self._case(tried := _with(chosen, place, simpler))):
                        chosen = tried
                        break
                chosen = self._shortened(chosen, place, fits)
        return self._case(chosen)

    def _shortened(self, chosen: list[Any], place: int, fits: Callable[[Case], bool]) -> list[Any]:
        """With a list there as short as it can be."""
        at = 0
        while isinstance(chosen[place], list):
            items = cast("list[Json]", chosen[place])
            if at == len(items):
                break
            shorter = [*items[:at], *items[at + 1 :]]
            if fits(self._case(tried := _with(chosen, place, shorter))):
                chosen = tried
            else:
                at += 1
        return chosen

    def _case(self, chosen: Sequence[Any]) -> Case:
        values = dict(zip(self._slots, chosen[self._places :], strict=True))
        return Case(values, tuple(chosen[: self._places]))

    def _chosen(self, case: Case) -> list[Any]:
        return [*case.endings, *(case.values[slot] for slot in self._slots)]


def _with(chosen: list[Any], place: int, value: Any) -> list[Any]:
    return [*chosen[:place], value, *chosen[place + 1 :]]


def _is_same(one: Json, other: Json) -> bool:
    """Whether two values are the same and of one type: true is not 1."""
    return type(one) is type(other) and one == other


def _mixed(choices: Sequence[Sequence[Any]]) -> Iterator[list[Any]]:
    """One of each choice, those that stand first in theirs before the others."""
    if not all(choices):
        return
    # Each mixture is one that came before, with one place moved on, no earlier one than was moved before:
    # so all come, none twice, and those that moved least come first.
    ahead: deque[dict[int, int]] = deque([{}])
    while ahead:
        moved = ahead.popleft()
        yield [choice[moved.get(at, 0)] for at, choice in enumerate(choices)]
        last = max(moved, default=0)
        for at in range(last, len(choices)):
            place = moved.get(at, 0) + 1
            if place < len(choices[at]):
                ahead.append({**moved, at: place})
