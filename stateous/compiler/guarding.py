"""What is wrong with guards: what they read, what they compare, and what is proved of them.

Guards that overlap are problems. One that never holds, an event that no guard takes, and a question without
an answer are warnings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from stateous.compiler.comparing import comparison_mistakes
from stateous.compiler.models import ModelSchemas
from stateous.compiler.problems import Problem, guard_shown
from stateous.compiler.proof.findings import (
    Findings,
    Gap,
    Guarded,
    Never,
    Overlap,
    Undecided,
)
from stateous.compiler.proof.proving import prove
from stateous.compiler.proof.rival_groups import rivals_of
from stateous.compiler.proof.rivals import Rivals
from stateous.compiler.reading import reading_mistakes
from stateous.compiler.resolving import LooseWay, Resolved, Way
from stateous.compiler.shape import are_alike

Place = tuple[str, str, str | None]
"""A workflow, a state, and an event: where ways are rivals."""

Ways = Mapping[Place, list[Way]]
Finding = Overlap | Gap | Never | Undecided


class Guarding(msgspec.Struct, frozen=True, kw_only=True):
    """What was found of all guards; problems and warnings stand behind the name of their workflow."""

    findings: Findings
    mistakes: tuple[tuple[str, Problem], ...]
    overlaps: tuple[tuple[str, Problem], ...]
    warnings: tuple[tuple[str, Problem], ...]
    nevers: tuple[tuple[str, Way], ...]
    """The ways whose guards never hold."""

    def mistakes_of(self, workflow: str) -> Iterator[Problem]:
        return (problem for whose, problem in self.mistakes if whose == workflow)

    def overlaps_of(self, workflow: str) -> Iterator[Problem]:
        return (problem for whose, problem in self.overlaps if whose == workflow)

    def nevers_of(self, workflow: str) -> list[Way]:
        return [way for whose, way in self.nevers if whose == workflow]

    def warnings_of(self, workflow: str) -> Iterator[Problem]:
        return (problem for whose, problem in self.warnings if whose == workflow)


def guarding_of(flows: Mapping[str, Resolved], models: ModelSchemas) -> Guarding:
    """Check and prove the guards of all workflows. What has a mistake is left out of the proof."""
    ways = _ways(flows)
    rivals = rivals_of(flows, models)
    mistakes = [
        (flow.name, way, mistake)
        for flow in flows.values()
        for way, mistake in reading_mistakes(flow, flows, models)
    ]
    mistakes.extend(_compared(rivals, ways))
    wrong = {way for _, way, _ in mistakes}
    findings = prove(_without(rivals, ways, wrong))
    findings = msgspec.structs.replace(
        findings,
        overlaps=tuple(each for each in findings.overlaps if not _is_told(each, ways)),
        gaps=tuple(each for each in findings.gaps if not _may_be_closed(each, ways, wrong, flows)),
    )
    warnings = (*findings.gaps, *findings.nevers, *findings.undecided)
    return Guarding(
        findings=findings,
        mistakes=tuple(
            (
                workflow,
                Problem(f"the guard {guard_shown(way.when)} of {way} {mistake}", (way.declared,)),
            )
            for workflow, way, mistake in mistakes
        ),
        overlaps=tuple(_problems(findings.overlaps, ways)),
        warnings=tuple(_problems(warnings, ways)),
        nevers=tuple(
            (never.workflow, way) for never in findings.nevers for way in _meant(never, ways)
        ),
    )


def _ways(flows: Mapping[str, Resolved]) -> Ways:
    ways: dict[Place, list[Way]] = {}
    for flow in flows.values():
        for way in flow.ways:
            ways.setdefault((flow.name, way.source, way.on), []).append(way)
    return ways


def _compared(rivals: Iterable[Rivals], ways: Ways) -> Iterator[tuple[str, Way, str]]:
    for group in rivals:
        for way in ways[group.workflow, group.source, group.on]:
            if way.guard is not None:
                domain_of = group.reading.domain_of
                for mistake in dict.fromkeys(comparison_mistakes(way.guard.tree, domain_of)):
                    yield group.workflow, way, mistake


def _without(rivals: Iterable[Rivals], ways: Ways, wrong: set[Way]) -> Iterator[Rivals]:
    """The rivals without the guards that have mistakes."""
    for group in rivals:
        here = ways[group.workflow, group.source, group.on]
        right = [route for route, way in zip(group.routes, here, strict=True) if way not in wrong]
        if any(route.guard is not None for route in right):
            yield msgspec.structs.replace(group, routes=tuple(right))


def _is_told(overlap: Overlap, ways: Ways) -> bool:
    """Whether the two guards are the same one, which is told as such."""
    first, second = _meant(overlap, ways)
    return are_alike(first, second)


def _may_be_closed(gap: Gap, ways: Ways, wrong: set[Way], flows: Mapping[str, Resolved]) -> bool:
    """Whether a transition that has a mistake could take what now falls through."""
    if any(way in wrong for way in ways[gap.workflow, gap.source, gap.on]):
        return True
    return any(_could_be(way, gap) for way in flows[gap.workflow].loose)


def _could_be(way: LooseWay, gap: Gap) -> bool:
    return way.source in (None, gap.source) and way.on in (None, gap.on)


def _problems(findings: Iterable[Finding], ways: Ways) -> Iterator[tuple[str, Problem]]:
    for finding in findings:
        at = tuple(way.declared for way in _meant(finding, ways))
        yield finding.workflow, Problem(finding.sentence(), at)


def _meant(finding: Finding, ways: Ways) -> list[Way]:
    """The ways that a finding speaks of."""
    here = ways[finding.workflow, finding.source, finding.on]
    match finding:
        case Overlap(first=first, second=second):
            guards = [first, second]
        case Never(guard=guard):
            guards = [guard]
        case Undecided(guards=several):
            guards = several
        case Gap():
            guards = ()
    found = [next(way for way in here if _is(way, guard)) for guard in guards]
    return found or here


def _is(way: Way, guard: Guarded) -> bool:
    return (way.target, way.when) == (guard.target, guard.when)
