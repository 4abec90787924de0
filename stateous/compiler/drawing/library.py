"""What igraph is asked, with types: it has none of its own. The same question always has the same answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import igraph  # pyright: ignore[reportMissingTypeStubs]

_SWEEPS: Final = 200

Pair = tuple[int, int]


def cheapest_ways(count: int, pairs: Sequence[Pair], costs: Sequence[int]) -> list[list[int]]:
    """For each vertex that can be reached from vertex 0: the cheapest way to it, as places in `pairs`."""
    graph = _graph(count, pairs)
    reached = graph.subcomponent(0, mode="out")
    return graph.get_shortest_paths(0, to=reached, weights=list(costs), output="epath")


def untangled(layers: Sequence[int], pairs: Sequence[Pair]) -> list[float]:
    """Where each vertex stands on its layer, left to right, so that few of the lines cross.

    `pairs` lead from a layer to the next one. The method is that of Sugiyama, Tagawa and Toda (1981).
    """
    found = _graph(len(layers), pairs).layout_sugiyama(layers=list(layers), maxiter=_SWEEPS)
    return [found[vertex][0] for vertex in range(len(layers))]


def _graph(count: int, pairs: Sequence[Pair]) -> Any:
    return igraph.Graph(n=count, edges=list(pairs), directed=True)
