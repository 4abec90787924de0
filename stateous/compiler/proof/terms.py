"""Terms: a JSON value as a solver has it, with a part for each kind that it can be of."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import msgspec

from stateous.compiler.proof.domain_algebra import listed
from stateous.compiler.proof.domains import Domain, Objects
from stateous.compiler.proof.formulas import (
    FALSE,
    TRUE,
    Formula,
    Term,
    every,
    numeral,
    some,
    truth,
)
from stateous.compiler.proof.script import Script

Json = Any


class NumberTerm(msgspec.Struct, frozen=True):
    """A number or boolean. `flag` is there when it is 0 or 1, `exact` when it is known."""

    given: Formula
    term: Term
    flag: Formula | None = None
    exact: Fraction | None = None
    name: str = ""


class StringTerm(msgspec.Struct, frozen=True):
    """A string by its rank. `exact` is there when it is known."""

    given: Formula
    term: Term
    exact: str | None = None
    longest: int | None = None
    name: str = ""


class ListTerm(msgspec.Struct, frozen=True):
    """A list: its first items, and for each place whether there is an item.

    Without `whole` only the emptiness is known, by the first place.
    """

    given: Formula
    present: tuple[Formula, ...]
    items: tuple[Value, ...]
    whole: bool
    domain: Domain


class ObjectTerm(msgspec.Struct, frozen=True):
    """An object, of which it is known whether it has keys, and which."""

    given: Formula
    filled: Formula
    objects: Objects


class Value(msgspec.Struct, frozen=True):
    """A JSON value; exactly one of its parts is given, the one at the place that `selector` has.

    `key` is the same for the same value only.
    """

    key: str
    selector: str = ""
    null: Formula = FALSE
    number: NumberTerm | None = None
    string: StringTerm | None = None
    list: ListTerm | None = None
    object: ObjectTerm | None = None

    def parts(self) -> list[NumberTerm | StringTerm | ListTerm | ObjectTerm | None]:
        """What the value can be, in the order of `selector`; None stands for null."""
        null = [] if self.null == FALSE else [None]
        others = (self.number, self.string, self.list, self.object)
        return [*null, *(part for part in others if part is not None)]


def literal(value: Json, script: Script) -> Value:
    """The value of a literal; there are no objects among them."""
    made = _literal(value, script)
    script.known[made.key] = value
    return made


def _literal(value: Json, script: Script) -> Value:
    match value:
        case None:
            return Value("null", null=TRUE)
        case bool() | int() | float():
            exact = Fraction(value)
            flag = truth(exact == 1) if exact in (0, 1) else None
            key = f"{exact.numerator:x}/{exact.denominator:x}"
            return Value(key, number=NumberTerm(TRUE, numeral(exact), flag, exact))
        case str():
            return Value(repr(value), string=StringTerm(TRUE, script.rank(value), value))
        case _:
            items = tuple(literal(item, script) for item in value)
            key = "[" + ",".join(item.key for item in items) + "]"
            whole = ListTerm(TRUE, (TRUE,) * len(items), items, whole=True, domain=listed([value]))
            return Value(key, list=whole)


def answer(formula: Formula, script: Script) -> Value:
    """The value of a condition: true or false."""
    name = script.named(formula)
    return Value(name, number=NumberTerm(TRUE, f"(ite {name} 1.0 0.0)", name))


def holds(value: Value) -> Formula:
    """Whether the value is true, as guards see it."""
    found: list[Formula] = []
    if (number := value.number) is not None:
        nonzero = f"(not (= {number.term} 0.0))" if number.flag is None else number.flag
        if number.exact is not None:
            nonzero = truth(number.exact != 0)
        found.append(every((number.given, nonzero)))
    if (string := value.string) is not None:
        filled = f"(> {string.term} 0.0)" if string.exact is None else truth(string.exact != "")
        found.append(every((string.given, filled)))
    if value.list is not None:
        found.append(
            every((value.list.given, *value.list.present[:1])) if value.list.present else FALSE
        )
    if value.object is not None:
        found.append(every((value.object.given, value.object.filled)))
    return some(found)
