"""How much room text takes. No font is asked: the widths are those of wide ones, so that others fit, too."""

from __future__ import annotations

import unicodedata
from typing import Final

_BOLD: Final = 1.08
_MONO: Final = 0.61
_WIDE: Final = 1.1  # of the size: what East Asian characters and pictures take

# Of the size; what is not named takes what `n` takes.
_WIDTHS: Final = {
    **dict.fromkeys("iljI.,:;'|!", 0.34),
    **dict.fromkeys(' ftr()[]{}/\\-"`', 0.42),
    **dict.fromkeys("mwMW@%…→&—", 1.0),
    **dict.fromkeys("ABCDEFGHJKLNOPQRSTUVXYZ+=<>~#^", 0.78),
}
_USUAL: Final = 0.64


def text_width(text: str, size: float, *, mono: bool = False, bold: bool = False) -> float:
    """About how wide a line of text is, in the unit of `size`; rather too much than too little."""
    width = sum(_mono(char) if mono else _sans(char) for char in text)
    return width * size * (_BOLD if bold and not mono else 1.0)


def _sans(char: str) -> float:
    return _WIDTHS.get(char) or _by_kind(char, _USUAL)


def _mono(char: str) -> float:
    return _by_kind(char, _MONO)


def _by_kind(char: str, usual: float) -> float:
    if char.isascii():
        return usual
    if unicodedata.combining(char):
        return 0.0
    return _WIDE if unicodedata.east_asian_width(char) in ("W", "F") else max(usual, 0.8)
