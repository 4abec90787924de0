"""State logs in graph files and in flow.py: what is served, what is refused with which sentence, and what changes."""

from __future__ import annotations

import copy
from datetime import timedelta
from typing import Any

import pytest

from stateous import END, START, StateLog, Workflow
from stateous.compiler.checking import InvalidWorkflow, check
from stateous.compiler.document import document_of, graph_of
from stateous.model.graph import InvalidGraph, parse_graph

GRAPH: dict[str, Any] = {
    "stateous": 1,
    "workflow": "m",
    "states": {"work": {"emits": ["done"]}, "all": {"parallel": ["c"]}},
    "events": {"done": {}},
    "transitions": [
        {"from": "__start__", "to": "work"},
        {"from": "work", "to": "all", "on": "done"},
        {"from": "all", "to": "__end__", "on": "joined"},
    ],
    "workflows": {
        "c": {
            "states": {"w": {"emits": ["e"]}},
            "events": {"e": {}},
            "transitions": [
                {"from": "__start__", "to": "w"},
                {"from": "w", "to": "__end__", "on": "e"},
            ],
        }
    },
    "schemas": {},
}


def with_log(log: Any, *, state: str = "work") -> dict[str, Any]:
    graph = copy.deepcopy(GRAPH)
    graph["states"][state]["state_log"] = log
    return graph


def test_a_state_log_is_read_and_is_no_part_of_the_structure() -> None:
    plain = parse_graph(GRAPH)
    assert plain.flows["m"].states["work"].state_log is None
    graph = parse_graph(with_log({"scope": "app", "options": {"retention": "90d", "lock": "5m"}}))
    assert graph.structure == plain.structure
    assert graph.checksum != plain.checksum
    log = graph.flows["m"].states["work"].state_log
    assert log is not None
    assert (log.handler, log.scope) == ("built-in", "app")
    assert (log.lock_for, log.retention) == (timedelta(minutes=5), timedelta(days=90))
    bare = parse_graph(with_log({})).flows["m"].states["work"].state_log
    assert bare is not None
    assert bare == StateLog()
    assert (bare.lock_for, bare.retention) == (timedelta(minutes=30), None)
    other = parse_graph(with_log({"handler": "redis", "options": {"lock": 7, "url": "r"}}))
    assert other.flows["m"].states["work"].state_log == StateLog(
        handler="redis", options={"lock": 7, "url": "r"}
    )


REFUSED: list[tuple[Any, str]] = [
    ([], "'state_log' of state 'work' of workflow 'm' must be an object"),
    ({"scope": "Element"}, "its scope must be one of tenant, app, workflow, element, execution"),
    ({"scope": 4}, "its scope must be one of"),
    ({"handler": ""}, "its handler must be a name"),
    ({"handler": "a\nb"}, "its handler must not hold"),
    ({"options": []}, "its options must be an object"),
    ({"options": {"keep": "90d"}}, "takes the options retention and lock, not 'keep'"),
    ({"options": {"lock": "soon"}}, "its option 'lock': 'soon' is not a duration"),
    ({"options": {"retention": 90}}, "its option 'retention': 90 is not a duration"),
]


@pytest.mark.parametrize(("log", "sentence"), REFUSED)
def test_a_state_log_that_means_nothing_is_refused_in_a_sentence(log: Any, sentence: str) -> None:
    with pytest.raises(InvalidGraph) as refused:
        parse_graph(with_log(log))
    assert sentence in str(refused.value)


def test_a_state_without_a_task_has_no_state_log() -> None:
    with pytest.raises(InvalidGraph, match="so it takes no state log"):
        parse_graph(with_log({}, state="all"))


def flow(log: Any) -> Workflow:
    made = Workflow("m")
    done = made.event("done")
    work = made.state("work", emits=[done], state_log=log)
    made.transition(START, work)
    made.transition(work, END, on=done)
    return made


def test_compile_writes_it_as_it_is_served() -> None:
    checked = check(flow(StateLog(options={"retention": "90d"})))
    assert document_of(checked)["states"]["work"]["state_log"] == {
        "handler": "built-in",
        "scope": "element",
        "options": {"retention": "90d"},
    }
    assert graph_of(checked).flows["m"].states["work"].state_log is not None
    assert "state_log" not in document_of(check(flow(None)))["states"]["work"]


MISTAKES: list[tuple[Any, str]] = [
    ("90d", "the state log of state 'work' must be a StateLog, and is '90d'"),
    (StateLog(scope="all"), "the state log of state 'work': its scope must be one of"),  # pyright: ignore[reportArgumentType]
    (StateLog(options={"lock": "1 h"}), "its option 'lock': '1 h' is not a duration"),
    (StateLog(handler="redis", options={"at": object()}), "of state 'work' are no JSON"),
    (StateLog(handler="redis", options={"at": [float("nan")]}), "are no JSON: nan is none"),
    (StateLog(handler="redis", options={"at": b"a"}), "are no JSON: b'a' is none"),
    (StateLog(handler="redis", options={"at": {1}}), "are no JSON: {1} is none"),
    (StateLog(handler="redis", options={"at": {2: 3}}), "are no JSON: the name 2 is none"),
]


@pytest.mark.parametrize(("log", "sentence"), MISTAKES)
def test_compile_tells_what_is_wrong_with_it(log: Any, sentence: str) -> None:
    with pytest.raises(InvalidWorkflow) as refused:
        check(flow(log))
    assert sentence in str(refused.value)
