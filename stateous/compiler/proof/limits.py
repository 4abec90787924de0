"""Limits: how long proofs may take."""

from __future__ import annotations

from collections.abc import Callable

import msgspec


class Limits(msgspec.Struct, frozen=True):
    """How many seconds a question may take, and until when all of them may be asked."""

    clock: Callable[[], float]
    within: float
    until: float

    def for_a_question(self) -> float:
        """When a question that begins now must be answered."""
        return min(self.clock() + self.within, self.until)
