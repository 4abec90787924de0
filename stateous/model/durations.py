"""Durations as people write them (`30s`, `6h`) and as sentences say them (`2 minutes`)."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

LONGEST: Final = timedelta(days=3650)

_SPELLING: Final = re.compile(r"([1-9][0-9]*)([smhd])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_UNITS: Final = (("day", 86_400), ("hour", 3_600), ("minute", 60))
_DIGITS_OF_LONGEST: Final = 9
_SHOWN: Final = 40


def parse_duration(text: object) -> timedelta:
    """Return the duration that `text` spells: a whole number above 0 and one of `s m h d`.

    Raises ValueError, with one sentence, for another spelling and beyond 3650 days.
    """
    found = _SPELLING.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        shown = repr(text)
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
        problem = (
            f"{shown} is not a duration: write a whole number and s, m, h or d, such as 30s or 6h"
        )
        raise ValueError(problem)
    digits, unit = found.groups()
    # Digits are counted first: turning very many of them into a number is slow, then an error.
    if len(digits) > _DIGITS_OF_LONGEST or int(digits) * _SECONDS[unit] > LONGEST.total_seconds():
        problem = "a duration is at most 3650 days"
        raise ValueError(problem)
    return timedelta(seconds=int(digits) * _SECONDS[unit])


def say_duration(duration: timedelta) -> str:
    """Say a duration in the largest unit that measures it exactly: `2 minutes`, `90 seconds`, `1 day`."""
    seconds = duration.total_seconds()
    for unit, size in _UNITS:
        if seconds and seconds % size == 0:
            return _counted(int(seconds // size), unit)
    if seconds == int(seconds):
        return _counted(int(seconds), "second")
    return f"{seconds:.6f}".rstrip("0") + " seconds"


def _counted(number: int, unit: str) -> str:
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"
