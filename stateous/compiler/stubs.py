"""The stubs of routines.py: a function for each state with tasks, to be filled in."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import msgspec

from stateous.compiler.contract import (
    children_names,
    docstring,
    event_names,
    state_names,
    written_value,
)
from stateous.compiler.templates import ROUTINE, ROUTINES
from stateous.model.graph import Flow, Graph


class Stub(msgspec.Struct, frozen=True, kw_only=True):
    """One state: how contract.py names it, what its routine returns, and what a supervisor claims."""

    reference: str
    function: str
    returned: str
    queue: str
    imported: tuple[str, ...]


def routines_text(graph: Graph, *, served: Collection[str]) -> str:
    """The text of routines.py, with a stub for each state that is not served yet."""
    stubs = [stub for stub in stubs_of(graph) if stub.reference not in served]
    if not stubs:
        return '"""The routines of this supervisor: every state has one in another file."""\n'
    names = sorted({name for stub in stubs for name in stub.imported})
    return ROUTINES.format(names=", ".join(names), stubs="".join(map(_written, stubs)))


def stubs_of(graph: Graph) -> list[Stub]:
    """The stub of each state with tasks; no two are called alike, nor as what they use."""
    children = children_names(graph)
    taken = {"Context", "on_state", "events", "states", "workflows", *children.values()}
    found: list[Stub] = []
    for flow in graph.flows.values():
        for stub in _stubs(graph, flow, children.get(flow.workflow, "")):
            name = stub.function
            while name in taken:
                name += "_"
            taken.add(name)
            found.append(msgspec.structs.replace(stub, function=name))
    return found


def _stubs(graph: Graph, flow: Flow, child: str) -> Iterator[Stub]:
    prefix = f"{child}." if child else ""
    events = event_names(flow)
    for name, written in state_names(flow).items():
        emits = flow.states[name].emits
        yield Stub(
            reference=f"{prefix}states.{written}",
            function=f"{child}_{written}" if child else written,
            returned=" | ".join(f"{prefix}events.{events[event]}" for event in emits) or "None",
            queue=graph.queue(flow.workflow, name),
            imported=(child,) if child else ("states", "events") if emits else ("states",),
        )


def _written(stub: Stub) -> str:
    ends = "return the event that says how it ended" if stub.returned != "None" else "return None"
    return ROUTINE.format(
        reference=stub.reference,
        function=stub.function,
        returned=stub.returned,
        docstring=docstring(f"Do the work of `{stub.queue}`, and {ends}."),
        problem=written_value(f"the routine of {stub.queue} is not written yet"),
    )
