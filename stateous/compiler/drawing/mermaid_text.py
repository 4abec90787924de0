"""What Mermaid reads safely: labels in which no character means anything, and names of nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

BREAK: Final = "<br/>"
_INSIDE: Final = frozenset(" .,'()[]=!-/?")
_LAST: Final = frozenset(".,')]")
_NAMED: Final = {"<": "lt", ">": "gt", "&": "amp", '"': "quot"}
_LISTED: Final = re.compile(r"[0-9]+[.)]")
_NO_NAME: Final = re.compile(r"[^A-Za-z0-9]+")


def label_of(lines: Iterable[str]) -> str:
    """A quoted label of these lines, none of which holds a line break.

    What Mermaid could read as Markdown, HTML, an icon, a directive or the end of the label is written as
    the number of its character, such as `#35;`. Letters of any script stay as they are.
    """
    return f'"{BREAK.join(map(escaped, lines))}"'


def escaped(text: str) -> str:
    """One line as it stands in a label."""
    listed = _LISTED.match(text)
    dot = listed.end() - 1 if listed else -1
    return "".join(
        char if at != dot and _is_plain(text, at) else _code(char) for at, char in enumerate(text)
    )


def _is_plain(text: str, at: int) -> bool:
    """Whether a character means nothing where it stands."""
    char, before, after = text[at], text[:at], text[at + 1 :]
    if char.isalnum():
        return True
    if not before or not after:
        return bool(before) and char in _LAST
    match char:
        case "_":  # at the edge of a word it emphasises
            return before[-1].isalnum() and after[0].isalnum()
        case ":":  # in an address, or in the name of an icon
            return after[0] == " "
        case "(":  # where a link goes
            return before[-1] != "]"
        case ".":  # in an address
            return not before.lower().endswith("www")
        case _:
            return char in _INSIDE


def _code(char: str) -> str:
    return f"#{_NAMED.get(char) or ord(char)};"


class NodeNames:
    """Names for nodes, of letters, digits and `_`, each given once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def new(self, *parts: str) -> str:
        """A name that reads like the parts; the same calls in the same order give the same names."""
        name = wished = "_".join(_NO_NAME.sub("_", part) for part in parts)
        number = 1
        while name in self._taken:
            number += 1
            name = f"{wished}_{number}"
        self._taken.add(name)
        return name
