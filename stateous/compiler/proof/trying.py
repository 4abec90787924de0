"""Trying: cases that are worth a look by the real guards, the simplest first."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from math import prod
from typing import Any, Final, cast

from stateous.compiler.proof.candidates import MOST, candidates
from stateous.compiler.proof.cases import Case
from stateous.compiler.proof.slots import Slot, Slots

Json = Any

_MOST_KIN: Final = 6


class Trials:
    """The cases of some slots that are worth a try, one value of each slot with the others."""

    def __init__(self, slots: Slots) -> None:
        self._slots = tuple(slots.domains)
        self._places = len(slots.endings)
        values = {
            slot: candidates(domain, slots.literals[slot]) for slot, domain in slots.domains.items()
        }
        self._choices: list[Sequence[Any]] = [
            *slots.endings,
            *(_with_kin(slot, values, slots) for slot in slots.domains),
        ]
        listed = (domain.options for domain in slots.domains.values())
        self._all_listed = all(options is not None and len(options) <= MOST for options in listed)

    def first(self, most: int) -> Iterator[Case]:
        """At most so many cases: each value of one slot, then mixtures, those of the simplest values first."""
        mixed = _mixed(self._choices)
        chosen = mixed if self.are_all(most) else chain(_one_by_one(self._choices), mixed)
        return map(self._case, islice(chosen, most))

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

    def smallest(self, case: Case, fits: Callable[[Case], bool], most: int) -> Case:
        """The case with each value as simple as it can be while the case still fits, after so many tries."""
        chosen = self._chosen(case)
        left = most
        for place in [*range(len(self._choices))] * 2:
            is_simple = False
            while not is_simple:
                is_simple = True
                for simpler in self._simpler(chosen[place], place):
                    left -= 1
                    if left < 0:
                        return self._case(chosen)
                    tried = [*chosen[:place], simpler, *chosen[place + 1 :]]
                    if fits(self._case(tried)):
                        chosen, is_simple = tried, False
                        break
        return self._case(chosen)

    def _simpler(self, value: Any, place: int) -> Iterator[Any]:
        """What stands before the value in its choice; and a list with an item less."""
        for simpler in self._choices[place]:
            if simpler is value or (type(simpler) is type(value) and simpler == value):
                break
            yield simpler
        if isinstance(value, list):
            items = cast("list[Json]", value)
            yield from ([*items[:at], *items[at + 1 :]] for at in range(len(items)))

    def _case(self, chosen: Sequence[Any]) -> Case:
        values = dict(zip(self._slots, chosen[self._places :], strict=True))
        return Case(values, tuple(chosen[: self._places]))

    def _chosen(self, case: Case) -> list[Any]:
        return [*case.endings, *(case.values[slot] for slot in self._slots)]


def _with_kin(slot: Slot, values: Mapping[Slot, list[Json]], slots: Slots) -> list[Json]:
    """The values of a slot, then some of those that it is compared with."""
    own, domain = values[slot], slots.domains[slot]
    if domain.options is not None:
        return own
    others = (value for kin in slots.kin[slot][:_MOST_KIN] for value in values[kin][:_MOST_KIN])
    return [*own, *(value for value in others if value not in own and domain.has(value))]


def _one_by_one(choices: Sequence[Sequence[Any]]) -> Iterator[list[Any]]:
    """The first of each choice, but for one of them each of the others in turn."""
    if all(choices):
        firsts = [choice[0] for choice in choices]
        for at, choice in enumerate(choices):
            yield from ([*firsts[:at], it, *firsts[at + 1 :]] for it in choice)


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
