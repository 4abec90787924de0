"""In which order the cells of each layer stand, left to right, so that few lines cross."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from stateous.compiler.drawing.grid import Grid
from stateous.compiler.drawing.library import untangled

_ROUNDS: Final = 8  # through all layers
_COMPARED: Final = 250_000  # pairs of cells; a second or two


def rows_of(grid: Grid) -> list[list[int]]:
    """The cells of each layer in order. The same grid always gives the same order."""
    layers = [cell.layer for cell in grid.cells]
    found = untangled(layers, grid.links)
    rows: list[list[int]] = [[] for _ in range(max(layers, default=-1) + 1)]
    for cell, layer in enumerate(layers):
        rows[layer].append(cell)
    for row in rows:
        row.sort(key=lambda cell: (found[cell], cell))
    return _Moving(grid, rows).moved()


class _Moving:
    """Moves single cells within their rows while that makes fewer lines cross."""

    def __init__(self, grid: Grid, rows: list[list[int]]) -> None:
        self.rows = rows
        self.place = [0] * len(grid.cells)
        self.above: list[list[int]] = [[] for _ in grid.cells]
        self.below: list[list[int]] = [[] for _ in grid.cells]
        for upper, lower in grid.links:
            self.below[upper].append(lower)
            self.above[lower].append(upper)
        for row in rows:
            self._number(row)

    def moved(self) -> list[list[int]]:
        pairs = sum(len(row) ** 2 for row in self.rows)
        for at in range(min(_ROUNDS, 1 + _COMPARED // max(1, pairs))):
            rows = self.rows if at % 2 == 0 else self.rows[::-1]
            if not sum(self._moves_in(row) for row in rows):
                break
        return self.rows

    def _number(self, row: Sequence[int]) -> None:
        for at, cell in enumerate(row):
            self.place[cell] = at

    def _moves_in(self, row: list[int]) -> bool:
        """Whether a cell of the row was moved."""
        above = {cell: sorted(self.place[other] for other in self.above[cell]) for cell in row}
        below = {cell: sorted(self.place[other] for other in self.below[cell]) for cell in row}
        moved = False
        for cell in list(row):
            mine = (above[cell], below[cell])
            now = row.index(cell)
            others = row[:now] + row[now + 1 :]
            gains = [0]
            for other in others:
                theirs = (above[other], below[other])
                gains.append(gains[-1] + _crossings(theirs, mine) - _crossings(mine, theirs))
            place = min(range(len(gains)), key=lambda at: (gains[at], abs(at - now), at))
            if gains[place] < gains[now]:
                others.insert(place, cell)
                row[:] = others
                moved = True
        self._number(row)
        return moved


def _crossings(one: Iterable[Sequence[int]], two: Iterable[Sequence[int]]) -> int:
    """How many lines of two cells cross when the first one stands left of the second one."""
    return sum(
        left > right
        for lefts, rights in zip(one, two, strict=True)
        for left in lefts
        for right in rights
    )
