"""What `compile` says of a graph: its states and events, and each place where tokens can fail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from stateous.compiler.ends import FailPlace, fail_places
from stateous.compiler.proof.findings import Findings
from stateous.model.durations import say_duration
from stateous.model.graph import Event, Graph, State
from stateous.model.names import OWN_EVENTS

_LISTED: Final = 40


def summary_of(graph: Graph, findings: Findings) -> Iterator[str]:
    """The lines of the summary: each workflow, the main one first, then where its tokens fail."""
    for flow in graph.flows.values():
        yield f"workflow {flow.workflow}"
        yield f"  states: {_listed(map(_state, flow.states.values()))}"
        yield f"  events: {_listed(map(_event, flow.events.values()))}"
    for place in fail_places(graph):
        state = graph.flows[place.workflow].states[place.state]
        yield f"fails here: {_named(graph, place)} {_why(state, place.event)}"
    for gap in findings.gaps:
        if gap.on in OWN_EVENTS:
            place = FailPlace(gap.workflow, gap.source, gap.on)
            when = f"when {gap.witness}" if gap.witness else "whatever comes"
            yield f"fails here: {_named(graph, place)} on '{gap.on}' {when}"


def _named(graph: Graph, place: FailPlace) -> str:
    """A state as claims name it, also one that has no tasks: `draft`, `<workflow>/draft` of a child."""
    return graph.queue(place.workflow, place.state)


def _why(state: State, event: str) -> str:
    match event:
        case "timeout" if state.timeout is not None:
            when = f"after {say_duration(state.timeout)}"
        case "joined":
            when = f"when {'all its workflows have' if state.join == 'all' else 'one of its workflows has'} ended"
        case _:
            times = state.retries + 1
            when = (
                "when its task fails" if times == 1 else f"when its task has failed {times} times"
            )
    return f"{when}: no transition takes '{event}'"


def _listed(names: Iterable[str]) -> str:
    all_ = list(names)
    more = f" and {len(all_) - _LISTED} more" if len(all_) > _LISTED else ""
    return ", ".join(all_[:_LISTED]) + more if all_ else "none"


def _state(state: State) -> str:
    if state.parallel:
        return f"{state.name} (runs {', '.join(state.parallel)})"
    return f"{state.name} (may run {', '.join(state.children)})" if state.children else state.name


def _event(event: Event) -> str:
    return event.name if event.payload is None else f"{event.name} ({event.payload})"
