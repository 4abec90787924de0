"""The grid of a drawing: layers of boxes and, between them, layers of labels; lines pass from each to the next.

Lines of one tone to one box that come from the same side share their cells as soon as they are past their
labels: they run together like the branches of a tree, and many ways to one place stay one line.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec


class Size(msgspec.Struct, frozen=True):
    """How far something reaches from its middle to the left and to the right, and how high it is."""

    left: float
    right: float
    height: float


class Line(msgspec.Struct, frozen=True):
    """From a box to another one. One without a target ends at its label, which is a note."""

    source: int
    target: int | None
    label: Size | None
    tone: str


class Cell(msgspec.Struct, frozen=True):
    """What stands on a layer. `trunk` is set where a line only passes: those of one trunk are one line.

    A trunk is known by the box that it leads to, whether it leads up, and its tone.
    """

    layer: int
    size: Size
    trunk: tuple[int, bool, str] | None = None


class Grid(msgspec.Struct, frozen=True):
    """The cells, the boxes first. `links` are pairs of cells, the upper one first, on neighbouring layers.

    `routes` has the cells of each line in its direction, `labels` which of them is its label.
    """

    cells: list[Cell]
    links: list[tuple[int, int]]
    routes: list[list[int]]
    labels: list[int | None]


PASSING = Size(0.0, 0.0, 0.0)


def grid_of(boxes: Sequence[Size], lines: Sequence[Line], layers: Sequence[int]) -> Grid:
    """Return the grid. Boxes stand on even layers; a label stands next to where its line begins."""
    cells = [Cell(2 * layer, size) for layer, size in zip(layers, boxes, strict=True)]
    trunks: dict[tuple[tuple[int, bool, str], int], int] = {}
    routes: list[list[int]] = []
    labels: list[int | None] = []

    def passing(trunk: tuple[int, bool, str], layer: int) -> int:
        if (trunk, layer) not in trunks:
            trunks[trunk, layer] = len(cells)
            cells.append(Cell(layer, PASSING, trunk))
        return trunks[trunk, layer]

    for line in lines:
        first = 2 * layers[line.source]
        last = first if line.target is None else 2 * layers[line.target]
        up = last < first
        step = -1 if up else 1
        route, label = [line.source], None
        if line.label is not None:
            label = len(cells)
            cells.append(Cell(first + step, line.label))
            route.append(label)
        labels.append(label)
        if line.target is not None:
            between = range(first + step * len(route), last, step)
            route += [passing((line.target, up, line.tone), layer) for layer in between]
            route.append(line.target)
        routes.append(route)
    links = {
        (one, two) if cells[one].layer < cells[two].layer else (two, one): None
        for route in routes
        for one, two in pairwise(route)
    }
    return Grid(cells=cells, links=list(links), routes=routes, labels=labels)
