"""Which arrows lead up: few of them, and none that a box needs to be reached from the first one."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Final

from stateous.compiler.drawing.library import cheapest_ways

Arrow = tuple[int, int]

# What an arrow weighs that leads up. One that is needed weighs more than all others together.
_BACKWARDS: Final = 1
_FORWARDS: Final = 3
_NEEDED: Final = 1_000_000
_DETOUR: Final = 1_000  # steps that are taken rather than one to an earlier box


def order_of(count: int, arrows: Mapping[Arrow, int]) -> list[int]:
    """The boxes in an order that most arrows follow; those that do not are to lead up.

    `arrows` tells how often each pair of different boxes is joined. Box 0 is the first of all, and every
    box that can be reached from it is reached by arrows that follow the order. Among equals, the order of
    the boxes' numbers is kept: in it a person has written them.
    """
    needed = _needed(count, arrows)
    weights = {
        (source, target): times * (_FORWARDS if source < target else _BACKWARDS)
        + _NEEDED * ((source, target) in needed)
        for (source, target), times in arrows.items()
    }
    return _improved(_begun(count, needed), weights)


def _needed(count: int, arrows: Mapping[Arrow, int]) -> frozenset[Arrow]:
    """The arrows of one way from box 0 to each box: with few steps to earlier boxes, then with few steps."""
    pairs = list(arrows)
    costs = [1 if source < target else _DETOUR for source, target in pairs]
    ways = cheapest_ways(count, pairs, costs)
    return frozenset(pairs[at] for way in ways for at in way)


def _begun(count: int, needed: frozenset[Arrow]) -> list[int]:
    """The boxes by number, but each after the one that it is reached from."""
    after: list[list[int]] = [[] for _ in range(count)]
    for source, target in needed:
        after[source].append(target)
    waiting = {target for _, target in needed}
    ready = [box for box in range(count) if box not in waiting]
    order: list[int] = []
    while ready:
        box = heapq.heappop(ready)
        order.append(box)
        for target in after[box]:
            heapq.heappush(ready, target)
    return order


def _improved(order: list[int], weights: Mapping[Arrow, int]) -> list[int]:
    """Move single boxes to where the arrows against the order weigh least, until no move helps."""
    leaves: list[dict[int, int]] = [{} for _ in order]
    enters: list[dict[int, int]] = [{} for _ in order]
    for (source, target), weight in weights.items():
        leaves[source][target] = enters[target][source] = weight
    moved = True
    while moved:
        moved = False
        for box in order:
            now = order.index(box)
            others = order[:now] + order[now + 1 :]
            costs = _costs(others, leaves[box], enters[box])
            place = min(range(len(costs)), key=lambda at: (costs[at], abs(at - now), at))
            if costs[place] < costs[now]:
                order = [*others[:place], box, *others[place:]]
                moved = True
    return order


def _costs(
    others: Sequence[int], leaves: Mapping[int, int], enters: Mapping[int, int]
) -> list[int]:
    """What a box's arrows against the order weigh when it stands before each of the others, or last."""
    costs = [sum(enters.values())]
    for other in others:
        costs.append(costs[-1] + leaves.get(other, 0) - enters.get(other, 0))
    return costs
