"""Where lines touch the boxes that they join: each at a place of its own, as near to its way as there is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from stateous.compiler.drawing.grid import Grid, Size

_MARGIN: Final = 10.0  # pixels that a corner is kept free
_APART: Final = 14.0


def ports_of(
    grid: Grid, boxes: Sequence[Size], rows: Sequence[Sequence[int]], columns: Sequence[float]
) -> dict[tuple[int, int], float]:
    """The port of a box to a cell of the layer above or below: (box, cell) → x."""
    place = {cell: at for row in rows for at, cell in enumerate(row)}
    sides: dict[tuple[int, int], set[int]] = {}
    for route in grid.routes:
        for box, cell in ((route[0], route[1]), (route[-1], route[-2])):
            if box < len(boxes):
                sides.setdefault((box, grid.cells[cell].layer), set()).add(cell)
    ports: dict[tuple[int, int], float] = {}
    for (box, _), near in sides.items():
        cells = sorted(near, key=place.__getitem__)
        half = max(boxes[box].left - _MARGIN, 0.0)
        wishes = [columns[cell] for cell in cells]
        for cell, x in zip(
            cells, spread(wishes, columns[box] - half, columns[box] + half), strict=True
        ):
            ports[box, cell] = x
    return ports


def spread(wishes: Sequence[float], left: float, right: float) -> list[float]:
    """Places between `left` and `right` in the order of the wishes, near to them and apart from each other."""
    apart = min(_APART, (right - left) / max(1, len(wishes) - 1))
    places: list[float] = []
    for at, wish in enumerate(wishes):
        low = left if not places else places[-1] + apart
        high = right - apart * (len(wishes) - 1 - at)
        places.append(min(max(wish, low), high))
    return places
