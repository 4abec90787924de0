"""Where the transitions of a workflow lead: what START reaches, and what never comes to END."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from stateous.compiler.resolving import Resolved, Way
from stateous.model.names import END, START


class Roads(msgspec.Struct, frozen=True):
    """From each state, the states that one transition leads to.

    `from_anywhere` has the targets of transitions whose source is yet unknown.
    """

    ahead: dict[str, set[str]]
    from_anywhere: set[str]

    def ending_at(self, names: Iterable[str]) -> Roads:
        """The same, as if these states had a way to END."""
        more = {name: {*self.ahead.get(name, ()), END} for name in names}
        return Roads({**self.ahead, **more}, self.from_anywhere)


def roads_of(flow: Resolved, *, without: Collection[Way] = ()) -> Roads:
    """The roads of a workflow, those of loose transitions included, and without some of its ways."""
    ahead: dict[str, set[str]] = {}
    from_anywhere: set[str] = set()
    for way in flow.ways:
        if way not in without:
            ahead.setdefault(way.source, set()).add(way.target)
    for way in flow.loose:
        targets = {*flow.states, END} if way.target is None else {way.target}
        if way.source is None:
            from_anywhere |= targets
        else:
            ahead.setdefault(way.source, set()).update(targets)
    return Roads(ahead, from_anywhere)


def reached(roads: Roads, start: str = START) -> set[str]:
    """What can be reached from a state, itself and END among it."""
    return _spread({start, *roads.from_anywhere}, roads.ahead)


def stuck(roads: Roads, states: Collection[str]) -> list[str]:
    """The states from which END cannot be reached, in their order."""
    if roads.from_anywhere:
        return []
    back: dict[str, set[str]] = {}
    for source, targets in roads.ahead.items():
        for target in targets:
            back.setdefault(target, set()).add(source)
    ending = _spread({END}, back)
    return [name for name in states if name not in ending]


def _spread(found: set[str], ahead: dict[str, set[str]]) -> set[str]:
    waiting = list(found)
    while waiting:
        for name in ahead.get(waiting.pop(), ()):
            if name not in found:
                found.add(name)
                waiting.append(name)
    return found
