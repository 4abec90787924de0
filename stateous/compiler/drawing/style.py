"""The colours and fonts of the SVG, for a light and for a dark screen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from stateous.compiler.drawing.blocks import FONTS

SCOPE: Final = "stateous"
"""The class of the whole picture: in a page that holds it, its styles reach nothing else."""

_LIGHT: Final = {
    "paper": "#ffffff",
    "frame": "#f6f8fa",
    "edge": "#d0d7de",
    "box": "#ffffff",
    "text": "#1f2328",
    "soft": "#59636e",
    "back": "#0969da",
    "runs": "#8250df",
    "clash": "#cf222e",
    "never": "#afb8c1",
    "gap": "#9a6700",
    "note": "#fff8c5",
}
_DARK: Final = {
    "paper": "#0d1117",
    "frame": "#151b23",
    "edge": "#3d444d",
    "box": "#0d1117",
    "text": "#f0f6fc",
    "soft": "#9198a1",
    "back": "#4493f8",
    "runs": "#ab7df8",
    "clash": "#f85149",
    "never": "#656c76",
    "gap": "#d29922",
    "note": "#2a2412",
}
_TONES: Final = {
    "plain": "soft",
    "back": "back",
    "runs": "runs",
    "link": "runs",
    "clash": "clash",
    "never": "never",
    "tie": "gap",
}
_SANS: Final = '"Helvetica Neue", Arial, "Liberation Sans", "DejaVu Sans", sans-serif'
_MONO: Final = 'Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace'


def style_sheet() -> str:
    """The whole style sheet. What knows no dark screens shows a light picture."""
    return "\n".join(
        [
            *map(_rule, _fonts()),
            *map(_rule, _lines()),
            *map(_rule, _colours(_LIGHT)),
            "@media (prefers-color-scheme: dark) {",
            *map(_rule, _colours(_DARK)),
            "}",
        ]
    )


def _rule(rule: tuple[str, str]) -> str:
    selectors, declarations = rule
    scoped = ", ".join(f".{SCOPE} {selector}" for selector in selectors.split(", "))
    return f"{scoped} {{ {declarations} }}"


def _fonts() -> Iterator[tuple[str, str]]:
    yield "text", f"font-family: {_SANS};"
    for style, font in FONTS.items():
        bold = " font-weight: 600;" if font.bold else ""
        family = f" font-family: {_MONO};" if font.mono else ""
        yield f".{style}", f"font-size: {font.size:g}px;{bold}{family}"


def _lines() -> Iterator[tuple[str, str]]:
    yield ".line", "fill: none; stroke-width: 1.3;"
    yield ".line.clash", "stroke-width: 2; stroke-dasharray: 6 3;"
    yield ".line.never", "stroke-dasharray: 2 3;"
    yield ".line.runs, .line.link", "stroke-dasharray: 5 4;"
    yield ".line.tie", "stroke-dasharray: 1 3;"
    yield "g:hover > .line", "stroke-width: 3;"


def _colours(of: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield ".paper", f"fill: {of['paper']};"
    yield ".frame", f"fill: {of['frame']}; stroke: {of['edge']};"
    yield ".box", f"fill: {of['box']}; stroke: {of['soft']};"
    yield ".box.parallel", f"stroke: {of['runs']};"
    yield ".box.start, .box.end", f"fill: {of['text']}; stroke: {of['text']};"
    yield ".note-box.clash", f"fill: {of['note']}; stroke: {of['clash']};"
    yield ".note-box.gap", f"fill: {of['note']}; stroke: {of['gap']};"
    yield ".title, .name, .event, .note", f"fill: {of['text']};"
    yield ".guard, .detail", f"fill: {of['soft']};"
    yield ".mark", f"fill: {of['paper']};"
    yield ".fail", f"fill: {of['clash']};"
    yield ".clash > g > text", f"fill: {of['clash']};"
    yield ".never > g > text", f"fill: {of['never']};"
    for tone, colour in _TONES.items():
        yield f".line.{tone}", f"stroke: {of[colour]};"
        yield f".tip.{tone}", f"fill: {of[colour]};"
