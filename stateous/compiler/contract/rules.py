"""The rules of a schema that both msgspec and pydantic know, under the names that they share."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from stateous.compiler.contract.kinds import Rules

Schema = Mapping[str, Any]
Number = int | float

_LARGEST: Final = 2**63 - 1
_LONGEST_PATTERN: Final = 2000


def number_rules(schema: Schema, *, whole: bool) -> Rules:
    """`ge` or `gt`, `le` or `lt`, and `multiple_of`; for whole numbers, all of them are whole."""
    rules: dict[str, Number] = {}
    low, above = _number(schema, "minimum"), _number(schema, "exclusiveMinimum")
    if low is not None and (above is None or low > above):
        rules["ge"] = math.ceil(low) if whole else low
    elif above is not None:
        rules["gt"] = math.floor(above) if whole else above
    high, below = _number(schema, "maximum"), _number(schema, "exclusiveMaximum")
    if high is not None and (below is None or high < below):
        rules["le"] = math.floor(high) if whole else high
    elif below is not None:
        rules["lt"] = math.ceil(below) if whole else below
    step = _number(schema, "multipleOf")
    if step is not None and step > 0 and (not whole or step == int(step)):
        rules["multiple_of"] = int(step) if whole else step
    # msgspec keeps the bounds of whole numbers in 64 bits.
    return tuple(
        (name, limit) for name, limit in rules.items() if not whole or abs(limit) <= _LARGEST
    )


def text_rules(schema: Schema) -> Rules:
    """The lengths of a text, and its pattern if Python can read it."""
    rules = length_rules(schema, "minLength", "maxLength")
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and _is_read(pattern):
        rules += (("pattern", pattern),)
    return rules


def length_rules(schema: Schema, least: str, most: str) -> Rules:
    """`min_length` and `max_length`, from the two keys of the schema that say them."""
    limits = (("min_length", _number(schema, least)), ("max_length", _number(schema, most)))
    return tuple(
        (name, int(limit)) for name, limit in limits if limit is not None and 0 <= limit <= _LARGEST
    )


def is_exact(step: Number) -> bool:
    """Whether a step is the same number in decimal and in binary, so that remainders are exact."""
    return Fraction(str(step)) == Fraction(step)


def _number(schema: Schema, key: str) -> Number | None:
    value = schema.get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _is_read(pattern: str) -> bool:
    """Whether Python reads a pattern, and without a doubt: JSON Schema has those of JavaScript."""
    if len(pattern) > _LONGEST_PATTERN:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(pattern)
    except (re.error, Warning, RecursionError, OverflowError):
        return False
    return True
