"""Decoding: from what a solver chose to a case, and to what it may not choose again."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from typing import Any, Final

from stateous.compiler.proof.between import neighbours, texts_between
from stateous.compiler.proof.candidates import said_as, sample, smallest_object
from stateous.compiler.proof.cases import Case
from stateous.compiler.proof.domains import Domain
from stateous.compiler.proof.encoding import Encoding
from stateous.compiler.proof.formulas import TRUE, Formula, every, negated, numeral
from stateous.compiler.proof.slots import Slots
from stateous.compiler.proof.solving import Model
from stateous.compiler.proof.terms import ListTerm, NumberTerm, ObjectTerm, StringTerm, Value

Json = Any

_MOST_ITEMS: Final = 100


class Decoder:
    """Reads one model of an encoding as a case.

    `unsaid` are the numbers that it chose and JSON cannot say: 1/3, or one between two doubles that follow
    each other. In the case the nearest ones stand for them.
    """

    def __init__(self, encoding: Encoding, slots: Slots, model: Model) -> None:
        self._script = encoding.script
        self._model = model
        self._encoding = encoding
        self._slots = slots
        self._texts: dict[Fraction, str] = {}
        self.unsaid: dict[str, Fraction] = {}

    def case(self) -> Case:
        """The case. Raises LookupError when no string or object is found for what was chosen."""
        slots, encoding = self._slots, self._encoding
        self._name_texts()
        return Case(
            values={
                slot: self._json(encoding.values[slot], domain)
                for slot, domain in slots.domains.items()
            },
            endings=tuple(
                endings[int(self._exact(choice.selector))]
                for endings, choice in zip(slots.endings, encoding.endings, strict=True)
            ),
        )

    def lemmas(self) -> Iterator[Formula]:
        """That no number lies between the two that are nearest to an unsaid one."""
        for name, value in self.unsaid.items():
            below, above = neighbours(value)
            yield f"(or (<= {name} {numeral(below)}) (>= {name} {numeral(above)}))"

    def another(self) -> Formula:
        """That some kind, ending, or answer to an open question is another one; without these, some value."""
        made = self._script.choices() or list(self._model)
        return negated(every(self._is_so(name) for name in made))

    def _is_so(self, name: str) -> Formula:
        if name.startswith("b"):
            return name if self._bool(name) else negated(name)
        exact = self._exact(name)
        return f"(= {name} {int(exact) if name.startswith('i') else numeral(exact)})"

    def _bool(self, name: str) -> bool:
        return name == TRUE or bool(self._model.get(name, False))

    def _exact(self, name: str) -> Fraction:
        return Fraction(self._model.get(name, 0))

    def _part(self, value: Value) -> NumberTerm | StringTerm | ListTerm | ObjectTerm | None:
        parts = value.parts()
        return parts[int(self._exact(value.selector))] if parts else None

    def _json(self, value: Value, domain: Domain) -> Json:
        match self._part(value):
            case None:
                return None
            case NumberTerm(name=name, flag=flag):
                if flag is not None:
                    return self._bool(name)
                return self._number(name, domain)
            case StringTerm(name=name):
                return self._texts[self._exact(name)]
            case ListTerm() as term:
                return self._list(term, value.key, domain)
            case ObjectTerm() as term:
                return self._object(term, value.key, domain)

    def _number(self, name: str, domain: Domain) -> bool | int | float:
        chosen = self._exact(name)
        if chosen.denominator == 1:
            plain = int(chosen)
            known = "number" in domain.kinds and domain.numbers.has(plain)
            if not known and plain in (0, 1):
                return bool(plain)
        below, above = neighbours(chosen)
        if below != above:
            self.unsaid[name] = chosen
        nearest = below if chosen - below < above - chosen else above
        return said_as(nearest, integral=domain.integral) or 0

    def _asked_of(self, key: str) -> list[Json]:
        """The literals that were chosen to be items of a list of which no more is known."""
        known = self._script.known
        return [
            known[item]
            for (item, of), name in self._script.asked_of("item")
            if of == key and item in known and self._bool(name)
        ]

    def _list(self, term: ListTerm, key: str, domain: Domain) -> list[Json]:
        items = [
            self._json(item, term.domain)
            for there, item in zip(term.present, term.items, strict=False)
            if self._bool(there)
        ]
        if not term.whole and self._bool(term.present[0]):
            items = self._asked_of(key) or [sample(domain.lists.at(0))]
        missing = range(len(items), domain.lists.fewest)
        return [*items, *(sample(domain.lists.at(place)) for place in islice(missing, _MOST_ITEMS))]

    def _object(self, term: ObjectTerm, key: str, domain: Domain) -> dict[str, Json]:
        objects = domain.objects
        if not self._bool(term.filled):
            return {}
        asked = {text: self._script.asked("key", repr(text), key) for text in self._script.texts}
        there = [text for text, name in asked.items() if name is not None and self._bool(name)]
        found = smallest_object(objects, {name: sample(objects.field(name)) for name in there})
        if found:
            return found
        free = [*objects.fields, *(islice(texts_between("", None), 50))]
        for name in free:
            if name not in asked and objects.field(name).kinds:
                return {name: sample(objects.field(name))}
        raise LookupError

    def _name_texts(self) -> None:
        """Find a string for each rank that was chosen, in the same order."""
        known = self._script.texts
        between: dict[int, list[Fraction]] = {}
        for rank in sorted(set(self._ranks())):
            if rank.denominator == 1 and rank < len(known):
                self._texts[rank] = known[int(rank)]
            else:
                between.setdefault(min(int(rank), len(known) - 1), []).append(rank)
        for low, ranks in between.items():
            high = known[low + 1] if low + 1 < len(known) else None
            found = list(islice(texts_between(known[low], high), len(ranks)))
            if len(found) < len(ranks):
                raise LookupError
            self._texts.update(zip(ranks, sorted(found), strict=True))

    def _ranks(self) -> Iterator[Fraction]:
        ahead = list(self._encoding.values.values())
        while ahead:
            value = ahead.pop()
            if value.string is not None:
                yield self._exact(value.string.name)
            if value.list is not None:
                ahead.extend(value.list.items)
