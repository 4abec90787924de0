"""Where a token is in the workflow that is served, and where it has been: for its picture."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from stateous.model.names import START
from stateous.model.refusals import StateousError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stateous.client.answers import Entry, Token
    from stateous.compiler.drawing.trail import Trail
    from stateous.model.graph import Graph


class NoPicture(StateousError):
    """A token cannot be shown in the workflow that is served now."""


def trail_of(token: Token, history: Iterable[Entry], graph: Graph) -> Trail:
    """Return a token's trail, from its whole history. Raises NoPicture when the graph has no place for it."""
    from stateous.compiler.drawing.trail import Trail

    visits = Counter(str(entry.data.get("state")) for entry in history if entry.kind == "entered")
    workflow = graph.workflow if token.parent is None else _workflow_of(token, visits, graph)
    if workflow is None or token.state not in {START, *graph.flows[workflow].states}:
        raise NoPicture(
            f"{token.token} is in {token.state}, which the workflow that is served now does not have"
        )
    return Trail(workflow=workflow, state=token.state, status=token.status, visits=visits)


def _workflow_of(token: Token, visited: Iterable[str], graph: Graph) -> str | None:
    """The workflow of a child token: its id ends in that state, visit and workflow that it was started for.

    One that a routine began may have any id: it is known by the states that it was in, if only one workflow has them.
    """
    child = token.token
    for flow in graph.flows.values():
        for state in flow.states.values():
            for workflow in state.parallel:
                before = child.removesuffix(f".{workflow}").rstrip("0123456789")
                if child.endswith(f".{workflow}") and before.endswith(f".{state.name}."):
                    return workflow
    begun = {
        child for flow in graph.flows.values() for s in flow.states.values() for child in s.children
    }
    able = [name for name in begun if {*visited} - {START} <= {*graph.flows[name].states}]
    return able[0] if len(able) == 1 else None
