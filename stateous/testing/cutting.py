"""A graph cut down to one state: all that a routine of it can meet."""

from __future__ import annotations

from typing import Any, Final

from stateous.model.graph import Graph, parse_graph
from stateous.model.marks import StateRef
from stateous.model.names import END, START
from stateous.testing.graphs import flow_of

ENDED: Final = "ended"
"""The event that ends a child in a graph that was cut down."""


def _stand_in(context: str | None) -> dict[str, Any]:
    """A child workflow that takes what the real one takes, and does nothing."""
    workflow: dict[str, Any] = {
        "states": {"started": {"emits": []}},
        "events": {ENDED: {}},
        "transitions": [
            {"from": START, "to": "started"},
            {"from": "started", "to": END, "on": ENDED},
        ],
    }
    return workflow if context is None else {**workflow, "context": context}


def _apart(workflow: str, children: tuple[str, ...]) -> str:
    """The name of the only workflow that has a routine; one that runs itself is beside its own stand-in."""
    return _apart(f"{workflow}'", children) if workflow in children else workflow


_cut: dict[tuple[str, str], Graph] = {}
"""By the checksum of the whole graph and the state: to read a graph takes longer than to run a routine."""


def cut_down(graph: Graph, state: StateRef) -> Graph:
    """A graph of this state only: its events, models and schemas are those of the workflow it is in."""
    key = (graph.checksum, state.name)
    known = _cut.get(key)
    if known is None:
        known = _cut[key] = parse_graph(_document(graph, state))
    return known


def _document(graph: Graph, state: StateRef) -> dict[str, Any]:
    flow, found = flow_of(graph, state)
    whole = graph.document
    document: dict[str, Any] = (
        whole if flow.workflow == graph.workflow else whole["workflows"][flow.workflow]
    )
    kept: dict[str, Any] = {"emits": list(found.emits)}
    if "state_log" in document["states"][found.name]:
        kept["state_log"] = document["states"][found.name]["state_log"]
    ways = [{"from": found.name, "to": END, "on": event} for event in found.emits]
    cut: dict[str, Any] = {
        "stateous": whole["stateous"],
        "workflow": _apart(flow.workflow, found.children),
        "states": {found.name: kept},
        "events": document["events"],
        "transitions": [{"from": START, "to": found.name}, *ways],
        "schemas": whole["schemas"],
    }
    if found.children:
        kept["children"] = list(found.children)
        cut["workflows"] = {
            child: _stand_in(whole["workflows"][child].get("context")) for child in found.children
        }
    return cut if flow.context is None else {**cut, "context": flow.context}
