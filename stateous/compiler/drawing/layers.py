"""On which layer each box stands: arrows lead down, except in circles, and none is longer than it must be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from stateous.compiler.drawing.turning import Arrow, order_of


def layers_of(count: int, arrows: Sequence[Arrow]) -> list[int]:
    """The layer of each of `count` boxes, from 0 at the top; box 0 is where everything begins.

    `arrows` are pairs of different boxes; no two that an arrow joins stand on one layer. The same input
    always gives the same answer.
    """
    order = order_of(count, Counter(arrows))
    place = {box: at for at, box in enumerate(order)}
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for source, target in arrows:
        upper, lower = (source, target) if place[source] < place[target] else (target, source)
        below[upper].append(lower)
        above[lower].append(upper)
    layers = [0] * count
    for box in order:
        layers[box] = max((layers[upper] + 1 for upper in above[box]), default=0)
    _shorten(order, layers, above, below)
    return layers


def _shorten(
    order: Sequence[int], layers: list[int], above: list[list[int]], below: list[list[int]]
) -> None:
    """Move boxes between the layers of their neighbours while that makes the arrows shorter.

    What nothing leads to stays at the top.
    """
    moved = True
    while moved:
        moved = False
        for box in reversed(order):
            if len(below[box]) > len(above[box]) > 0:
                lowest = min(layers[lower] for lower in below[box]) - 1
                moved |= lowest != layers[box]
                layers[box] = lowest
        for box in order:
            if len(above[box]) > len(below[box]):
                highest = max(layers[upper] for upper in above[box]) + 1
                moved |= highest != layers[box]
                layers[box] = highest
