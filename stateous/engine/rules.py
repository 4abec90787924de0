"""What the rules of one served graph are made of: the graph, and how long a lease lasts."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from stateous.model.graph import Flow, Graph, State

MOST_JOINS = 100
"""Times that one decision moves a token through a join into a parallel state. Children that end as they start
can meet a join at once, so a cycle of such states would never come to an end."""

MOST_LEVELS = 100
"""Tokens above a child that a routine begins. A family is paused and cancelled level by level, as calls inside calls."""


class Rules(msgspec.Struct, frozen=True):
    """The graph that decides, the lease that a claim gives, and whose items its state logs keep."""

    graph: Graph
    lease_for: timedelta = timedelta(seconds=120)
    tenant: str = "default"
    app: str = "default"

    def flow(self, workflow: str) -> Flow:
        """The workflow of this name: the main one or a child."""
        return self.graph.flows[workflow]

    def state(self, workflow: str, state: str) -> State:
        """A state of a workflow; only for states that a token can be in."""
        return self.graph.flows[workflow].states[state]
