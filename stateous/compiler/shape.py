"""What a workflow's drawing must have: a way in, a way on from everywhere, and no way that is never taken.

A transition that does not fit could be any way once it is mended: what it could mend is no problem yet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from stateous.compiler.paths import reached, roads_of, stuck
from stateous.compiler.problems import Problem, guard_shown
from stateous.compiler.resolving import Resolved, Way
from stateous.model.names import ERROR, JOINED, START, TIMEOUT
from stateous.model.workflow import Declared


def shape_problems(flow: Resolved) -> Iterator[Problem]:
    """Every problem of the drawing."""
    roads = roads_of(flow)
    if roads.from_anywhere or roads.ahead.get(START):
        yield from _unreachable(flow)
    else:
        yield Problem("no transition leaves START", (flow.workflow.declared,))
    yield from _dead_ends(flow)
    yield from _lost_events(flow)
    yield from _silent_events(flow)
    yield from _rivals(flow)


def shape_warnings(flow: Resolved) -> Iterator[Problem]:
    """What is of no use in the drawing, and does no harm."""
    taken = {way.on for way in (*flow.ways, *flow.loose) if way.source != START}
    for name, event in flow.events.items():
        if name not in taken and not _may_be_any(taken):
            yield Problem(
                f"the event '{name}' is declared, and no transition is taken on it",
                (event.declared,),
            )


def dead_ends_of_guards(flow: Resolved, nevers: Collection[Way]) -> Iterator[Problem]:
    """States that have a way to END only by guards that are proven never to hold.

    Told are those that such a guard leaves: from the others, tokens only come to these.
    """
    before, after = roads_of(flow), roads_of(flow, without=nevers)
    ended = set(flow.states) - set(stuck(before, flow.states))
    for name in stuck(after, flow.states):
        dead = [way for way in nevers if way.source == name]
        if name in ended and dead:
            yield _blocked(flow, name, "has no way to END", dead)


def never_reached(flow: Resolved, nevers: Collection[Way]) -> Iterator[Problem]:
    """States that only guards lead to which are proven never to hold."""
    before, after = reached(roads_of(flow)), reached(roads_of(flow, without=nevers))
    for name in flow.states:
        dead = [way for way in nevers if way.target == name and way.source in after]
        if name in before and name not in after and dead:
            yield _blocked(flow, name, "is never reached", dead)


def _blocked(flow: Resolved, name: str, what: str, dead: list[Way]) -> Problem:
    guards = " and ".join(guard_shown(way.when) for way in dead)
    hold = "guard {} can never hold" if len(dead) == 1 else "guards {} can never hold"
    at = (flow.states[name].declared, *_at(dead))
    return Problem(f"state '{name}' {what}: the {hold.format(guards)}", at)


def _unreachable(flow: Resolved) -> Iterator[Problem]:
    found = reached(roads_of(flow))
    for name, state in flow.states.items():
        if name not in found:
            yield Problem(f"state '{name}' cannot be reached from START", (state.declared,))


def _dead_ends(flow: Resolved) -> Iterator[Problem]:
    """States without a way out, and circles without one; what leads to a dead end is mended with it."""
    roads = roads_of(flow)
    if roads.from_anywhere:
        return
    left = {name for name in flow.states if roads.ahead.get(name)}
    for name, state in flow.states.items():
        if name not in left:
            yield Problem(
                f"state '{name}' has no way out: no transition leaves it", (state.declared,)
            )
    mended = roads.ending_at(set(flow.states) - left)
    for name in stuck(mended, flow.states):
        others = sorted(reached(mended, name) - {name}, key=list(flow.states).index)
        leads = ", ".join(f"'{other}'" for other in others[:3]) or "itself"
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        yield Problem(
            f"state '{name}' has no way to END: it leads only to {leads}{more}",
            (flow.states[name].declared,),
        )


def _lost_events(flow: Resolved) -> Iterator[Problem]:
    """Events that a state raises and nothing takes: the report would be refused, or the token fail."""
    ways = (*flow.ways, *flow.loose)
    left = {way.source for way in ways}
    taken: dict[str | None, set[str | None]] = defaultdict(set)
    for way in ways:
        taken[way.source].add(way.on)
    taken.setdefault(None, set())
    for name, state in flow.states.items():
        on = taken[name] | taken[None]
        if name not in left or _may_be_any(on):
            continue
        for event in () if state.parallel else flow.emits[name]:
            if event not in on:
                yield Problem(
                    f"state '{name}' emits '{event}', and no transition from it takes '{event}'",
                    (state.declared,),
                )
        if state.parallel and JOINED not in on:
            yield Problem(
                f"state '{name}' runs workflows, and no transition from it takes JOINED",
                (state.declared,),
            )


def _may_be_any(taken: Collection[str | None]) -> bool:
    """Whether one of the transitions could yet be taken on anything: its event is the mistake."""
    return None in taken


def _silent_events(flow: Resolved) -> Iterator[Problem]:
    """Ways on an own event that the state never raises."""
    for way in flow.ways:
        state = flow.states.get(way.source)
        if state is None:
            continue
        why = None
        if way.on == TIMEOUT and state.timeout is None:
            why = "has no timeout"
        elif way.on == JOINED and not state.parallel:
            why = "runs no workflows"
        elif way.on == ERROR and state.parallel:
            why = "has no task that could fail"
        if why is not None:
            yield Problem(f"{way} is never taken: '{way.source}' {why}", (way.declared,))


def _rivals(flow: Resolved) -> Iterator[Problem]:
    """Ways of one state and event that certainly meet: two without a guard, or with the same guard."""
    ways: dict[tuple[str, str | None], list[Way]] = defaultdict(list)
    for way in flow.ways:
        ways[way.source, way.on].append(way)
    for (source, on), rivals in ways.items():
        place = "START" if source == START else f"'{source}' on '{on}'"
        unguarded = [way for way in rivals if way.guard is None]
        if len(unguarded) > 1:
            yield Problem(
                f"{_number(unguarded)} transitions from {place} have no guard", _at(unguarded)
            )
        for same in _alike(rivals):
            yield Problem(
                f"{_number(same)} transitions from {place} have the guard {guard_shown(same[0].when)}",
                _at(same),
            )


def are_alike(one: Way, other: Way) -> bool:
    """Whether two ways have the same guard, however it is spelt."""
    return one.guard is not None and other.guard is not None and one.guard.tree == other.guard.tree


def _alike(rivals: list[Way]) -> Iterator[list[Way]]:
    """The groups of two and more ways that have the same guard."""
    groups: dict[str, list[Way]] = defaultdict(list)
    for way in rivals:
        if way.guard is not None:
            groups[repr(way.guard.tree)].append(way)
    return (group for group in groups.values() if len(group) > 1)


def _number(ways: list[Way]) -> str:
    return "two" if len(ways) == 2 else str(len(ways))


def _at(ways: list[Way]) -> tuple[Declared, ...]:
    return tuple(way.declared for way in ways)
