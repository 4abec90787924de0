"""What the rules of one served graph are made of: the graph, and how long a lease lasts."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from stateous.model.graph import Flow, Graph, State

LONGEST_ID = 128
"""Characters of a token id, a child's id too."""

MOST_CHILDREN = 1000
"""Child tokens that one decision starts: everybody else waits while they are written."""

MOST_JOINS = 100
"""Times that one decision moves a token through a join into a parallel state. Children that end as they start
can meet a join at once, so a cycle of such states would never come to an end."""


class Rules(msgspec.Struct, frozen=True):
    """The graph that decides, and the lease that a claim gives."""

    graph: Graph
    lease_for: timedelta = timedelta(seconds=120)

    def flow(self, workflow: str) -> Flow:
        """The workflow of this name: the main one or a child."""
        return self.graph.flows[workflow]

    def state(self, workflow: str, state: str) -> State:
        """A state of a workflow; only for states that a token can be in."""
        return self.graph.flows[workflow].states[state]


def child_id(parent: str, state: str, visit: int, workflow: str) -> str:
    """The id of the child token that a parallel state starts in one visit."""
    return f"{parent}.{state}.{visit}.{workflow}"
