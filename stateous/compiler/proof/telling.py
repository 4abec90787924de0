"""Telling: from what was seen and proved to findings, each with the smallest case."""

from __future__ import annotations

from typing import Final

import msgspec

from stateous.compiler.proof.cases import Case, scope_of, whole_scope
from stateous.compiler.proof.evidence import MOST_OVERLAPS, Evidence, Pair
from stateous.compiler.proof.findings import Findings, Gap, Guarded, Never, Overlap, Undecided
from stateous.compiler.proof.limits import Limits
from stateous.compiler.proof.rivals import Rivals
from stateous.compiler.proof.spelling import spelt_case
from stateous.compiler.proof.trying import Trials
from stateous.model.guards import Scope

_MOST_TRIED: Final = 200


class Unanswered(msgspec.Struct, frozen=True):
    """What no case shows: guards that never hold, and questions that stay open."""

    nevers: list[int] = []
    pairs: list[Pair] = []
    gap: bool = False


def findings_of(
    rivals: Rivals, evidence: Evidence, left: Unanswered, trials: Trials, limits: Limits
) -> Findings:
    """Return what is to be said of the guards of some rivals."""
    workflow, source, on = rivals.workflow, rivals.source, rivals.on
    guarded = [Guarded(it.target, it.guard.text) for it in rivals.routes if it.guard is not None]
    telling = _Telling(rivals, evidence, trials, limits)
    overlaps: list[Overlap] = []
    for (one, other), case in sorted(evidence.pairs.items(), key=lambda it: it[0]):
        witness, scope = telling.told(case, (one, other))
        overlaps.append(
            Overlap(
                workflow=workflow,
                source=source,
                on=on,
                first=guarded[one],
                second=guarded[other],
                witness=witness,
                scope=scope,
            )
        )
    gaps: list[Gap] = []
    if evidence.gap is not None:
        witness, scope = telling.told(evidence.gap, None)
        gaps.append(Gap(workflow=workflow, source=source, on=on, witness=witness, scope=scope))
    asked = [(guarded[one], guarded[other]) for one, other in left.pairs[:MOST_OVERLAPS]]
    return Findings(
        overlaps=tuple(overlaps),
        gaps=tuple(gaps),
        nevers=tuple(
            Never(workflow=workflow, source=source, on=on, guard=guarded[guard])
            for guard in left.nevers
        ),
        undecided=tuple(
            Undecided(workflow=workflow, source=source, on=on, guards=guards)
            for guards in (*asked, *([()] if left.gap else []))
        ),
    )


class _Telling:
    def __init__(self, rivals: Rivals, evidence: Evidence, trials: Trials, limits: Limits) -> None:
        self._rivals = rivals
        self._evidence = evidence
        self._trials = trials
        self._limits = limits

    def told(self, case: Case, both: Pair | None) -> tuple[str, Scope]:
        """The smallest case like this one, in which both guards hold, or none of all: its words and scope."""
        until, clock = self._limits.for_a_question(), self._limits.clock

        def shows(tried: Case) -> bool:
            return clock() < until and self._evidence.shown(tried, both=both) is not None

        smallest = self._trials.smallest(case, shows, _MOST_TRIED)
        guards = self._evidence.guards
        trees = [guard.tree for at, guard in enumerate(guards) if both is None or at in both]
        witness = spelt_case(smallest, trees, names_branch=self._is_of_several())
        rivals = self._rivals
        return witness, whole_scope(smallest, rivals) or scope_of(smallest, rivals)

    def _is_of_several(self) -> bool:
        """Whether a branch can be that of one workflow or of another one."""
        branches = self._rivals.reading.branches
        return any(len({it.workflow for it in branch}) > 1 for branch in branches)
