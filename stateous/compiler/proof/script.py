"""The script of one proof: what was declared and required so far, as a solver reads it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any, Final, Literal, NamedTuple

from stateous.compiler.proof.formulas import TRUE, Formula, Term, numeral

Sort = Literal["Bool", "Int", "Real"]

_LONGEST: Final = 2_000_000
_SHORT: Final = 12


class Choice(NamedTuple):
    """One of several: a formula for each, and the constant whose value is the place of the one that is true.

    The constant is '' when there is nothing to choose.
    """

    made: tuple[Formula, ...]
    selector: str


class TooLong(Exception):
    """A proof whose script would take too long to read."""


class Script:
    """Declarations and requirements. Names are `b1`, `i2`, `r3`: nothing of the guards' texts is in them.

    Strings are numbers to the solver: the place of each known one in their order is its rank, '' is 0, and
    other strings lie somewhere between. So all that order and equality say of strings is said of numbers.
    `is_wide` says that a literal is larger than any number that can be sent. `known` has the literals by key.
    """

    def __init__(self, texts: Iterable[str], *, is_wide: bool = False) -> None:
        self.is_wide = is_wide
        self.texts = sorted({"", *texts})
        self._ranks = {text: numeral(Fraction(at)) for at, text in enumerate(self.texts)}
        self.known: dict[str, Any] = {}
        self._selectors: list[str] = []
        self._lines: list[str] = []
        self._length = 0
        self._declared = 0
        self._open: dict[tuple[str, str, str], Formula] = {}

    def rank(self, text: str) -> Term:
        """The number that stands for a known string."""
        return self._ranks[text]

    def declare(self, sort: Sort) -> str:
        """A new constant; its name."""
        self._declared += 1
        name = f"{sort[0].lower()}{self._declared}"
        self._add(f"(declare-const {name} {sort})")
        return name

    def new_key(self) -> str:
        """A key for a value that is the same as no other's."""
        self._declared += 1
        return f"v{self._declared}"

    def require(self, formula: Formula) -> None:
        if formula != TRUE:
            self._add(f"(assert {formula})")

    def named(self, formula: Formula, *, always: bool = False) -> Formula:
        """The formula by a short name, so that to use it twice costs little; a constant if `always`."""
        if len(formula) < _SHORT and not always:
            return formula
        name = self.declare("Bool")
        self._add(f"(assert (= {name} {formula}))")
        return name

    def open_question(self, word: str, one: str, other: str) -> tuple[Formula, bool]:
        """A constant for what the solver is told little about, by the keys of two values; whether it is new."""
        question = (word, one, other)
        known = self._open.get(question)
        if known is None:
            self._open[question] = answer = self.declare("Bool")
            return answer, True
        return known, False

    @property
    def has_open_questions(self) -> bool:
        """Whether the solver may choose some answers that are not its to choose."""
        return bool(self._open)

    def asked(self, word: str, one: str, other: str) -> Formula | None:
        """The constant of an open question, if it was asked."""
        return self._open.get((word, one, other))

    def choose(self, number: int) -> Choice:
        """A choice between so many, of which exactly one is made."""
        if number == 1:
            return Choice((TRUE,), "")
        selector = self.declare("Int")
        self._selectors.append(selector)
        self.require(f"(<= 0 {selector} {number - 1})")
        return Choice(tuple(f"(= {selector} {at})" for at in range(number)), selector)

    def asked_of(self, word: str) -> Iterator[tuple[tuple[str, str], Formula]]:
        """The open questions of a word: the keys of the two values that it is about, and the constant."""
        for (asked, one, other), answer in self._open.items():
            if asked == word:
                yield (one, other), answer

    def choices(self) -> list[str]:
        """The constants of all choices and of all open questions."""
        return [*self._selectors, *self._open.values()]

    def text(self) -> str:
        return "\n".join(self._lines)

    def _add(self, line: str) -> None:
        self._length += len(line)
        if self._length > _LONGEST:
            raise TooLong
        self._lines.append(line)
