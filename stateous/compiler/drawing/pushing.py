"""Blocks that stand beside each other, pushed together as far as their distances allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Apart = dict[tuple[int, int], float]
"""How far two blocks must be apart: (the left one, the right one) → pixels between their lines."""


def pushed(blocks: Sequence[int], apart: Apart, *, mirrored: bool) -> list[float]:
    """The place of each cell, given its block: as far left as it can be, or right when `mirrored`.

    Afterwards each block is moved back to where its next neighbour on the other side stands.
    """
    if mirrored:
        turned = {(right, left): distance for (left, right), distance in apart.items()}
        return [-x for x in pushed(blocks, turned, mirrored=False)]
    before: dict[int, dict[int, float]] = {block: {} for block in blocks}
    after: dict[int, dict[int, float]] = {block: {} for block in blocks}
    for (left, right), distance in apart.items():
        after[left][right] = before[right][left] = distance
    order = _sorted(before, after)
    places: dict[int, float] = {}
    for block in order:
        pushes = (places[other] + distance for other, distance in before[block].items())
        places[block] = max(pushes, default=0.0)
    for block in reversed(order):
        if after[block]:
            places[block] = min(
                places[other] - distance for other, distance in after[block].items()
            )
    return [places[block] for block in blocks]


def _sorted(
    before: Mapping[int, Mapping[int, float]], after: Mapping[int, Mapping[int, float]]
) -> list[int]:
    """The blocks, each after all that stand left of it."""
    waits = {block: len(others) for block, others in before.items()}
    ready = [block for block, others in waits.items() if not others]
    order: list[int] = []
    while ready:
        block = ready.pop()
        order.append(block)
        for other in after[block]:
            waits[other] -= 1
            if not waits[other]:
                ready.append(other)
    return order


def settled(wishes: Sequence[float], apart: Sequence[float]) -> list[float]:
    """Places in the order of the wishes and as near to them as can be, each so far `apart` from the next.

    What would be too near is moved as one, to the middle of what its members wish.
    """
    before = [0.0]
    for distance in apart:
        before.append(before[-1] + distance)
    groups: list[tuple[float, int]] = []  # the sum of what the members wish, and how many they are
    for wish, offset in zip(wishes, before, strict=False):
        total, count = wish - offset, 1
        while groups and groups[-1][0] / groups[-1][1] > total / count:
            more, others = groups.pop()
            total, count = total + more, count + others
        groups.append((total, count))
    middles = [total / count for total, count in groups for _ in range(count)]
    return [middle + offset for middle, offset in zip(middles, before, strict=False)]
