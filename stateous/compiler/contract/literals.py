"""JSON values and texts as Python writes them."""

from __future__ import annotations

import math
import re
from typing import Final, cast

_SAFE_IN_DOCSTRING: Final = re.compile(r'[^"\\\n\r\x00-\x1f\x7f-\x9f\ud800-\udfff]+')

_LITERAL: Final = re.compile(r'"""[^"]*"""|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'')

_ROOT: Final = re.compile(r"(?<![\w.])[^\W\d]\w*\b(?!=)")
"""A name that is looked up, and no part of another one and no argument: `datetime` in `datetime.date`."""


def names_in(code: str) -> set[str]:
    """The names that Python looks up in a text of ours, and its keywords."""
    return set(_ROOT.findall(_LITERAL.sub("", code)))


def written_value(value: object) -> str:
    """A decoded JSON value as Python writes it, in ASCII and with double quotes where that is plain."""
    match value:
        case str():
            plain = ascii(value)
            return (
                f'"{plain[1:-1]}"'
                if plain[0] == "'" and '"' not in plain and "\\'" not in plain
                else plain
            )
        case list():
            return f"[{', '.join(written_value(item) for item in cast('list[object]', value))}]"
        case dict():
            items = cast("dict[str, object]", value).items()
            return (
                "{"
                + ", ".join(f"{written_value(key)}: {written_value(item)}" for key, item in items)
                + "}"
            )
        case float() if not math.isfinite(value):
            return "None"
        case _:
            return repr(value)


def docstring(text: str) -> str:
    """A text as the docstring of something: between three quotes when nothing in it speaks against that."""
    text = text.strip()
    return f'"""{text}"""' if _SAFE_IN_DOCSTRING.fullmatch(text) else written_value(text)
