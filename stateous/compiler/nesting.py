"""What workflows inside workflows come to: child tokens with ids that fit and differ, and not too many of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Final

import msgspec

from stateous.compiler.naming import key_of
from stateous.compiler.problems import Problem
from stateous.compiler.resolving import Resolved
from stateous.compiler.settings import below, run_by
from stateous.model.names import END, LONGEST_ID, MOST_CHILDREN, START, child_id
from stateous.model.workflow import Workflow, WorkflowState

_SHORTEST_ID: Final = "T"
_USUAL_ID: Final = 36
"""Characters of a UUID: a workflow whose tokens cannot have such ids is told so."""


class Nest(msgspec.Struct, frozen=True):
    """One state that runs one workflow, and the longest chain that leads there from the main workflow."""

    state: WorkflowState
    child: Workflow
    chain: tuple[str, ...]
    above: int
    shortest: int
    """Characters of the parent's and the child's id, when the main token's id has one and each visit is the first."""


def nesting_problems(flows: Mapping[str, Resolved]) -> Iterator[Problem]:
    """Every state whose children could never all be started. The main workflow comes first in `flows`."""
    for flow in flows.values():
        yield from _equal_ids(flow)
    for nest in _nests(flows):
        if nest.above <= LONGEST_ID < nest.shortest:
            yield Problem(
                f"the ids of tokens below {_arrows(nest.chain)} have at least {nest.shortest} characters, "
                f"and {LONGEST_ID} are the most: shorten these names",
                (nest.state.declared,),
            )
    yield from _too_many(flows)


def nesting_warnings(flows: Mapping[str, Resolved]) -> Iterator[Problem]:
    """A nesting that leaves little room for the ids of the main workflow's tokens."""
    longest = max(_nests(flows), key=lambda nest: nest.shortest, default=None)
    if longest is None or longest.shortest > LONGEST_ID:
        return
    room = LONGEST_ID - longest.shortest + len(_SHORTEST_ID)
    if room < _USUAL_ID:
        yield Problem(
            f"an id of a token can have only {room} characters: those below {_arrows(longest.chain)} "
            f"begin with it, and {LONGEST_ID} are the most",
            (longest.state.declared,),
        )


def _arrows(chain: tuple[str, ...]) -> str:
    return " → ".join(f"'{name}'" for name in chain)


def _equal_ids(flow: Resolved) -> Iterator[Problem]:
    """Child tokens whose ids differ only in case: these are one id."""
    parallel = [state for state in flow.workflow.states if state.parallel]
    for state in parallel:
        for alike in _alike(child.name for child in run_by(state)):
            names = " and ".join(f"'{name}'" for name in alike)
            yield Problem(
                f"state '{state.name}' runs {names}: their tokens would have one id, since its case does not count",
                (state.declared,),
            )
    runs = {
        key_of(state.name): {child.name.lower() for child in run_by(state)} for state in parallel
    }
    for alike in _alike(runs):
        if any(runs[one] & runs[other] for one, other in combinations(alike, 2)):
            names = " and ".join(f"'{name}'" for name in alike)
            at = tuple(state.declared for state in parallel if key_of(state.name) in alike)
            yield Problem(
                f"the states {names} run the same workflow: its tokens would have one id, since its case does not count",
                at,
            )


def _alike(names: Iterable[str]) -> Iterator[list[str]]:
    """The groups of names that differ only in case."""
    groups: dict[str, dict[str, None]] = {}
    for name in names:
        groups.setdefault(name.lower(), {})[name] = None
    return (list(group) for group in groups.values() if len(group) > 1)


def _nests(flows: Mapping[str, Resolved]) -> Iterator[Nest]:
    """Each state and workflow that it runs; those that run others come before these."""
    chains: dict[str, tuple[str, tuple[str, ...]]] = {}
    for flow in _parents_first(flows):
        # A child of a routine has the id that the routine gives it, which may be short, too.
        above, chain = chains.get(flow.name, (_SHORTEST_ID, ()))
        for state in flow.workflow.states:
            for child in run_by(state):
                name = child_id(above, state.name, 1, child.name)
                here = (*chain, state.name, child.name)
                if child.name in flows and len(name) > len(chains.get(child.name, ("", ()))[0]):
                    chains[child.name] = (name, here)
                yield Nest(state, child, here, len(above), len(name))


def _parents_first(flows: Mapping[str, Resolved]) -> list[Resolved]:
    """The workflows in an order in which each comes before those that it runs."""
    done: dict[str, Resolved] = {}

    def visit(flow: Resolved, above: frozenset[str]) -> None:
        if flow.name in done or flow.name in above:
            return
        for state in flow.workflow.states:
            for child in below(state):
                if child.name in flows:
                    visit(flows[child.name], above | {flow.name})
        done[flow.name] = flow

    for flow in flows.values():
        visit(flow, frozenset())
    return list(reversed(done.values()))


def _too_many(flows: Mapping[str, Resolved]) -> Iterator[Problem]:
    """States that start more child tokens at once than one decision may, down through nested ones."""
    least: dict[str, int] = {}

    def started_by(state: WorkflowState) -> int:
        return sum(1 + least.get(child.name, 0) for child in run_by(state))

    for flow in reversed(_parents_first(flows)):
        first = [way.target for way in flow.ways if way.source == START]
        ends = END in first or any(way.source in (START, None) for way in flow.loose)
        counts = [started_by(flow.states[name]) for name in first if name != END]
        least[flow.name] = 0 if ends else min(counts, default=0)
    for flow in flows.values():
        for state in flow.workflow.states:
            below = [least.get(child.name, 0) for child in run_by(state)]
            if started_by(state) > MOST_CHILDREN >= max(below):
                yield Problem(
                    f"state '{state.name}' starts at least {started_by(state)} child tokens at once, "
                    f"and {MOST_CHILDREN} are the most",
                    (state.declared,),
                )
