"""The paths of lines, as SVG spells them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from stateous.compiler.drawing.arranging import Point, Run

_BEND: Final = 7.0  # pixels before and behind a corner


def curved(runs: Sequence[Run]) -> str:
    """Straight along each run, and in a bow from its end to the beginning of the next one."""
    path = [f"M{_spelt(runs[0].x, runs[0].begin)}L{_spelt(runs[0].x, runs[0].end)}"]
    for one, two in pairwise(runs):
        if one.x != two.x:
            y = (one.end + two.begin) / 2
            path.append(f"C{_spelt(one.x, y, two.x, y, two.x, two.begin)}")
        path.append(f"L{_spelt(two.x, two.end)}")
    return "".join(path)


def bent(corners: Sequence[Point]) -> str:
    """Straight from corner to corner, each of them rounded; all of it leads down or to a side."""
    path = [f"M{_spelt(*corners[0])}"]
    for before, corner, after in zip(corners, corners[1:], corners[2:], strict=False):
        path.append(f"L{_spelt(*_short_of(corner, before))}")
        path.append(f"Q{_spelt(*corner, *_short_of(corner, after))}")
    return "".join([*path, f"L{_spelt(*corners[-1])}"])


def bow(x: float, top: float, bottom: float, *, out: float) -> str:
    """From a point to one below it, in a bow to the right."""
    return f"M{_spelt(x, top)}C{_spelt(x + out, top, x + out, bottom, x, bottom)}"


def _short_of(corner: Point, other: Point) -> Point:
    """Where the way between two corners begins to bend."""
    (x, y), (to_x, to_y) = corner, other
    length = abs(to_x - x) + abs(to_y - y)
    part = min(_BEND, length / 2) / length if length else 0.0
    return (x + (to_x - x) * part, y + (to_y - y) * part)


def _spelt(*numbers: float) -> str:
    """Pixels, to a tenth."""
    return " ".join(f"{value:.1f}".removesuffix(".0") for value in numbers)
