"""The graph document: what a compiled workflow is once it is read and known to be whole."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from stateous.model.refusals import StateousError
from stateous.model.state_logs import StateLog

if TYPE_CHECKING:
    from stateous.model.guards import Guard
    from stateous.model.schemas import Models

Json = Any
Document = dict[str, Json]


class InvalidGraph(StateousError):
    """A graph file that cannot be served; the text says why in one sentence."""


class Transition(msgspec.Struct, frozen=True, kw_only=True):
    """One way from a state to another. `on` is None only from `__start__`.

    One without a guard is taken when no guard holds.
    """

    source: str
    target: str
    on: str | None
    when: str | None
    guard: Guard | None


class State(msgspec.Struct, frozen=True, kw_only=True):
    """One state. `parallel` names the child workflows it runs instead of a task, `children` those that its routine may run."""

    name: str
    emits: tuple[str, ...]
    timeout: timedelta | None
    retries: int
    parallel: tuple[str, ...]
    join: Literal["all", "any"]
    inputs: tuple[str, ...]
    state_log: StateLog | None = None
    children: tuple[str, ...] = ()


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One declared event; `payload` names its model."""

    name: str
    payload: str | None


class Flow(msgspec.Struct, frozen=True, kw_only=True):
    """One workflow of a graph: the main one or a child."""

    workflow: str
    context: str | None
    states: Mapping[str, State]
    events: Mapping[str, Event]
    starts: tuple[Transition, ...]
    routed: Mapping[tuple[str, str], tuple[Transition, ...]]

    def routes(self, state: str, event: str) -> tuple[Transition, ...]:
        """The transitions from `state` on `event`, in file order; empty when there are none."""
        return self.routed.get((state, event), ())


class Graph(msgspec.Struct, frozen=True, kw_only=True):
    """A whole graph file.

    `checksum` tells versions apart; `structure` only those that move tokens differently.
    """

    workflow: str
    flows: Mapping[str, Flow]
    models: Models
    document: Document
    checksum: str
    structure: str

    def queue(self, workflow: str, state: str) -> str:
        """What a supervisor claims to get the tasks of a state: `draft`, or `<workflow>/draft` of a child."""
        return state if workflow == self.workflow else f"{workflow}/{state}"

    def place(self, queue: str) -> tuple[str, str]:
        """The workflow and the state whose tasks are in a queue. No state's name has a `/`."""
        workflow, slash, state = queue.rpartition("/")
        return (workflow, state) if slash else (self.workflow, queue)

    def queue_of(self, asked: str) -> str:
        """Return the queue that a claim means: the last `/` splits, and `/draft` is the main workflow's.

        What names nothing comes back as it is: no task is in such a queue.
        """
        workflow, slash, state = asked.rpartition("/")
        return state if slash and not workflow else asked


def parse_graph(document: object) -> Graph:
    """Return the graph that a decoded graph file describes.

    Raises InvalidGraph, with one sentence, for a file that cannot be served: a missing key, a setting of
    the wrong shape, a name that is not declared, a duration, guard or schema that does not parse.
    Unknown keys, overlapping guards and unreachable states are served as they are.
    """
    from stateous.model.graph_reading import read_graph  # noqa: PLC0415  # it needs the classes above

    return read_graph(document)
