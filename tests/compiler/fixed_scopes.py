"""A scope in the words of an encoding: each value that guards read is required to be what the scope has."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, cast

from stateous.compiler.proof.encoding import Encoding
from stateous.compiler.proof.formulas import FALSE, Formula, every, negated, numeral, some
from stateous.compiler.proof.slots import Slot, Slots
from stateous.compiler.proof.terms import ListTerm, Value
from stateous.model.guard_tree import Count, Field
from stateous.model.guards import Scope

Json = Any
_SETTLED = ("workflow", "status", "final")


class FixedScope:
    """`formula` requires the scope; `exact` says whether it tells all of it, or something is left open."""

    def __init__(self, encoding: Encoding, slots: Slots, scope: Scope, reads: set[Field]) -> None:
        values = {slot: read_in(scope, slot) for slot in slots.domains}
        self._texts = encoding.script.texts
        self._ranks = self._ranked(set(_texts_in(list(values.values()))))
        self.exact = True
        found = [self._is(encoding.values[slot], value) for slot, value in values.items()]
        for place, (endings, choice) in enumerate(
            zip(slots.endings, encoding.endings, strict=True)
        ):
            branch = (scope.branches or ())[place]
            fitting = [
                made
                for made, ending in zip(choice.made, endings, strict=True)
                if all(
                    getattr(ending, name) == branch[name]
                    for name in _SETTLED
                    if Field("branch", name) in reads
                )
                and all(
                    ending.domain_of(cast("Field", slot.read)).has(value)
                    for slot, value in values.items()
                    if slot.branch == place
                )
            ]
            found.append(some(fitting))
        self.formula = every(found)

    def _is(self, value: Value, given: Json) -> Formula:
        match given:
            case None:
                return value.null
            case bool() | int() | float():
                if value.number is None:
                    return FALSE
                exact = numeral(Fraction(given))
                return every((value.number.given, f"(= {value.number.term} {exact})"))
            case str():
                if value.string is None:
                    return FALSE
                rank = numeral(self._ranks[given])
                return every((value.string.given, f"(= {value.string.term} {rank})"))
            case list():
                items = cast("list[Json]", given)
                return FALSE if value.list is None else self._is_list(value.list, items)
            case _:
                self.exact = False
                return FALSE if value.object is None else value.object.given

    def _is_list(self, term: ListTerm, items: list[Json]) -> Formula:
        if len(items) >= len(term.present) or not term.whole:
            # Only that some of its items answer the same questions is said of a long list.
            self.exact = False
            return term.given
        here = [self._is(each, item) for each, item in zip(term.items, items, strict=False)]
        return every(
            [term.given, *term.present[: len(items)], negated(term.present[len(items)]), *here]
        )

    def _ranked(self, texts: set[str]) -> dict[str, Fraction]:
        ranks = {text: Fraction(at) for at, text in enumerate(self._texts)}
        unknown = sorted(texts - ranks.keys())
        for number, text in enumerate(unknown, start=1):
            below = bisect(self._texts, text) - 1
            ranks[text] = below + Fraction(number, len(unknown) + 1)
        return ranks


def read_in(scope: Scope, slot: Slot) -> Json:
    """What a guard reads there."""
    match slot.read:
        case Count(event=event):
            return scope.counts.get(event, 0)
        case Field(place="ctx", name=name):
            return scope.ctx.get(name)
        case Field(place="payload", name=name):
            return scope.payload.get(name)
        case Field(place=place, name=name):
            branch: Mapping[str, Json] = (scope.branches or ())[slot.branch or 0]
            payload: Mapping[str, Json] = branch["payload"] or {}
            return branch.get(name) if place == "branch" else payload.get(name)


def _texts_in(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in cast("list[Json]", value):
            yield from _texts_in(item)
