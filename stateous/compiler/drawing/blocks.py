"""Blocks of text: what an SVG writes into boxes and beside lines, measured."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from stateous.compiler.drawing.measuring import text_width

Style = Literal["title", "name", "mark", "event", "guard", "detail", "fail", "note"]


class Font(msgspec.Struct, frozen=True):
    """How a style is set; all numbers are pixels."""

    size: float
    height: float
    mono: bool = False
    bold: bool = False


FONTS: Final[dict[Style, Font]] = {
    "title": Font(15, 22, bold=True),
    "name": Font(13, 18, bold=True),
    "mark": Font(10, 14, bold=True),
    "event": Font(11, 14),
    "guard": Font(10, 13, mono=True),
    "detail": Font(10, 13),
    "fail": Font(10, 13),
    "note": Font(10, 13),
}


class Words(msgspec.Struct, frozen=True):
    """One line of text."""

    text: str
    style: Style

    @property
    def width(self) -> float:
        font = FONTS[self.style]
        return text_width(self.text, font.size, mono=font.mono, bold=font.bold)

    @property
    def height(self) -> float:
        return FONTS[self.style].height


class Block(msgspec.Struct, frozen=True):
    """Lines below each other, and the whole of what they may have cut."""

    lines: tuple[Words, ...]
    whole: str

    @property
    def width(self) -> float:
        return max((line.width for line in self.lines), default=0.0)

    @property
    def height(self) -> float:
        return sum(line.height for line in self.lines)
