"""The rivals of a workflow: from a graph, or from the workflows of a flow.py before there is a graph."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from stateous.compiler.models import ModelSchemas
from stateous.compiler.proof.domains import Domain, Strings
from stateous.compiler.proof.rivals import (
    ANY_OBJECT,
    JOIN_PAYLOAD,
    NO_PAYLOAD,
    Documents,
    Ending,
    Reading,
    Rivals,
    Route,
)
from stateous.compiler.proof.schema_domains import Domains
from stateous.compiler.resolving import Resolved
from stateous.compiler.settings import run_by
from stateous.model.graph import Flow, Graph
from stateous.model.guards import Guard
from stateous.model.names import END, ERROR, JOINED, LONGEST_ID, START, TIMEOUT, child_id
from stateous.model.schemas import Models


def rivals_of_graph(graph: Graph) -> tuple[Rivals, ...]:
    """The rivals of a graph's workflows, one group for each state and event that has a guard."""
    documents = _AllDocuments(Domains(graph.document["schemas"]))
    flows = {name: _of_graph(flow, documents) for name, flow in graph.flows.items()}
    return tuple(_all_rivals(flows, graph.models))


def rivals_of(flows: Mapping[str, Resolved], models: ModelSchemas) -> tuple[Rivals, ...]:
    """The rivals of workflows by name; a model that has a problem may be any object.

    Only for workflows whose transitions all fit: what a missing transition would take is told as a gap.
    """
    schemas: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(models.schemas))
    documents = _AllDocuments(Domains(schemas))
    drawn = {name: _of_workflow(flow, models, documents) for name, flow in flows.items()}
    return tuple(_all_rivals(drawn, Models(schemas)))


class _Way(msgspec.Struct, frozen=True):
    source: str
    target: str
    on: str | None
    guard: Guard | None


class _Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """One workflow as proofs see it. `joins` has the children of a parallel state, and whether all must end."""

    workflow: str
    context: Documents
    events: Mapping[str, Documents]
    timed: frozenset[str]
    joins: Mapping[str, tuple[tuple[str, ...], bool]]
    ways: tuple[_Way, ...]


class _AllDocuments:
    """The documents of each model, found once."""

    def __init__(self, domains: Domains) -> None:
        self._domains = domains
        self._payloads: dict[str, Documents] = {}

    def context(self, model: str | None) -> Documents:
        return Documents(self._domains.of_context(model), model)

    def payload(self, model: str) -> Documents:
        found = self._payloads.get(model)
        if found is None:
            found = self._payloads[model] = Documents(self._domains.of_model(model), model)
        return found


def _of_graph(flow: Flow, documents: _AllDocuments) -> _Drawn:
    routed = (each for ways in flow.routed.values() for each in ways)
    return _Drawn(
        workflow=flow.workflow,
        context=documents.context(flow.context),
        events={
            name: NO_PAYLOAD if event.payload is None else documents.payload(event.payload)
            for name, event in flow.events.items()
        },
        timed=frozenset(name for name, it in flow.states.items() if it.timeout is not None),
        joins={
            name: (state.parallel, state.join == "all")
            for name, state in flow.states.items()
            if state.parallel
        },
        ways=tuple(_Way(it.source, it.target, it.on, it.guard) for it in (*flow.starts, *routed)),
    )


def _of_workflow(flow: Resolved, models: ModelSchemas, documents: _AllDocuments) -> _Drawn:
    workflow = flow.workflow
    events: dict[str, Documents] = {}
    for name, event in flow.events.items():
        model = models.name_of(event.payload)
        if event.payload is None:
            events[name] = NO_PAYLOAD
        else:
            events[name] = Documents(ANY_OBJECT) if model is None else documents.payload(model)
    return _Drawn(
        workflow=flow.name,
        context=documents.context(models.name_of(workflow.context)),
        events=events,
        timed=frozenset(name for name, it in flow.states.items() if it.timeout is not None),
        joins={
            name: (tuple(child.name for child in run_by(state)), state.join != "any")
            for name, state in flow.states.items()
            if state.parallel
        },
        ways=tuple(_Way(way.source, way.target, way.on, way.guard) for way in flow.ways),
    )


def _all_rivals(flows: Mapping[str, _Drawn], models: Models) -> Iterator[Rivals]:
    for flow in flows.values():
        groups: dict[tuple[str, str | None], list[Route]] = {}
        for way in flow.ways:
            groups.setdefault((way.source, way.on), []).append(Route(way.target, way.guard))
        for (source, on), routes in groups.items():
            if not any(route.guard for route in routes) or not _is_raised(flow, source, on, flows):
                continue
            reading = _reading(flow, source, on, flows)
            if all(reading.branches):
                yield Rivals(
                    workflow=flow.workflow,
                    source=source,
                    on=on,
                    routes=tuple(routes),
                    reading=reading,
                    models=models,
                )


def _is_raised(flow: _Drawn, source: str, on: str | None, flows: Mapping[str, _Drawn]) -> bool:
    """Whether the state ever gets the event. What runs a workflow that is not known gets no `joined`."""
    match on:
        case "timeout":
            return source in flow.timed
        case "error":
            return source not in flow.joins
        case "joined":
            return source in flow.joins and all(child in flows for child in flow.joins[source][0])
        case _:
            return True


def _reading(flow: _Drawn, source: str, on: str | None, flows: Mapping[str, _Drawn]) -> Reading:
    branches: tuple[tuple[Ending, ...], ...] = ()
    if on == JOINED:
        children, all_end = flow.joins[source]
        endings = [tuple(_endings(flows[child], source)) for child in children]
        branches = tuple(endings) if all_end else (tuple(each for of in endings for each in of),)
    return Reading(
        source=source,
        on=on,
        context=flow.context,
        payload=_payload(flow, on),
        counted=frozenset((*flow.events, ERROR, TIMEOUT, JOINED)),
        branches=branches,
    )


def _payload(flow: _Drawn, on: str | None) -> Documents:
    return Documents(JOIN_PAYLOAD) if on == JOINED else flow.events.get(on or "", NO_PAYLOAD)


def _endings(child: _Drawn, parents_state: str) -> Iterator[Ending]:
    """How a child can end: completed in a state that a way to END leaves, or failed in any that it enters.

    A cancelled child brings no branch: only a parent that is gone cancels it.
    """
    ending = Ending(
        workflow=child.workflow,
        token=_token_of(child.workflow, parents_state),
        status="completed",
        final=START,
        payload=NO_PAYLOAD,
    )
    left_to_end = {way.source for way in child.ways if way.target == END}
    if START in left_to_end:
        yield ending
    for final, on in dict.fromkeys((way.target, way.on) for way in child.ways):
        if final != END:
            brought = msgspec.structs.replace(ending, final=final, payload=_payload(child, on))
            if final in left_to_end:
                yield brought
            yield msgspec.structs.replace(brought, status="failed")


def _token_of(child: str, parents_state: str) -> Domain:
    """The ids of child tokens: the parent's id, its state, the visit, and the child's workflow."""
    state, workflow = re.escape(parents_state), re.escape(child)
    pattern = rf"^[A-Za-z0-9][A-Za-z0-9._-]*\.{state}\.[1-9][0-9]*\.{workflow}$"
    shortest = len(child_id("T", parents_state, 1, child))
    strings = Strings(shortest=shortest, longest=LONGEST_ID, patterns=(pattern,))
    return Domain(kinds=frozenset({"string"}), strings=strings)
