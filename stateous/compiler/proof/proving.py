"""Proving: whether two guards can both hold, whether one always does, and whether each ever does.

Cases are tried with the real guards first. What they do not show is asked of a solver, whose "no" is a proof:
its script can be made true in at least all the cases that there are. Its "yes" counts when the case that it
chose makes the real guards true, and fits the models.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from itertools import combinations
from typing import TYPE_CHECKING, Final

from stateous.compiler.proof.evidence import Evidence
from stateous.compiler.proof.findings import Findings
from stateous.compiler.proof.limits import Limits
from stateous.compiler.proof.rivals import Rivals
from stateous.compiler.proof.script import TooLong
from stateous.compiler.proof.slots import Slots, slots_of
from stateous.compiler.proof.telling import Unanswered, findings_of
from stateous.compiler.proof.trying import Trials

if TYPE_CHECKING:
    from stateous.compiler.proof.solving import Memory

_MOST_TRIED: Final = 80
_MOST_OF_ALL: Final = 300
"""Cases that are tried in place of a proof, when there are no others."""


def prove(
    rivals: Iterable[Rivals],
    *,
    within: float = 2.0,
    altogether: float = 60.0,
    clock: Callable[[], float] = time.monotonic,
) -> Findings:
    """Return what is to be said of the guards of each group of rivals.

    A question that is not answered within so many seconds is undecided, and so is what is left to be asked
    when `altogether` seconds have passed. Of one group at most 50 overlaps are told.
    """
    limits = Limits(clock, within, clock() + altogether)
    asked = _Asked(limits)
    found = [_findings(each, limits, asked) for each in rivals]
    return Findings(
        overlaps=tuple(it for each in found for it in each.overlaps),
        gaps=tuple(it for each in found for it in each.gaps),
        nevers=tuple(it for each in found for it in each.nevers),
        undecided=tuple(it for each in found for it in each.undecided),
    )


def _findings(rivals: Rivals, limits: Limits, asked: _Asked) -> Findings:
    evidence = Evidence(rivals)
    slots = slots_of((guard.tree for guard in evidence.guards), rivals.reading)
    trials = Trials(slots)
    until = limits.for_a_question()
    was_cut = False
    are_all = trials.are_all(_MOST_OF_ALL)
    most = _MOST_OF_ALL if are_all else _MOST_TRIED + 5 * max(0, len(evidence.guards) - 20)
    for case in trials.first(most):
        was_cut = limits.clock() > until
        if was_cut or (evidence.look(case) and evidence.is_complete()):
            break
    every = range(len(evidence.guards))
    if evidence.is_complete():
        left = Unanswered()
    elif are_all and not (was_cut or evidence.in_doubt):
        left = Unanswered(nevers=[guard for guard in every if guard not in evidence.holds])
    else:
        left = asked.unanswered(rivals, slots, trials, evidence)
    return findings_of(rivals, evidence, left, trials, limits)


class _Asked:
    """Asks a solver, which is loaded only when there is a question."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._memory: Memory | None = None

    def unanswered(
        self, rivals: Rivals, slots: Slots, trials: Trials, evidence: Evidence
    ) -> Unanswered:
        from stateous.compiler.proof.asking import Asking  # noqa: PLC0415
        from stateous.compiler.proof.solving import Memory  # noqa: PLC0415

        self._memory = self._memory or Memory()
        guards = range(len(evidence.guards))
        try:
            asking = Asking(
                rivals, slots, trials, evidence, limits=self._limits, memory=self._memory
            )
        except TooLong:
            pairs = [pair for pair in combinations(guards, 2) if pair not in evidence.pairs]
            return Unanswered(pairs=pairs, gap=evidence.can_fall_through and evidence.gap is None)
        unseen = [guard for guard in guards if guard not in evidence.holds]
        nevers = [guard for guard in unseen if asking.can_hold(guard) == "no"]
        pairs = asking.undecided_pairs([guard for guard in guards if guard not in nevers])
        is_open = evidence.can_fall_through and evidence.gap is None
        gap = is_open and asking.can_fall_through() == "unknown"
        return Unanswered(nevers=nevers, pairs=pairs, gap=gap)
