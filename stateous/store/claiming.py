"""What the claims of a batch could take together, and what they took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from stateous.engine.changes import Changes
from stateous.engine.facts import ClaimAsk

SPARES = (100, 10_000, 1 << 40)
"""How many more ready tasks of a queue are looked at, in case that others hold its head; and when all of
those are busy, how many then, and at last."""


MOST_AT_ONCE = 32 * 1_048_576
"""Bytes of flows that the claims of a batch are granted together. What is over it is left for the next batch."""


def within_reach(sizes: Mapping[int, int]) -> list[int]:
    """Of these tasks those whose flows are not too much together, by id; the first one is among them in any case.

    Behind one that has no room there may be others that have: they do not wait for it.
    """
    found: list[int] = []
    rest = MOST_AT_ONCE
    for task in sorted(sizes):
        if not found or sizes[task] <= rest:
            found.append(task)
            rest -= sizes[task]
    return found


def looks_of(asks: Sequence[ClaimAsk]) -> list[dict[str, Any]]:
    """For each asked queue, how many of its tasks the claims could take at most, and one more.

    The one more tells whether something is left.
    """
    demand: Counter[str] = Counter()
    for ask in asks:
        for queue in set(ask.queues):
            demand[queue] += ask.max
    return [{"queue": queue, "demand": count + 1} for queue, count in sorted(demand.items())]


def demand_of(asks: Sequence[ClaimAsk], *, spare: int) -> list[dict[str, Any]]:
    """Which ready tasks to lock: of each set of queues that is asked together, its first `demand` by id.

    A set's demand counts every claim that could take one of its tasks, so that enough are left for the
    set's own. Mostly all supervisors ask for the same queues; then no task is locked that nobody can get.
    """
    sets: Counter[frozenset[str]] = Counter()
    for ask in asks:
        if ask.queues:
            sets[frozenset(ask.queues)] += ask.max
    rows: list[dict[str, Any]] = []
    for number, queues in enumerate(sorted(sets, key=sorted)):
        demand = sum(count for other, count in sets.items() if not queues.isdisjoint(other))
        rows.extend(
            {"place": number, "queue": queue, "demand": demand, "looked_at": demand + spare}
            for queue in sorted(queues)
        )
    return rows


def is_passed_over(
    demand: Sequence[dict[str, Any]],
    locked: Sequence[tuple[Any, ...]],
    looked: Mapping[int, str],
) -> bool:
    """Whether a set of queues got fewer tasks than it demands, though there are ready ones that it did not get.

    `locked` are rows that begin with a set's place and a task.
    """
    got = Counter(row[0] for row in locked)
    ids = {row[1] for row in locked}
    missed = {queue for task, queue in looked.items() if task not in ids}
    return any(got[row["place"]] < row["demand"] and row["queue"] in missed for row in demand)


def queues_left(looked: Mapping[int, str], changes: Changes) -> frozenset[str]:
    """The queues of the looked-at tasks that the claims did not take."""
    taken = {task.id for task in changes.tasks if task.status == "claimed"}
    return frozenset(queue for task, queue in looked.items() if task not in taken)


def supervisors_of(asks: Sequence[ClaimAsk]) -> list[str]:
    """The supervisors whose last claim with a request id is to be looked up."""
    return sorted({ask.supervisor for ask in asks if ask.supervisor is not None})
