"""What values a domain has, in words: `an integer from 1 to 10`, `'low' or 'high'`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, Final, cast

from stateous.compiler.proof.domains import Domain, Numbers, Strings

Json = Any

_SHOWN_OPTIONS: Final = 6
_SHOWN: Final = 60


def say_domain(domain: Domain) -> str:
    """The values of a domain, as what follows "which is"."""
    options = domain.options
    if not domain.kinds:
        return "nothing"
    if options and "boolean" not in domain.kinds:
        return say_values(options)
    kinds: list[str] = []
    if "boolean" in domain.kinds:
        kinds.append("true or false" if len(domain.booleans) > 1 else say_value(*domain.booleans))
    if "number" in domain.kinds:
        kinds.append(_numbers(domain.numbers))
    if "string" in domain.kinds:
        kinds.append(_strings(domain.strings))
    if "list" in domain.kinds:
        kinds.append("a list")
    if "object" in domain.kinds:
        kinds.append("an object")
    if "null" in domain.kinds:
        kinds.append("null")
    return either(kinds)


def say_values(values: Sequence[Json]) -> str:
    """Listed values: `'low', 'middle' or 'high'`; null last."""
    ordered = sorted(values, key=lambda value: value is None)
    if len(ordered) > _SHOWN_OPTIONS:
        return f"one of {', '.join(map(say_value, ordered[:_SHOWN_OPTIONS]))} …"
    return either(map(say_value, ordered))


def say_value(value: Json) -> str:
    """A value as a guard spells it."""
    match value:
        case None:
            text = "null"
        case bool():
            text = "true" if value else "false"
        case list():
            text = f"[{', '.join(map(say_value, cast('list[Json]', value)))}]"
        case _:
            text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def either(words: Iterable[str]) -> str:
    """`a, b or c`."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def _numbers(numbers: Numbers) -> str:
    if numbers.options:
        return say_values(numbers.options)
    kind = "an integer" if numbers.integral else "a number"
    low, high = numbers.least, numbers.most
    if low and high and not low.open and not high.open:
        return f"{kind} from {_number(low.value)} to {_number(high.value)}"
    bounds: list[str] = []
    if low:
        bounds.append(f"{'more than' if low.open else 'at least'} {_number(low.value)}")
    if high:
        bounds.append(f"{'less than' if high.open else 'at most'} {_number(high.value)}")
    return f"{kind} of {' and '.join(bounds)}" if bounds else kind


def _number(value: Fraction) -> str:
    return str(value.numerator if value.denominator == 1 else float(value))


def _strings(strings: Strings) -> str:
    if strings.options:
        return say_values(strings.options)
    if strings.shortest:
        return f"a string of {_characters('at least', strings.shortest)}"
    return (
        f"a string of {_characters('at most', strings.longest)}" if strings.longest else "a string"
    )


def _characters(bound: str, number: int) -> str:
    return f"{bound} {number} character{'' if number == 1 else 's'}"
