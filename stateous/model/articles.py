"""A class's name with its article, for sentences: `an int`, `a list`."""

from __future__ import annotations

import re
from typing import Final

_WITH_AN: Final = re.compile(r"_*(?:[aio]|e(?!u)|u(?!u|s|ni|t|r))", re.IGNORECASE)


def a_kind_of(value: object) -> str:
    """What a value is, by the name of its class."""
    return with_article(type(value).__name__)


def with_article(name: str) -> str:
    """By how it is spoken, as far as the first letters tell: `an Order`, `a UUID`."""
    return f"an {name}" if _WITH_AN.match(name) else f"a {name}"
