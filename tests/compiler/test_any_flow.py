"""Whatever an author declares, and however wrong it is: a graph comes of it, or sentences, and nothing else."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from stateous import END, ERROR, JOINED, START, TIMEOUT, Workflow
from stateous.compiler.checking import InvalidWorkflow, check
from stateous.compiler.document import graph_of


class Order(msgspec.Struct):
    title: str
    amount: int = 0


class Review(msgspec.Struct):
    approved: bool
    note: str | None = None


class Nothing:
    pass


NAMES: list[Any] = [
    "a",
    "b",
    "c",
    "d",
    "A",
    "class",
    "",
    "x" * 70,
    "__end__",
    "timeout",
    "error",
    None,
    5,
    ["a"],
    {},
]
MODELS: list[Any] = [None, Order, Order, Review, Review, Nothing, "Order", dict, Review(True), 5]
GUARDS: list[Any] = [
    None,
    "payload.approved",
    "ctx['amount'] > 3",
    "ctx['amount'] < 2 or count('a') > 2",
    "payload.note == 5",
    "payload.nope in [1]",
    "branches.all(status == 'completed')",
    "branches.any(payload.approved)",
    "count('b') == 'x'",
    "nonsense (",
    "",
    True,
    5,
]
AT_ALL = st.sampled_from([*NAMES, START, END, ERROR, JOINED, TIMEOUT])
SETTINGS: list[Any] = [None, None, "1h", "soon", 5, -1, []]


@st.composite
def workflows(draw: st.DrawFn, depth: int = 0) -> Workflow:
    flow: Any = Workflow(draw(st.sampled_from(NAMES)), context=draw(st.sampled_from(MODELS)))
    for _ in range(draw(st.integers(0, 3))):
        flow.event(draw(st.sampled_from(NAMES)), payload=draw(st.sampled_from(MODELS)))
    children = [draw(workflows(depth + 1)) for _ in range(draw(st.integers(0, 2 - depth)))]
    runs = st.lists(st.sampled_from([*children, flow, "a", 5]), max_size=3)
    events = st.sampled_from(
        [*flow.events, *(event for it in children for event in it.events), "a"]
    )
    for _ in range(draw(st.integers(0, 4))):
        flow.state(
            draw(st.sampled_from(NAMES)),
            emits=draw(st.one_of(st.lists(st.one_of(events, AT_ALL), max_size=3), AT_ALL)),
            timeout=draw(st.sampled_from(SETTINGS)),
            retries=draw(st.sampled_from(SETTINGS)),
            parallel=draw(st.one_of(st.just([]), runs)),
            join=draw(st.sampled_from([None, None, "all", "any", "most", 5, []])),
            inputs=draw(st.one_of(st.none(), st.lists(AT_ALL, max_size=2), AT_ALL)),
        )
    places = st.one_of(st.sampled_from([*flow.states, START, END]), AT_ALL, events)
    for _ in range(draw(st.integers(0, 6))):
        flow.transition(
            draw(places),
            draw(places),
            on=draw(st.one_of(events, AT_ALL, st.none())),
            when=draw(st.sampled_from(GUARDS)),
            otherwise=draw(st.sampled_from([False, False, True, None, "yes"])),
        )
    return flow


@given(workflows())
@settings(max_examples=80, deadline=None)
def test_a_graph_comes_of_it_or_sentences(flow: Workflow) -> None:
    try:
        graph = graph_of(check(flow))
    except InvalidWorkflow as refused:
        said = refused.problems
    else:
        assert graph.workflow == flow.name
        return
    assert said
    assert all(sentence and "\n" not in sentence for sentence in said)
    assert len(set(said)) == len(said)
