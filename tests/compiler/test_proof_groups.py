"""Which transitions are rivals, and what their guards read: the same from a flow.py as from its graph."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from stateous import END, ERROR, JOINED, START, TIMEOUT, Workflow
from stateous.compiler.checking import check
from stateous.compiler.document import graph_of
from stateous.compiler.proof.domain_algebra import listed
from stateous.compiler.proof.proving import prove
from stateous.compiler.proof.rival_groups import rivals_of, rivals_of_graph
from stateous.compiler.proof.rivals import Rivals
from stateous.model.graph import parse_graph
from stateous.model.guard_tree import Constant, Count, Field, Not
from tests.compiler.proved import WITHIN


class Order(msgspec.Struct):
    title: str
    amount: int = 0


class Review(msgspec.Struct):
    score: int
    mark: Literal["good", "bad"] | None = None


def flow() -> Workflow:
    child = Workflow("credit", context=Order)
    answered = child.event("answered", payload=Review)
    dropped = child.event("dropped")
    ask = child.state("ask", emits=[answered, dropped], timeout="1h")
    told = child.state("told", emits=[dropped])
    child.transition(START, ask, when="ctx['amount'] > 0")
    child.transition(START, told, otherwise=True)
    child.transition(ask, told, on=answered, when="payload.score > 3")
    child.transition(ask, END, on=answered, when="payload.score <= 3")
    child.transition(ask, told, on=dropped)
    child.transition(ask, END, on=TIMEOUT, when="count('timeout') < 3")
    child.transition(told, END, on=dropped)

    main = Workflow("orders", context=Order)
    reviewed = main.event("reviewed", payload=Review)
    draft = main.state("draft", emits=[reviewed])
    checks = main.state("checks", parallel=[child], inputs=["title"])
    main.transition(START, draft)
    main.transition(draft, checks, on=reviewed, when="payload.mark == 'good'")
    main.transition(draft, draft, on=reviewed, otherwise=True)
    main.transition(draft, END, on=ERROR, when="count('error') > 3")
    main.transition(draft, draft, on=ERROR, otherwise=True)
    main.transition(checks, END, on=JOINED, when="branches.all(payload.score > 3)")
    main.transition(checks, draft, on=JOINED, otherwise=True)
    return main


def of_graph() -> dict[tuple[str, str, str | None], Rivals]:
    groups = rivals_of_graph(graph_of(check(flow())))
    return {(it.workflow, it.source, it.on): it for it in groups}


def test_each_state_and_event_with_a_guard_is_a_group() -> None:
    assert list(of_graph()) == [
        ("orders", "draft", "reviewed"),
        ("orders", "draft", "error"),
        ("orders", "checks", "joined"),
        ("credit", "__start__", None),
        ("credit", "ask", "answered"),
        ("credit", "ask", "timeout"),
    ]


def test_a_flow_has_the_same_rivals_as_its_graph() -> None:
    checked = check(flow())
    found = rivals_of({it.name: it for it in checked.flows}, checked.models)
    for mine, other in zip(found, of_graph().values(), strict=True):
        assert (mine.workflow, mine.source, mine.on) == (other.workflow, other.source, other.on)
        assert mine.reading == other.reading
        texts = [
            [(route.target, route.guard and route.guard.text) for route in group.routes]
            for group in (mine, other)
        ]
        assert texts[0] == texts[1]


def test_operands_have_the_domains_of_their_fields() -> None:
    reviewed = of_graph()["orders", "draft", "reviewed"].reading
    assert reviewed.domain_of(Field("ctx", "amount")).kinds == {"number"}
    assert reviewed.domain_of(Field("payload", "mark")) == listed([None, "bad", "good"])
    assert reviewed.domain_of(Constant("x")) == listed(["x"])
    assert reviewed.domain_of(Not(Constant("x"))).kinds == {"boolean"}


def test_counts_begin_with_the_event_that_is_decided() -> None:
    groups = of_graph()
    reviewed, start = groups["orders", "draft", "reviewed"], groups["credit", "__start__", None]
    assert not reviewed.reading.domain_of(Count("reviewed")).numbers.has(0)
    assert reviewed.reading.domain_of(Count("error")).numbers.has(0)
    assert reviewed.reading.domain_of(Count("__started__")) == listed([1])
    assert reviewed.reading.domain_of(Count("answered")) == listed([0])
    assert start.reading.domain_of(Count("__started__")) == listed([1])
    assert start.reading.domain_of(Count("answered")) == listed([0])


def test_a_child_ends_completed_where_it_can_end_and_failed_anywhere() -> None:
    (endings,) = of_graph()["orders", "checks", "joined"].reading.branches
    assert {(it.status, it.final, it.payload.model) for it in endings} == {
        ("failed", "ask", None),
        ("failed", "told", None),
        ("failed", "told", "Review"),
        ("completed", "ask", None),
        ("completed", "told", None),
        ("completed", "told", "Review"),
    }


def test_what_a_state_never_gets_is_no_group() -> None:
    ways: list[dict[str, Any]] = [
        {"from": "work", "to": "__end__", "on": on, "when": "true"}
        for on in ("timeout", "joined", "error", "done")
    ]
    ways.append({"from": "both", "to": "__end__", "on": "error", "when": "true"})
    graph = parse_graph(
        {
            "stateous": 1,
            "workflow": "w",
            "schemas": {},
            "states": {"work": {"emits": ["done"]}, "both": {"parallel": ["none"]}},
            "events": {"done": {}},
            "transitions": [
                {"from": "__start__", "to": "work"},
                *ways,
                {"from": "both", "to": "__end__", "on": "joined", "when": "true"},
            ],
            "workflows": {"none": {"states": {}, "events": {}, "transitions": []}},
        }
    )
    assert [it.on for it in rivals_of_graph(graph)] == ["error", "done"]


def test_a_right_flow_has_nothing_to_be_said_of_but_its_gap() -> None:
    findings = prove(of_graph().values(), within=WITHIN)
    assert [gap.sentence() for gap in findings.gaps] == [
        "'timeout' from 'ask' fails the token when count('timeout') = 3"
    ]
    assert (findings.overlaps, findings.nevers, findings.undecided) == ((), (), ())
