"""The graph that a test is about: given as a workflow, as a graph, or as the file of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from stateous.cli.sources import graph_of_source
from stateous.compiler.checking import check
from stateous.compiler.document import graph_of
from stateous.model.graph import Flow, Graph, State, parse_graph
from stateous.model.marks import StateRef
from stateous.model.workflow import Workflow, WorkflowState
from stateous.testing.problems import CannotTest

Source = Workflow | Graph | Mapping[str, Any] | str | Path
"""A workflow of a flow.py, its graph, the document of one, or the path of a flow.py, its folder or a graph file."""

AnyState = StateRef | WorkflowState | str
"""A state: as a contract names it, as a workflow declares it, or its name (`<workflow>/<state>` of a child)."""

_compiled: WeakKeyDictionary[Workflow, tuple[tuple[int, int, int], Graph]] = WeakKeyDictionary()


def graph_for(source: Source) -> Graph:
    """The graph of a source. Raises what compiling or reading it raises, each in one sentence."""
    match source:
        case Graph():
            return source
        case Workflow():
            return _compile(source)
        case str() | Path():
            return graph_of_source(str(source))
        case _:
            return parse_graph(dict(source))


def _compile(workflow: Workflow) -> Graph:
    """The graph, proved once for all the tests of a module; what was declared since then makes it a new one."""
    size = (len(workflow.events), len(workflow.states), len(workflow.transitions))
    known = _compiled.get(workflow)
    if known is None or known[0] != size:
        known = _compiled[workflow] = (size, graph_of(check(workflow)))
    return known[1]


def queue_of(graph: Graph, state: AnyState) -> str:
    """What supervisors claim to get the tasks of this state. Raises CannotTest when there is no such state."""
    return state_ref(graph, state).name


def state_ref(graph: Graph, state: AnyState) -> StateRef:
    """The state as a contract for this graph would name it.

    Raises CannotTest when the graph has no such state with tasks, or other events for it than a contract has.
    """
    name = _name(graph, state)
    flow, found = _find(graph, name)
    if found.parallel:
        raise CannotTest(f"the state {name!r} has no routine: it starts child tokens")
    queue = graph.queue(flow.workflow, found.name)
    if isinstance(state, StateRef) and set(state.emits) != set(found.emits):
        raise CannotTest(
            f"the contract says that {queue!r} emits {_listed(state.emits)}, and the workflow says "
            f"{_listed(found.emits)}: repeat stateous init supervisor"
        )
    log = None if found.state_log is None else found.state_log.handler
    return StateRef(queue, found.emits, state_log=log)


def flow_of(graph: Graph, ref: StateRef) -> tuple[Flow, State]:
    """The workflow that has this state, and the state in it."""
    return _find(graph, ref.name)


def _name(graph: Graph, state: AnyState) -> str:
    match state:
        case StateRef():
            return state.name
        case WorkflowState():
            return graph.queue(state.workflow.name, state.name)
        case _:
            return state


def _find(graph: Graph, name: str) -> tuple[Flow, State]:
    workflow, _, short = graph.queue_of(name).rpartition("/")
    flow = graph.flows.get(workflow or graph.workflow)
    if flow is None or short not in flow.states:
        known = [
            graph.queue(each.workflow, inner)
            for each in graph.flows.values()
            for inner in each.states
        ]
        raise CannotTest(f"the workflow {graph.workflow!r} has no state {name!r}: {_listed(known)}")
    return flow, flow.states[short]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names)) or "nothing"
