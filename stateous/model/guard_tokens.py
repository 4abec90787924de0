"""The words of a guard: a text cut into tokens, and the literals that tokens spell as Python does."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Final, NamedTuple

from stateous.model.refusals import StateousError

_SHOWN: Final = 120
_SHOWN_TOKEN: Final = 40

_PATTERN: Final = re.compile(
    r"""
    (?P<space>[ \t\r\n\f]+)
    | (?P<string>[rRuU]?(?:'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\"
        |'(?!'')(?:[^'\\\n]|\\.)*'|"(?!"")(?:[^"\\\n]|\\.)*"))
    | (?P<number>0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+
        |(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9][0-9_]*)?)
    | (?P<name>[^\W\d]\w*)
    | (?P<sign><=|>=|==|!=|<|>|[()\[\].,-])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|N\{([^}]+)\}|(.))",
    re.DOTALL,
)
_ESCAPES: Final = {
    "\n": "", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r",
    "t": "\t", "v": "\v",
}  # fmt: skip


class GuardError(StateousError):
    """A guard does not parse."""


class Token(NamedTuple):
    """One word of a guard; `kind` is `string`, `number`, `name`, `sign` or `end`."""

    kind: str
    text: str
    at: int

    def shown(self) -> str:
        return "its end" if self.kind == "end" else clipped(repr(self.text), _SHOWN_TOKEN)


def cut(text: str) -> list[Token]:
    """Return the tokens of a guard, closed by one of kind `end`. Raises GuardError."""
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        found = _PATTERN.match(text, at)
        if found is None:
            problem = "a string has no end" if text[at] in "'\"" else f"{text[at]!r} is unknown"
            raise mistake(text, problem, at=at)
        kind = found.lastgroup or ""
        if kind != "space":
            tokens.append(Token(kind, found.group(), at))
        at = found.end()
        if kind == "number" and at < len(text) and (text[at].isalnum() or text[at] in "._"):
            raise mistake(text, "a number ends in something that is no digit", at=at)
    tokens.append(Token("end", "", len(text)))
    return tokens


def mistake(text: str, problem: str, *, at: int) -> GuardError:
    """Return the error that tells what is wrong with a guard, and at which column."""
    guard = clipped(repr(text), _SHOWN)
    return GuardError(f"the guard {guard} does not parse: {problem} (column {at + 1})")


def number_of(token: Token) -> int | float | None:
    """The number that a token spells; None when it spells none, or none that JSON can hold."""
    try:
        if token.text[:2].lower() in ("0x", "0o", "0b") or not set(token.text) & set(".eE"):
            return int(token.text, 0)
        value = float(token.text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def string_of(token: Token) -> str | None:
    """The string that a token spells; None when an escape in it names no character."""
    text = token.text.lstrip("rRuU")
    width = 3 if text[:3] in ("'''", '"""') else 1
    inner = text[width:-width]
    if token.text[0] in "rR":
        return inner
    try:
        return _ESCAPE.sub(_unescaped, inner)
    except (ValueError, KeyError):
        return None


def _unescaped(found: re.Match[str]) -> str:
    """Raises ValueError or KeyError when the escape names no character."""
    octal, two, four, eight, name, one = found.groups()
    if octal:
        return chr(int(octal, 8))
    if two or four or eight:
        return chr(int(two or four or eight, 16))
    if name:
        return unicodedata.lookup(name)
    if one in ("x", "u", "U", "N"):
        raise ValueError(one)
    return _ESCAPES.get(one, "\\" + one)


def clipped(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}…"
