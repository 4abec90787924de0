"""A task to try one routine on: in a control plane that takes anything, or in a graph cut down to its state."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from stateous.client.answers import Grant
from stateous.engine import family
from stateous.engine.answers import Done
from stateous.engine.commands import Claim, Start
from stateous.model.graph import Graph, parse_graph
from stateous.model.marks import Occurrence, StateRef
from stateous.model.names import END, START
from stateous.model.refusals import Refusal
from stateous.testing.graphs import flow_of
from stateous.testing.memory_store import MemoryStore
from stateous.testing.trials import SUPERVISOR, Decide

START_OF_TIME: Final = datetime(2030, 1, 1, tzinfo=UTC)
LEASE_FOR: Final = timedelta(minutes=2)


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """Where a routine finds itself: plain JSON, and which visit and attempt it is."""

    token: str
    context: dict[str, Any]
    memory: dict[str, Any]
    entered_by: Occurrence
    visit: int
    attempt: int


def free_task(state: StateRef, setting: Setting) -> tuple[Grant, Decide]:
    """A task of a control plane that knows no graph, and takes whatever can be sent."""
    grant = {"task": 1, "state": state.name, **msgspec.structs.asdict(setting)}
    return granted(grant), lambda _: Done()


def task_in_graph(graph: Graph, state: StateRef, setting: Setting) -> tuple[Grant, Decide]:
    """A task of a control plane that checks as the graph says. Every event leads out of the state.

    Raises InvalidTokenId, and InvalidContext when the context breaks its model.
    """
    _, found = flow_of(graph, state)
    store = MemoryStore(_cut_down(graph, state), now=START_OF_TIME, lease_for=LEASE_FOR)
    started = store.do(Start(setting.token, setting.context))
    if isinstance(started, Refusal):
        raise started
    _put(store, found.name, setting)
    ((grant,),) = store.claim_together([Claim(supervisor=SUPERVISOR, states=(found.name,))])
    return granted({**msgspec.structs.asdict(grant), "state": state.name}), store.do


def granted(fields: Mapping[str, Any]) -> Grant:
    """The grant as a supervisor reads it: nothing in it belongs to the store."""
    return msgspec.json.decode(msgspec.json.encode(fields), type=Grant)


def _put(store: MemoryStore, state: str, setting: Setting) -> None:
    """Make the first visit and attempt of the token the ones that the test is about."""
    (token,), (task,) = store.tokens.values(), store.tasks.values()
    token.visit = task.visit = setting.visit
    token.visits = {state: setting.visit}
    token.entered_by = family.Occurrence(setting.entered_by.name, setting.entered_by.payload)
    task.attempt = task.failures = setting.attempt - 1
    for key, value in setting.memory.items():
        store.memory[token.token, state, key] = value


_cut: dict[tuple[str, str], Graph] = {}
"""By the checksum of the whole graph and the state: to read a graph takes longer than to run a routine."""


def _cut_down(graph: Graph, state: StateRef) -> Graph:
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
    ways = [{"from": found.name, "to": END, "on": event} for event in found.emits]
    cut = {
        "stateous": whole["stateous"],
        "workflow": flow.workflow,
        "states": {found.name: {"emits": list(found.emits)}},
        "events": document["events"],
        "transitions": [{"from": START, "to": found.name}, *ways],
        "schemas": whole["schemas"],
    }
    return cut if flow.context is None else {**cut, "context": flow.context}
