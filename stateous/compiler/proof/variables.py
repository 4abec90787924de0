"""Variables: a value that a guard reads, which can be anything that its domain allows."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from stateous.compiler.proof.candidates import WIDEST, fits_strings
from stateous.compiler.proof.domain_algebra import any_item
from stateous.compiler.proof.domains import Domain, Lists, Numbers, Objects
from stateous.compiler.proof.formulas import (
    FALSE,
    TRUE,
    Formula,
    every,
    implied,
    negated,
    numeral,
    some,
)
from stateous.compiler.proof.script import Script
from stateous.compiler.proof.terms import ListTerm, NumberTerm, ObjectTerm, StringTerm, Value

_MOST_TEXTS: Final = 2_000
_WIDEST: Final = numeral(Fraction(WIDEST))


def variable(domain: Domain, script: Script, room: int = 0) -> Value:
    """A new value of the domain. Of a list, `room` items are looked at; with none, only whether it has any."""
    numbers = bool(domain.kinds & {"boolean", "number"})
    there = {
        "null": "null" in domain.kinds,
        "number": numbers,
        "string": "string" in domain.kinds,
        "list": "list" in domain.kinds,
        "object": "object" in domain.kinds,
    }
    kinds = [kind for kind, is_there in there.items() if is_there]
    choice = script.choose(max(len(kinds), 1))
    given = dict(zip(kinds, choice.made, strict=False))
    value = Value(
        key=script.new_key(),
        selector=choice.selector,
        null=given.get("null", FALSE),
        number=_number(domain, given["number"], script) if "number" in given else None,
        string=_string(domain, given["string"], script) if "string" in given else None,
        list=_list(domain, given["list"], script, room) if "list" in given else None,
        object=_object(domain, given["object"], script) if "object" in given else None,
    )
    script.require(lies_in(value, domain, script))
    return value


def lies_in(value: Value, domain: Domain, script: Script) -> Formula:
    """Whether a value lies in the domain; true, too, where that cannot be said."""
    found: list[Formula] = []
    if "null" in domain.kinds:
        found.append(value.null)
    if value.number is not None:
        found.append(every((value.number.given, _is_number(value.number, domain, script))))
    if value.string is not None and "string" in domain.kinds:
        found.append(every((value.string.given, _is_string(value.string, domain, script))))
    if value.list is not None and "list" in domain.kinds:
        found.append(every((value.list.given, _is_list(value.list, domain.lists, script))))
    if value.object is not None and "object" in domain.kinds:
        found.append(every((value.object.given, _is_object(value.object, domain.objects))))
    return some(found)


def _number(domain: Domain, given: Formula, script: Script) -> NumberTerm:
    if "number" not in domain.kinds:
        name = script.declare("Bool")
        return NumberTerm(given, f"(ite {name} 1.0 0.0)", flag=name, name=name)
    if domain.numbers.integral:
        name = script.declare("Int")
        return NumberTerm(given, f"(to_real {name})", name=name)
    name = script.declare("Real")
    return NumberTerm(given, name, name=name)


def _string(domain: Domain, given: Formula, script: Script) -> StringTerm:
    name = script.declare("Real")
    script.require(f"(>= {name} 0.0)")
    return StringTerm(given, name, longest=domain.strings.longest, name=name)


def _list(domain: Domain, given: Formula, script: Script, room: int) -> ListTerm:
    present = [script.declare("Bool") for _ in range(max(room, 1))]
    for place, there in enumerate(present[1:]):
        script.require(implied(there, present[place]))
    item = any_item(domain.lists)
    items = tuple(variable(item, script) for _ in range(room))
    return ListTerm(given, tuple(present), items, whole=room > 0, domain=item)


def _object(domain: Domain, given: Formula, script: Script) -> ObjectTerm:
    return ObjectTerm(given, script.declare("Bool"), domain.objects)


def _is_number(number: NumberTerm, domain: Domain, script: Script) -> Formula:
    found: list[Formula] = []
    if "boolean" in domain.kinds:
        if number.flag is None:
            found.extend(f"(= {number.term} {int(each)}.0)" for each in domain.booleans)
        else:
            found.extend(number.flag if each else negated(number.flag) for each in domain.booleans)
    if "number" in domain.kinds:
        found.append(_in_range(number, domain.numbers, script))
    return some(found)


def _in_range(number: NumberTerm, numbers: Numbers, script: Script) -> Formula:
    if numbers.options is not None:
        return some(f"(= {number.term} {numeral(Fraction(it))})" for it in numbers.options)
    found: list[Formula] = []
    if (low := numbers.least) is not None:
        found.append(f"({'>' if low.open else '>='} {number.term} {numeral(low.value)})")
    if (high := numbers.most) is not None:
        found.append(f"({'<' if high.open else '<='} {number.term} {numeral(high.value)})")
    if script.is_wide:
        found.append(f"(< (- {_WIDEST}) {number.term} {_WIDEST})")
    whole = number.name.startswith("i")
    if numbers.integral and not whole:
        found.append(f"(is_int {number.term})")
    if numbers.step is not None and whole:
        found.append(f"(= (mod {number.name} {numbers.step}) 0)")
    return every(found)


def _is_string(string: StringTerm, domain: Domain, script: Script) -> Formula:
    strings = domain.strings
    if strings.options is not None:
        return some(f"(= {string.term} {script.rank(option)})" for option in strings.options)
    found: list[Formula] = []
    if strings.longest == 0:
        found.append(f"(= {string.term} 0.0)")
    if len(script.texts) <= _MOST_TEXTS:
        found.extend(
            f"(not (= {string.term} {script.rank(text)}))"
            for text in script.texts
            if not fits_strings(domain, text)
        )
    return every(found)


def _is_list(term: ListTerm, lists: Lists, script: Script) -> Formula:
    present = term.present
    found = list(present[: lists.fewest])
    if lists.most is not None and lists.most < len(present):
        found.append(negated(present[lists.most]))
    item = any_item(lists)
    if item != term.domain:
        found.extend(
            implied(there, lies_in(each, item, script))
            for there, each in zip(present, term.items, strict=False)
        )
    return every(found)


def _is_object(term: ObjectTerm, objects: Objects) -> Formula:
    if objects.required or objects.fewest:
        return term.filled
    nothing = objects.others is not None and not objects.others.kinds and not objects.fields
    return negated(term.filled) if nothing else TRUE
