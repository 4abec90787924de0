"""Where the cells of each layer stand, left to right: lines that pass are straight, and nothing overlaps.

Four times, once from each corner, cells are lined up with the middle of their neighbours on the layer
before, and all that is lined up is pushed together; the middle of the four is taken. (The method is that
of U. Brandes and B. Köpf, 2001; here cells have widths of their own.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from stateous.compiler.drawing.grid import Cell, Grid
from stateous.compiler.drawing.pushing import Apart, pushed

Rows = Sequence[Sequence[int]]

_BETWEEN_LINES: Final = 14.0  # pixels
_BETWEEN_OTHERS: Final = 16.0


def columns_of(grid: Grid, rows: Rows) -> list[float]:
    """The middle of each cell, in pixels from anywhere."""
    above: list[list[int]] = [[] for _ in grid.cells]
    below: list[list[int]] = [[] for _ in grid.cells]
    for upper, lower in grid.links:
        below[upper].append(lower)
        above[lower].append(upper)
    found: list[list[float]] = []
    for before, ordered in ((above, rows), (below, rows[::-1])):
        for mirrored in (False, True):
            facing = [row[::-1] for row in ordered] if mirrored else ordered
            blocks = _lined_up(grid.cells, facing, before)
            lefts = pushed(blocks, _distances(grid.cells, rows, blocks), mirrored=mirrored)
            found.append(lefts)
    return _middle(grid.cells, found)


def _middle(cells: Sequence[Cell], found: Sequence[Sequence[float]]) -> list[float]:
    """The middle of four drawings, laid over each other so that they share an edge with the narrowest."""
    spans = [
        (
            min(x - cell.size.left for x, cell in zip(xs, cells, strict=True)),
            max(x + cell.size.right for x, cell in zip(xs, cells, strict=True)),
        )
        for xs in found
    ]
    left, right = min(spans, key=lambda span: span[1] - span[0])
    shifts = [right - span[1] if at % 2 else left - span[0] for at, span in enumerate(spans)]
    columns: list[float] = []
    for places in zip(*found, strict=True):
        _, low, high, _ = sorted(x + shift for x, shift in zip(places, shifts, strict=True))
        columns.append((low + high) / 2)
    return columns


def _lined_up(cells: Sequence[Cell], rows: Rows, before: Sequence[Sequence[int]]) -> list[int]:
    """The block of each cell: all cells of a block stand in one line. A block is named by a cell of it."""
    place = {cell: at for row in rows for at, cell in enumerate(row)}
    blocks = list(range(len(cells)))
    for row in rows:
        barred = _barred(cells, row, before, place)
        reached = -1
        for cell in row:
            near = sorted(before[cell], key=place.__getitem__)
            near = [other for other in near if _is_trunk(cells, cell, other)] or near
            for at in dict.fromkeys(((len(near) - 1) // 2, len(near) // 2)) if near else ():
                other = near[at]
                if place[other] > reached and (other, cell) not in barred:
                    blocks[cell] = blocks[other]
                    reached = place[other]
                    break
    return blocks


def _barred(
    cells: Sequence[Cell],
    row: Sequence[int],
    before: Sequence[Sequence[int]],
    place: Mapping[int, int],
) -> set[tuple[int, int]]:
    """The links to the layer before that would bend a trunk if their ends stood in one line."""
    trunks = [
        (place[other], at)
        for at, cell in enumerate(row)
        for other in before[cell]
        if _is_trunk(cells, cell, other)
    ]
    return {
        (other, cell)
        for at, cell in enumerate(row)
        for other in before[cell]
        if not _is_trunk(cells, cell, other)
        and any(place[other] == one or (place[other] < one) != (at < two) for one, two in trunks)
    }


def _is_trunk(cells: Sequence[Cell], one: int, two: int) -> bool:
    return cells[one].trunk is not None and cells[one].trunk == cells[two].trunk


def _distances(cells: Sequence[Cell], rows: Rows, blocks: Sequence[int]) -> Apart:
    """How far blocks that stand beside each other must be apart."""
    apart: Apart = {}
    for row in rows:
        for one, two in pairwise(row):
            pair = (blocks[one], blocks[two])
            apart[pair] = max(apart.get(pair, 0.0), _distance(cells[one], cells[two]))
    return apart


def _distance(one: Cell, two: Cell) -> float:
    lines = one.trunk is not None and two.trunk is not None
    return one.size.right + two.size.left + (_BETWEEN_LINES if lines else _BETWEEN_OTHERS)
