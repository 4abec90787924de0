"""Formulas: the texts of SMT-LIB that a solver reads, folded as far as they are plainly true or false."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Final

Formula = str
"""An SMT-LIB term of sort Bool."""
Term = str
"""An SMT-LIB term of sort Real."""

TRUE: Final[Formula] = "true"
FALSE: Final[Formula] = "false"

_CHUNK: Final = 10**4000


def truth(holds: bool) -> Formula:  # noqa: FBT001  # the one thing that it is about
    return TRUE if holds else FALSE


def negated(formula: Formula) -> Formula:
    if formula == TRUE:
        return FALSE
    if formula == FALSE:
        return TRUE
    return f"(not {formula})"


def every(formulas: Iterable[Formula]) -> Formula:
    """All of them; true when there are none."""
    return _many("and", formulas, same=TRUE, decides=FALSE)


def some(formulas: Iterable[Formula]) -> Formula:
    """At least one of them; false when there are none."""
    return _many("or", formulas, same=FALSE, decides=TRUE)


def implied(premise: Formula, formula: Formula) -> Formula:
    return some((negated(premise), formula))


def same(one: Formula, other: Formula) -> Formula:
    """Both, or neither."""
    if one == other:
        return TRUE
    for this, that in ((one, other), (other, one)):
        if this == TRUE:
            return that
        if this == FALSE:
            return negated(that)
    return f"(= {one} {other})"


def numeral(value: Fraction) -> Term:
    """A number, exactly."""
    positive = _whole(abs(value.numerator))
    if value.denominator != 1:
        positive = f"(/ {positive} {_whole(value.denominator)})"
    return f"(- {positive})" if value < 0 else positive


def _whole(value: int) -> Term:
    # Python refuses to write an integer of more digits.
    if value < _CHUNK:
        return f"{value}.0"
    return f"(+ (* {_whole(value // _CHUNK)} {_CHUNK}.0) {value % _CHUNK}.0)"


def _many(word: str, formulas: Iterable[Formula], *, same: Formula, decides: Formula) -> Formula:
    kept: dict[Formula, None] = {}
    for formula in formulas:
        if formula == decides:
            return decides
        if formula != same:
            kept[formula] = None
    if not kept:
        return same
    return next(iter(kept)) if len(kept) == 1 else f"({word} {' '.join(kept)})"
