"""The simplest number or string between two others: what a person would name as an example."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 -_.!~é"
_MOST_DIGITS: Final = 17
_LONGEST_TRIED: Final = 200


def number_between(
    low: Fraction | None, high: Fraction | None, *, integral: bool
) -> int | float | None:
    """The simplest number strictly between two (None: no bound): an integer, else one of few digits.

    None when no integer lies there and, unless `integral`, no double.
    """
    whole = _integer_between(low, high)
    if whole is not None or integral or low is None or high is None:
        return whole
    for digits in range(1, _MOST_DIGITS + 1):
        step = 10**digits
        found = _integer_between(low * step, high * step)
        value = None if found is None else _as_double(Fraction(found, step))
        if value is not None and low < Fraction(value) < high:
            return value
    return _double_between(low, high)


def neighbours(value: Fraction) -> tuple[Fraction, Fraction]:
    """The numbers nearest below and above, or both the value itself: what JSON can say, doubles and integers."""
    below, above = Fraction(math.floor(value)), Fraction(math.ceil(value))
    nearest = _as_double(value)
    if nearest is not None:
        exact = Fraction(nearest)
        if exact == value:
            return value, value
        if exact < value:
            lower, upper = nearest, math.nextafter(nearest, math.inf)
        else:
            lower, upper = math.nextafter(nearest, -math.inf), nearest
        if math.isfinite(lower):
            below = max(below, Fraction(lower))
        if math.isfinite(upper):
            above = min(above, Fraction(upper))
    return below, above


def texts_between(low: str, high: str | None) -> Iterator[str]:
    """Short strings strictly between two by code point (None: no bound), the shortest first."""
    for length in (*range(min(len(low), _LONGEST_TRIED)), len(low)):
        for letter in _LETTERS:
            text = low[:length] + letter
            if low < text and (high is None or text < high):
                yield text


def _integer_between(low: Fraction | None, high: Fraction | None) -> int | None:
    """The integer nearest to 0 strictly between two numbers."""
    least = None if low is None else math.floor(low) + 1
    most = None if high is None else math.ceil(high) - 1
    if least is not None and most is not None and least > most:
        return None
    if least is not None and least > 0:
        return least
    return most if most is not None and most < 0 else 0


def _double_between(low: Fraction, high: Fraction) -> float | None:
    """Any double strictly between two numbers."""
    nearest = _as_double((low + high) / 2)
    if nearest is None:
        return None
    around = (nearest, math.nextafter(nearest, -math.inf), math.nextafter(nearest, math.inf))
    return next((it for it in around if math.isfinite(it) and low < Fraction(it) < high), None)


def _as_double(value: Fraction) -> float | None:
    """The nearest double; None when the value is too large for any."""
    try:
        return float(value)
    except OverflowError:
        return None
