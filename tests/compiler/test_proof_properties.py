"""What a proof says of random guards is true: of no scope that could be does it say too much."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import combinations

from hypothesis import event, given, settings

from stateous.compiler.proof.findings import Findings
from stateous.compiler.proof.proving import prove
from stateous.compiler.proof.rivals import NO_PAYLOAD, Ending
from stateous.model.guards import Guard, Scope
from tests.compiler.random_rivals import World, examples, worlds
from tests.model.random_guards import Json


def may_overlap(findings: Findings, one: Guard, other: Guard) -> bool:
    told = [(it.first.when, it.second.when) for it in findings.overlaps]
    asked = [tuple(guard.when for guard in it.guards) for it in findings.undecided]
    return (one.text, other.text) in (*told, *asked)


def can_be(world: World, scope: Scope) -> bool:
    """Whether the scope fits the models, and each of its branches a way in which the child can end."""
    reading, models = world.rivals.reading, world.rivals.models
    branches = zip(scope.branches or (), reading.branches, strict=True)
    return (
        models.problem(reading.context.model, dict(scope.ctx)) is None
        and models.problem(reading.payload.model, dict(scope.payload)) is None
        and all(any(map(partial(ended, world, branch), endings)) for branch, endings in branches)
    )


def ended(world: World, branch: Mapping[str, Json], ending: Ending) -> bool:
    """Whether the branch tells of this way to end."""
    told = (branch["workflow"], branch["status"], branch["final"])
    payload = branch["payload"]
    if ending.payload is NO_PAYLOAD:
        fits = payload is None
    else:
        fits = world.rivals.models.problem(ending.payload.model, payload) is None
    return told == (ending.workflow, ending.status, ending.final) and fits


@given(world=worlds())
@settings(max_examples=examples(200))
def test_what_is_proved_holds_in_every_scope(world: World) -> None:
    findings = prove([world.rivals], within=20.0)
    event(f"undecided: {len(findings.undecided)}")
    nevers = {never.guard.when for never in findings.nevers}
    guards = [route.guard for route in world.rivals.routes if route.guard is not None]
    always_taken = not findings.gaps and not any(not it.guards for it in findings.undecided)
    for scope in world.scopes:
        for one, other in combinations(guards, 2):
            if one.holds(scope) and other.holds(scope):
                assert may_overlap(findings, one, other)
        for guard in guards:
            assert not (guard.text in nevers and guard.holds(scope))
        if always_taken and len(guards) == len(world.rivals.routes):
            assert any(guard.holds(scope) for guard in guards)


@given(world=worlds(scopes=0))
@settings(max_examples=examples(200))
def test_every_witness_is_what_it_is_said_to_be(world: World) -> None:
    findings = prove([world.rivals], within=20.0)
    guards = {it.guard.text: it.guard for it in world.rivals.routes if it.guard is not None}
    for overlap in findings.overlaps:
        assert guards[overlap.first.when].holds(overlap.scope)
        assert guards[overlap.second.when].holds(overlap.scope)
        assert can_be(world, overlap.scope)
    for gap in findings.gaps:
        assert not any(guard.holds(gap.scope) for guard in guards.values())
        assert can_be(world, gap.scope)
