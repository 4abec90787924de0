"""Evidence: the cases in which guards were seen to hold, two of them, or none."""

from __future__ import annotations

from itertools import combinations

from stateous.compiler.proof.cases import Case, scope_of, whole_scope
from stateous.compiler.proof.rivals import Rivals
from stateous.model.guards import Guard, Scope

Pair = tuple[int, int]
"""Two guards by their places, the smaller first."""

MOST_OVERLAPS = 50
"""More pairs than that of one state and event are not looked for: nobody would read them."""


class Evidence:
    """What cases have shown of the guards of some rivals.

    `holds` has a case for each guard that was seen to hold, `pairs` one for each two that did, `gap` one in
    which none did. Each is a case that can be: its objects fit their models.
    """

    def __init__(self, rivals: Rivals) -> None:
        self._rivals = rivals
        self.guards: list[Guard] = [it.guard for it in rivals.routes if it.guard is not None]
        self.can_fall_through = len(self.guards) == len(rivals.routes)
        self.holds: dict[int, Case] = {}
        self.pairs: dict[Pair, Case] = {}
        self.gap: Case | None = None
        self.in_doubt = False
        """Whether a case would have shown something new, but no object was found that fits its model."""

    def look(self, case: Case) -> bool:
        """Put a case to the guards; whether it shows something new."""
        holding = self._holding(scope_of(case, self._rivals))
        if not self._is_new(holding):
            return False
        whole = whole_scope(case, self._rivals)
        if whole is None or self._holding(whole) != holding:
            self.in_doubt = True
            return False
        if not holding and self.gap is None:
            self.gap = case
        for guard in holding:
            self.holds.setdefault(guard, case)
        for pair in combinations(holding, 2):
            if len(self.pairs) >= MOST_OVERLAPS:
                break
            self.pairs.setdefault(pair, case)
        return True

    def shown(self, case: Case, *, both: Pair | None) -> Scope | None:
        """The scope of a case that can be, in which both guards hold, or none of all if `both` is None.

        None when it is not such a case.
        """
        if not self._fits(scope_of(case, self._rivals), both):
            return None
        whole = whole_scope(case, self._rivals)
        return whole if whole is not None and self._fits(whole, both) else None

    def _fits(self, scope: Scope, both: Pair | None) -> bool:
        if both is None:
            return not self._holding(scope)
        return all(self.guards[guard].holds(scope) for guard in both)

    def is_complete(self) -> bool:
        """Whether there is nothing left to see."""
        number = len(self.guards)
        return (
            len(self.holds) == number
            and len(self.pairs) == min(number * (number - 1) // 2, MOST_OVERLAPS)
            and not (self.can_fall_through and self.gap is None)
        )

    def _holding(self, scope: Scope) -> list[int]:
        return [at for at, guard in enumerate(self.guards) if guard.holds(scope)]

    def _is_new(self, holding: list[int]) -> bool:
        if not holding:
            return self.can_fall_through and self.gap is None
        if any(guard not in self.holds for guard in holding):
            return True
        if len(holding) == 1 or len(self.pairs) >= MOST_OVERLAPS:
            return False
        return any(pair not in self.pairs for pair in combinations(holding, 2))
