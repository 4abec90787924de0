"""The words of SVG: elements, numbers, and text that can break none of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from stateous.compiler.drawing.arranging import Drawn
from stateous.compiler.drawing.blocks import FONTS, Block
from stateous.compiler.drawing.paths import curved

ARROWS: Final = ("plain", "back", "clash", "never", "runs")
"""The tones of lines that end in an arrow."""

_LETTERS_STAND_AT: Final = 0.72  # of a line's height


def element(name: str, *inside: str, **attributes: str | float) -> str:
    """One element; numbers are pixels. `class_` is `class`, `text_anchor` is `text-anchor`, and so on."""
    given = [
        f" {key.rstrip('_').replace('_', '-')}={quoteattr(_attribute(value))}"
        for key, value in attributes.items()
    ]
    begin = "".join([f"<{name}", *given])
    return f"{begin}>{''.join(inside)}</{name}>" if inside else f"{begin}/>"


def lines_of(parts: Iterable[str]) -> str:
    """Elements with each on a line of its own."""
    return "".join(["\n", *(f"{part}\n" for part in parts)])


def number(value: float) -> str:
    """A length in pixels, to a tenth."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def tooltip(text: str) -> str:
    return element("title", escape(text))


def tip(tone: str) -> str:
    """The tip of the arrows of a tone, to be defined once."""
    shape = {"viewBox": "0 0 9 8", "refX": "8", "refY": "4", "orient": "auto"}
    size = {"markerWidth": "9", "markerHeight": "8", "markerUnits": "userSpaceOnUse"}
    drawn = element("path", class_=f"tip {tone}", d="M0 0L9 4L0 8z")
    return element("marker", drawn, id=_tip_name(tone), **shape, **size)


def line(path: str, tone: str, *, arrow: bool = True) -> str:
    """A line along a path."""
    end = {"marker_end": f"url(#{_tip_name(tone)})"} if arrow else {}
    return element("path", class_=f"line {tone}", d=path, **end)


def drawn_line(drawn: Drawn, tone: str, whole: str) -> str:
    """A line with its tooltip."""
    paths = [curved(piece) for piece in drawn.pieces]
    ends = len(paths) - 1
    pieces = [
        line(path, tone, arrow=at == ends and tone in ARROWS) for at, path in enumerate(paths)
    ]
    return element("g", tooltip(whole), *pieces)


def text(block: Block, x: float, top: float, *, anchor: str) -> str:
    """The lines of a block below each other, with the whole as a tooltip. `x` is where their `anchor` is."""
    lines: list[str] = []
    for words in block.lines:
        y = top + FONTS[words.style].height * _LETTERS_STAND_AT
        lines.append(
            element("text", escape(words.text), class_=words.style, x=x, y=y, text_anchor=anchor)
        )
        top += words.height
    return element("g", tooltip(block.whole), *lines)


def _attribute(value: str | float) -> str:
    return value if isinstance(value, str) else number(value)


def _tip_name(tone: str) -> str:
    return f"stateous-{tone}"
