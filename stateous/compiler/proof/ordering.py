"""Equality and order of values in a solver's words: as guards compare JSON, kind by kind.

What is not said here, such as whether two lists that are read are equal, is left open: the solver may
choose either answer, but the same one each time.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, Literal

from stateous.compiler.proof.formulas import (
    FALSE,
    TRUE,
    Formula,
    every,
    implied,
    negated,
    same,
    some,
    truth,
)
from stateous.compiler.proof.script import Script
from stateous.compiler.proof.terms import ListTerm, NumberTerm, StringTerm, Value

Sign = Literal["=", "<", "<="]

_SIGNS: Final[dict[Sign, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
}


def equal(one: Value, other: Value, script: Script) -> Formula:
    """Whether two values are equal."""
    if one.key == other.key:
        return TRUE
    found = [every((one.null, other.null))]
    if one.number and other.number:
        given = one.number.given, other.number.given
        found.append(every((*given, _numbers("=", one.number, other.number))))
    if one.string and other.string:
        given = one.string.given, other.string.given
        found.append(every((*given, _strings("=", one.string, other.string))))
    if one.list and other.list:
        found.append(every((one.list.given, other.list.given, _equal_lists(one, other, script))))
    if one.object and other.object:
        given = one.object.given, other.object.given
        found.append(every((*given, _equal_unknown(one, other, script))))
    return some(found)


def before(one: Value, other: Value, script: Script, *, or_equal: bool = False) -> Formula:
    """Whether the first comes before the second, or is the same if `or_equal`."""
    sign = "<=" if or_equal else "<"
    found: list[Formula] = []
    if one.number and other.number:
        given = one.number.given, other.number.given
        found.append(every((*given, _numbers(sign, one.number, other.number))))
    if one.string and other.string:
        given = one.string.given, other.string.given
        found.append(every((*given, _strings(sign, one.string, other.string))))
    if one.list and other.list:
        given = one.list.given, other.list.given
        ordered = _before_lists(one, other, script)
        if or_equal:
            ordered = some((ordered, _equal_lists(one, other, script)))
        found.append(every((*given, ordered)))
    return some(found)


def _numbers(sign: Sign, one: NumberTerm, other: NumberTerm) -> Formula:
    ones, others = _cases(one), _cases(other)
    if not ones or not others:
        return f"({sign} {one.term} {other.term})"
    return some(
        every((if_one, if_other, truth(_SIGNS[sign](exact, against))))
        for if_one, exact in ones
        for if_other, against in others
    )


def _cases(number: NumberTerm) -> list[tuple[Formula, Fraction]]:
    """All that the number can be, if it is known or a boolean."""
    if number.exact is not None:
        return [(TRUE, number.exact)]
    if number.flag is not None:
        return [(number.flag, Fraction(1)), (negated(number.flag), Fraction(0))]
    return []


def _strings(sign: Sign, one: StringTerm, other: StringTerm) -> Formula:
    if one.exact is not None and other.exact is not None:
        return truth(_SIGNS[sign](one.exact, other.exact))
    return f"({sign} {one.term} {other.term})"


# Lists. One of known length and one with room for an item more are compared item by item.


def _shorter(one: ListTerm, other: ListTerm) -> int | None:
    """The length of the one that is a literal, if the other has room for more; else None."""
    for literal, against in ((one, other), (other, one)):
        if _is_literal(literal) and against.whole:
            length = len(literal.items)
            if _is_literal(against) or len(against.items) > length:
                return length
    return None


def _is_literal(term: ListTerm) -> bool:
    return term.whole and all(there == TRUE for there in term.present)


def _at(term: ListTerm, place: int) -> Formula:
    return term.present[place] if place < len(term.present) else FALSE


def _equal_lists(one: Value, other: Value, script: Script) -> Formula:
    if one.list is None or other.list is None:
        return FALSE
    length = _shorter(one.list, other.list)
    if length is None:
        answer = _equal_unknown(one, other, script)
        script.require(implied(answer, same(_at(one.list, 0), _at(other.list, 0))))
        return answer
    found = [same(_at(one.list, at), _at(other.list, at)) for at in range(length + 1)]
    items = zip(one.list.items[:length], other.list.items[:length], strict=False)
    return every([*found, *(equal(this, that, script) for this, that in items)])


def _before_lists(one: Value, other: Value, script: Script) -> Formula:
    if one.list is None or other.list is None or one.key == other.key:
        return FALSE
    length = _shorter(one.list, other.list)
    if length is None:
        answer, is_new = script.open_question("before", one.key, other.key)
        if is_new:
            script.require(implied(answer, negated(_equal_unknown(one, other, script))))
            script.require(implied(answer, negated(_before_lists(other, one, script))))
        return answer
    found: list[Formula] = []
    alike = TRUE
    for place in range(length + 1):
        here, there = _at(one.list, place), _at(other.list, place)
        found.append(every((alike, negated(here), there)))
        if place < min(len(one.list.items), len(other.list.items)):
            this, that = one.list.items[place], other.list.items[place]
            found.append(every((alike, here, there, before(this, that, script))))
            alike = script.named(every((alike, here, there, equal(this, that, script))))
    return some(found)


def _equal_unknown(one: Value, other: Value, script: Script) -> Formula:
    if one.key == other.key:
        return TRUE
    first, second = sorted((one.key, other.key))
    return script.open_question("equal", first, second)[0]
