"""Where a token can end without wanting to: the places of a graph that let it fail."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from stateous.model.graph import Flow, Graph, State
from stateous.model.names import ERROR, JOINED, TIMEOUT


class FailPlace(msgspec.Struct, frozen=True):
    """A state that raises an own event which no transition takes: the token fails there (docs/ledger.md)."""

    workflow: str
    state: str
    event: str


def fail_places(graph: Graph) -> tuple[FailPlace, ...]:
    """Return every place that lets a token fail, in the order of the graph's workflows and states.

    A place has no transition at all on the event. Guards of which none may hold are no such places: the
    proof tells these, since it takes a witness.
    """
    return tuple(
        FailPlace(flow.workflow, state.name, event)
        for flow in graph.flows.values()
        for state in flow.states.values()
        for event in fails_in(flow, state.name)
    )


def raised_by(state: State) -> Iterator[str]:
    """The own events that Stateous raises in a state: it has a task that may fail, or children that join."""
    yield JOINED if state.parallel else ERROR
    if state.timeout is not None:
        yield TIMEOUT


def fails_in(flow: Flow, state: str) -> tuple[str, ...]:
    """The own events on which a token of this workflow fails in a state; empty when each is taken."""
    return tuple(event for event in raised_by(flow.states[state]) if not flow.routes(state, event))
