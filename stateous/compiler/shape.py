"""What a workflow's drawing must have: a way in, a way on from everywhere, and no way that is never taken."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from stateous.compiler.resolving import Resolved, Way
from stateous.model.names import ERROR, JOINED, START, TIMEOUT


def shape_problems(flow: Resolved) -> Iterator[str]:
    """Every problem of the drawing. Only for a workflow whose transitions all fit."""
    starts = [way for way in flow.ways if way.source == START]
    if not starts:
        yield "no transition leaves START"
        return
    yield from _unreachable(flow)
    yield from _dead_ends(flow)
    yield from _lost_events(flow)
    yield from _silent_events(flow)
    yield from _rivals(flow)


def _unreachable(flow: Resolved) -> Iterator[str]:
    reached, ahead = {START}, [START]
    targets: dict[str, list[str]] = defaultdict(list)
    for way in flow.ways:
        targets[way.source].append(way.target)
    while ahead:
        for target in targets[ahead.pop()]:
            if target not in reached:
                reached.add(target)
                ahead.append(target)
    for name in flow.states:
        if name not in reached:
            yield f"state '{name}' cannot be reached from START"


def _dead_ends(flow: Resolved) -> Iterator[str]:
    left = {way.source for way in flow.ways}
    for name in flow.states:
        if name not in left:
            yield f"state '{name}' has no way out: no transition leaves it"


def _lost_events(flow: Resolved) -> Iterator[str]:
    """Events that a state raises and nothing takes: the report would be refused, or the token fail."""
    taken = {(way.source, way.on) for way in flow.ways}
    left = {way.source for way in flow.ways}
    for name, state in flow.states.items():
        for event in flow.emits[name]:
            if name in left and (name, event) not in taken:
                yield f"state '{name}' emits '{event}', and no transition from it takes '{event}'"
        if state.parallel and name in left and (name, JOINED) not in taken:
            yield f"state '{name}' runs workflows, and no transition from it takes JOINED"


def _silent_events(flow: Resolved) -> Iterator[str]:
    """Ways on an own event that the state never raises."""
    for way in flow.ways:
        state = flow.states.get(way.source)
        if state is None:
            continue
        if way.on == TIMEOUT and state.timeout is None:
            yield f"{way} is never taken: '{way.source}' has no timeout"
        if way.on == JOINED and not state.parallel:
            yield f"{way} is never taken: '{way.source}' runs no workflows"
        if way.on == ERROR and state.parallel:
            yield f"{way} is never taken: '{way.source}' has no task that could fail"


def _rivals(flow: Resolved) -> Iterator[str]:
    """Ways of one state and event that certainly meet: two without a guard, or with the same guard."""
    ways: dict[tuple[str, str | None], list[Way]] = defaultdict(list)
    for way in flow.ways:
        ways[way.source, way.on].append(way)
    for (source, on), rivals in ways.items():
        place = "START" if source == START else f"'{source}' on '{on}'"
        if sum(way.guard is None for way in rivals) > 1:
            yield f"two transitions from {place} have no guard"
        guards = [way.guard for way in rivals if way.guard is not None]
        for at, guard in enumerate(guards):
            if any(guard.tree == earlier.tree for earlier in guards[:at]):
                yield f"two transitions from {place} have the guard {guard.text!r}"
