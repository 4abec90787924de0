"""A workflow's drawing without its text: where boxes and labels are, and how lines lead round them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from stateous.compiler.drawing.columns import columns_of
from stateous.compiler.drawing.grid import Grid, Line, Size, grid_of
from stateous.compiler.drawing.layers import layers_of
from stateous.compiler.drawing.order import rows_of
from stateous.compiler.drawing.ports import ports_of

Point = tuple[float, float]

_GAP: Final = 10.0  # pixels between two layers
_NO_GAP: Final = 3.0  # beside a layer that lines only pass
_SLOPE: Final = 0.06  # of the longest way to the side that a line has between two layers, more
_WIDEST_GAP: Final = 44.0
_ARROW: Final = 11.0  # above and below a box, where lines are straight


class Run(msgspec.Struct, frozen=True):
    """How a line passes a layer: straight at `x` from `begin` to `end`. Between runs it is a curve."""

    x: float
    begin: float
    end: float


class Drawn(msgspec.Struct, frozen=True):
    """A line in its direction, in one piece or in two: what is before its label and what is behind it."""

    pieces: tuple[tuple[Run, ...], ...]


class Arrangement(msgspec.Struct, frozen=True):
    """The middles of boxes, of labels (None where a line has none), and the lines.

    `right` and `bottom` are how far all of it reaches.
    """

    boxes: list[Point]
    labels: list[Point | None]
    lines: list[Drawn]
    right: float
    bottom: float


def arrange(
    boxes: Sequence[Size], lines: Sequence[Line], *, lowest: Sequence[int], origin: Point
) -> Arrangement:
    """Return where everything goes, right of and below `origin`.

    The first box is where the workflow begins; the boxes `lowest` stand below all others. The same input
    always gives the same answer.
    """
    arrows = [(line.source, line.target) for line in lines if line.target is not None]
    layers = layers_of(len(boxes), arrows)
    bottom = max((layer for box, layer in enumerate(layers) if box not in lowest), default=0) + 1
    layers = [bottom if box in lowest else layer for box, layer in enumerate(layers)]
    roomy = [
        box if number in lowest else Size(box.left, box.right, box.height + 2 * _ARROW)
        for number, box in enumerate(boxes)
    ]
    grid = grid_of(roomy, lines, layers)
    rows = rows_of(grid)
    columns = _from(origin[0], grid, columns_of(grid, rows))
    bands = _bands(grid, rows, columns, top=origin[1])
    ports = ports_of(grid, boxes, rows, columns)
    middles = [(x, sum(bands[cell.layer]) / 2) for x, cell in zip(columns, grid.cells, strict=True)]
    return Arrangement(
        boxes=middles[: len(boxes)],
        labels=[None if label is None else middles[label] for label in grid.labels],
        lines=[
            _drawn(grid, route, label, boxes, bands, middles, ports)
            for route, label in zip(grid.routes, grid.labels, strict=True)
        ],
        right=max(x + cell.size.right for x, cell in zip(columns, grid.cells, strict=True)),
        bottom=bands[-1][1],
    )


def _from(left: float, grid: Grid, columns: Sequence[float]) -> list[float]:
    """The columns, moved so that nothing reaches further to the left."""
    now = min(x - cell.size.left for x, cell in zip(columns, grid.cells, strict=True))
    return [x + left - now for x in columns]


def _bands(
    grid: Grid, rows: Sequence[Sequence[int]], columns: Sequence[float], *, top: float
) -> list[tuple[float, float]]:
    """The top and the bottom of each layer."""
    sideways = [0.0] * len(rows)
    for upper, lower in grid.links:
        layer = grid.cells[upper].layer
        sideways[layer] = max(sideways[layer], abs(columns[upper] - columns[lower]))
    heights = [max((grid.cells[cell].size.height for cell in row), default=0.0) for row in rows]
    bands: list[tuple[float, float]] = []
    for height, below, aside in zip(heights, [*heights[1:], 0.0], sideways, strict=True):
        bands.append((top, top + height))
        least = _GAP if height and below else _NO_GAP
        top += height + min(least + _SLOPE * aside, _WIDEST_GAP)
    return bands


def _drawn(
    grid: Grid,
    route: Sequence[int],
    label: int | None,
    boxes: Sequence[Size],
    bands: Sequence[tuple[float, float]],
    middles: Sequence[Point],
    ports: Mapping[tuple[int, int], float],
) -> Drawn:
    up = grid.cells[route[1]].layer < grid.cells[route[0]].layer
    pieces: list[tuple[Run, ...]] = []
    runs: list[Run] = []
    for at, cell in enumerate(route):
        x, middle = middles[cell]
        top, bottom = bands[grid.cells[cell].layer]
        enter, leave = (bottom, top) if up else (top, bottom)
        if cell == label:
            half = grid.cells[cell].size.height / (-2 if up else 2)
            pieces.append((*runs, Run(x, enter, middle - half)))
            runs = [Run(x, middle + half, leave)]
        elif at == 0:
            half = boxes[cell].height / (-2 if up else 2)
            runs.append(Run(ports[cell, route[1]], middle + half, leave))
        elif at == len(route) - 1:
            half = boxes[cell].height / (-2 if up else 2)
            runs.append(Run(ports[cell, route[-2]], enter, middle - half))
        else:
            runs.append(Run(x, enter, leave))
    if route[-1] != label:
        pieces.append(tuple(runs))
    return Drawn(tuple(pieces))
