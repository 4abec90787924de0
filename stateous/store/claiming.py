"""What the claims of a batch could take together, and what they took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from stateous.engine.changes import Changes
from stateous.engine.facts import ClaimAsk


def demand_of(asks: Sequence[ClaimAsk]) -> list[dict[str, Any]]:
    """How many tasks of each queue the claims could take together."""
    demand: Counter[str] = Counter()
    for ask in asks:
        for queue in set(ask.queues):
            demand[queue] += ask.max
    return [{"queue": queue, "demand": count} for queue, count in sorted(demand.items())]


def granted_by(changes: Changes) -> set[int]:
    """The tasks that the claims took."""
    return {task.id for task in changes.tasks if task.status == "claimed"}


def supervisors_of(asks: Sequence[ClaimAsk]) -> list[str]:
    """The supervisors whose last claim with a request id is to be looked up."""
    return sorted({ask.supervisor for ask in asks if ask.supervisor is not None})
