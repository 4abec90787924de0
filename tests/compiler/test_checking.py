"""Checks of a workflow: each mistake is told, all at once, and what is right is not."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from stateous import END, ERROR, JOINED, START, TIMEOUT, Workflow
from stateous.compiler.checking import InvalidWorkflow, check
from stateous.compiler.document import document_of, graph_of
from stateous.model.workflow import WorkflowEvent, WorkflowState


class Order(msgspec.Struct):
    title: str
    amount: int = 0


class Review(msgspec.Struct):
    approved: bool
    note: str = ""


class Parts(msgspec.Struct, frozen=True):
    """A right workflow, to be spoiled."""

    flow: Workflow
    submitted: WorkflowEvent
    reviewed: WorkflowEvent
    draft: WorkflowState
    review: WorkflowState


def orders() -> Parts:
    flow = Workflow("orders", context=Order)
    submitted = flow.event("submitted")
    reviewed = flow.event("reviewed", payload=Review)
    draft = flow.state("draft", emits=[submitted], timeout="6h", retries=1)
    review = flow.state("review", emits=[reviewed])
    flow.transition(START, draft)
    flow.transition(draft, review, on=submitted)
    flow.transition(draft, END, on=TIMEOUT)
    flow.transition(review, END, on=reviewed, when="payload.approved and count('reviewed') < 3")
    flow.transition(review, draft, on=reviewed, otherwise=True)
    return Parts(flow, submitted, reviewed, draft, review)


def checking(child_context: type[Any] | None = None) -> Workflow:
    child = Workflow("code-check", context=child_context)
    done = child.event("done", payload=Review)
    work = child.state("work", emits=[done])
    child.transition(START, work)
    child.transition(work, END, on=done)
    return child


def problems(flow: Workflow) -> tuple[str, ...]:
    """The problems of a workflow, without where they are."""
    with pytest.raises(InvalidWorkflow) as refused:
        graph_of(check(flow))
    return tuple(
        re.sub(r" \(test_checking\.py, lines? [^)]*\)$", "", it) for it in refused.value.problems
    )


def test_a_right_workflow_has_no_problems() -> None:
    graph = graph_of(check(orders().flow))
    assert list(graph.flows["orders"].states) == ["draft", "review"]


def test_all_problems_are_told_at_once_each_on_a_line() -> None:
    it = orders()
    it.flow.state("island")
    it.flow.transition(it.review, it.draft, on=it.reviewed)
    it.flow.event("timeout")
    with pytest.raises(InvalidWorkflow) as refused:
        check(it.flow)
    assert str(refused.value) == "\n  ".join(
        ["workflow 'orders' is not valid:", *refused.value.problems]
    )
    assert problems(it.flow) == (
        "the event 'timeout' has a name that Stateous keeps for itself",
        "state 'island' cannot be reached from START",
        "state 'island' has no way out: no transition leaves it",
        "two transitions from 'review' on 'reviewed' have no guard",
    )


Spoil = Callable[[Parts], object]

MISTAKES: list[tuple[Spoil, str]] = [
    (lambda it: it.flow.event("error"), "the event 'error' has a name that Stateous keeps"),
    (lambda it: it.flow.event("__started__"), "the event '__started__' has a name that Stateous keeps"),
    (lambda it: it.flow.state("__end__"), "the state '__end__' has a name that Stateous keeps"),
    (lambda it: it.flow.state("a/b"), "the state 'a/b' needs a name of ASCII letters"),
    (lambda it: it.flow.state("größe"), "needs a name of ASCII letters"),
    (lambda it: it.flow.state("_x"), "needs a name of ASCII letters"),
    (lambda it: it.flow.state(""), "needs a name of ASCII letters"),
    (lambda it: it.flow.state("class"), "the state 'class' has a name that is a word of Python"),
    (lambda it: it.flow.event("x" * 65), "has a name of more than 64 characters"),
    (lambda it: it.flow.event("submitted"), "the event 'submitted' is declared 2 times"),
    (lambda it: it.flow.state("draft"), "the state 'draft' is declared 2 times"),
    (lambda it: it.flow.state("s", emits=["nothing"]), "state 's' emits 'nothing', which is no event of the workflow"),
    (lambda it: it.flow.state("s", emits=[TIMEOUT]), "state 's' emits 'timeout', which only Stateous raises"),
    (lambda it: it.flow.state("s", emits=[it.submitted, "submitted"]), "state 's' emits 'submitted' twice"),
    (lambda it: it.flow.state("s", emits=[orders().submitted]), "emits 'submitted', which is an event of workflow 'orders'"),
    (lambda it: it.flow.state("s", timeout="soon"), "the timeout of state 's': 'soon' is not a duration"),
    (lambda it: it.flow.state("s", timeout="0s"), "the timeout of state 's'"),
    (lambda it: it.flow.state("s", retries=-1), "the retries of state 's' must be a whole number"),
    (lambda it: it.flow.state("s", retries=True), "the retries of state 's' must be a whole number"),
    (lambda it: it.flow.state("s", join="any"), "takes no join and no inputs"),
    (lambda it: it.flow.state("s", inputs=["title"]), "takes no join and no inputs"),
    (lambda it: it.flow.state("s", parallel=[checking()], join="most"), "must be 'all' or 'any'"),  # type: ignore[arg-type]
    (lambda it: it.flow.state("s", parallel=["x"]), "can run only workflows"),  # type: ignore[list-item]
    (lambda it: it.flow.state("s", parallel=[checking(), checking()]), "two workflows have the name 'code-check'"),
    (lambda it: it.flow.state("s", parallel=[checking()] * 2), "state 's' runs a workflow twice"),
    (lambda it: it.flow.state("s", parallel=[it.flow]), "a workflow runs itself: 'orders' runs 'orders'"),
    (lambda it: it.flow.state("s", parallel=[Workflow("orders")]), "two workflows have the name 'orders'"),
    (lambda it: it.flow.state("s", parallel=[Workflow("a b")]), "the workflow 'a b' needs a name of ASCII"),
    (lambda it: it.flow.state("s", parallel=[checking()], emits=[it.submitted]), "so it emits nothing"),
    (lambda it: it.flow.state("s", parallel=[checking()], retries=1), "so it takes no retries"),
    (lambda it: it.flow.state("s", parallel=[checking(Order)]), "must hand 'title' over to workflow 'code-check'"),
    (lambda it: it.flow.state("s", parallel=[checking()], inputs=["nope"]), "hands over 'nope', which is no field"),
    (lambda it: it.flow.transition(it.draft, "nowhere", on=it.submitted), "leads to 'nowhere', which is no state"),
    (lambda it: it.flow.transition("nowhere", it.draft, on=it.submitted), "leaves 'nowhere', which is no state"),
    (lambda it: it.flow.transition(END, it.draft, on=it.submitted), "leaves END, which no token leaves"),
    (lambda it: it.flow.transition(it.draft, START, on=it.submitted), "leads to START, where tokens only begin"),
    (lambda it: it.flow.transition(it.draft, orders().review, on=it.submitted), "leads to 'review', which is a state of workflow 'orders'"),
    (lambda it: it.flow.transition(it.draft, it.review), "lacks the event that it is taken on"),
    (lambda it: it.flow.transition(it.draft, it.review, on="nothing"), "is taken on 'nothing', which is no event"),
    (lambda it: it.flow.transition(it.draft, it.review, on="__started__"), "which only Stateous raises"),
    (lambda it: it.flow.transition(START, it.review, on=it.submitted), "leaves START, so it is taken on no event"),
    (lambda it: it.flow.transition(START, it.review), "two transitions from START have no guard"),
    (lambda it: it.flow.transition(it.draft, it.review, on=ERROR, when="payload"), "does not parse"),
    (lambda it: it.flow.transition(it.draft, it.review, on=ERROR, when=1), "must be text such as"),  # type: ignore[arg-type]
    (
        lambda it: it.flow.transition(it.draft, it.review, on=ERROR, when="true", otherwise=True),
        "has 'when' and 'otherwise'",
    ),
    (
        lambda it: it.flow.transition(it.review, it.draft, on=it.reviewed, when="payload.approved and  count('reviewed')<3"),
        "two transitions from 'review' on 'reviewed' have the guard",
    ),
    (lambda it: it.flow.transition(it.review, END, on=TIMEOUT), "is never taken: 'review' has no timeout"),
    (lambda it: it.flow.transition(it.review, END, on=JOINED), "is never taken: 'review' runs no workflows"),
    (lambda it: it.flow.state("s", parallel=[checking()]), "state 's' has no way out"),
    (lambda it: guarded(it, "ctx['nope']"), "reads ctx['nope'], which is no field of the context model"),
    (lambda it: guarded(it, "payload.nope"), "reads payload.nope, which is no field of the model of 'reviewed'"),
    (lambda it: guarded(it, "count('nope')"), "counts 'nope', which is no event of the workflow"),
    (
        lambda it: it.flow.transition(it.draft, END, on=it.submitted, when="payload.x"),
        "reads the payload, and 'submitted' carries none",
    ),
    (lambda it: it.flow.transition(it.draft, END, on=ERROR, when="payload.x"), "and 'error' carries none"),
    (lambda it: it.flow.transition(START, END, when="payload.x"), "at START there is none"),
    (lambda it: it.flow.transition(START, END, when="count('submitted')"), "at START there are none"),
    (
        lambda it: it.flow.state("s", emits=[it.submitted, it.reviewed])
        and it.flow.transition("s", END, on=it.submitted),
        "state 's' emits 'reviewed', and no transition from it takes 'reviewed'",
    ),
]  # fmt: skip


def guarded(it: Parts, when: str) -> None:
    it.flow.transition(it.review, END, on=it.reviewed, when=when)


@pytest.mark.parametrize(("spoil", "said"), MISTAKES)
def test_a_mistake_is_told(spoil: Spoil, said: str) -> None:
    it = orders()
    spoil(it)
    assert any(said in problem for problem in problems(it.flow)), problems(it.flow)


def test_a_workflow_needs_a_way_in() -> None:
    flow = Workflow("orders")
    flow.state("draft")
    assert problems(flow) == (
        "no transition leaves START",
        "state 'draft' has no way out: no transition leaves it",
    )


def test_a_misspelt_transition_hides_no_other_mistake_and_makes_none() -> None:
    it = orders()
    it.flow.state("late")
    it.flow.transition(it.review, "laet", on=it.reviewed, when="payload.note == 'late'")
    it.flow.event("__started__")
    assert problems(it.flow) == (
        "the event '__started__' has a name that Stateous keeps for itself",
        "the transition from 'review' to 'laet' leads to 'laet', which is no state of the workflow: did you mean 'late'?",
        "state 'late' has no way out: no transition leaves it",
    )


def parallel(**settings: Any) -> tuple[Workflow, Workflow]:
    flow, child = Workflow("orders", context=Order), checking(Order)
    checks = flow.state("checks", parallel=[child], inputs=["title"], **settings)
    flow.transition(START, checks)
    return flow, child


def test_a_parallel_state_needs_a_way_on_joined() -> None:
    flow, _ = parallel(timeout="1h")
    flow.transition("checks", END, on=TIMEOUT)
    assert problems(flow) == (
        "state 'checks' runs workflows, and no transition from it takes JOINED",
    )


def test_a_parallel_state_has_no_error() -> None:
    flow, _ = parallel()
    flow.transition("checks", END, on=JOINED)
    flow.transition("checks", END, on=ERROR)
    assert problems(flow) == (
        "the transition from 'checks' to END on 'error' is never taken: 'checks' has no task that could fail",
    )


def test_guards_on_joined_read_what_children_carry() -> None:
    flow, _ = parallel()
    flow.transition("checks", END, on=JOINED, when="branches.all(payload.approved)")
    flow.transition("checks", END, on=JOINED, when="branches.any(payload.nope)")
    flow.transition("checks", END, on=JOINED, when="payload.nope")
    assert [problem.split(" reads ")[1] for problem in problems(flow)] == [
        "payload.nope, which is no field of any event of the workflows it runs: did you mean payload.note?",
        "payload.nope, which is no field of 'joined'",
    ]


def test_a_childs_problems_say_whose_they_are() -> None:
    flow, child = parallel()
    flow.transition("checks", END, on=JOINED)
    child.state("island")
    assert problems(flow)[0] == "workflow 'code-check': state 'island' cannot be reached from START"


def test_names_may_stand_for_states_and_events() -> None:
    flow = Workflow("orders")
    flow.event("go")
    flow.state("draft", emits=["go"])
    flow.transition(START, "draft")
    flow.transition("draft", END, on="go")
    assert document_of(check(flow))["transitions"] == [
        {"from": "__start__", "to": "draft"},
        {"from": "draft", "to": "__end__", "on": "go"},
    ]


def test_the_document_is_that_of_the_wire() -> None:
    flow, _ = parallel(join="any", timeout="1h")
    flow.transition("checks", END, on=JOINED, when="branches.all(status == 'completed')")
    flow.transition("checks", END, on=JOINED, otherwise=True)
    flow.transition("checks", "checks", on=TIMEOUT)
    order: dict[str, Any] = {
        "title": "Order",
        "type": "object",
        "properties": {"title": {"type": "string"}, "amount": {"type": "integer", "default": 0}},
        "required": ["title"],
    }
    review: dict[str, Any] = {
        "title": "Review",
        "type": "object",
        "properties": {"approved": {"type": "boolean"}, "note": {"type": "string", "default": ""}},
        "required": ["approved"],
    }
    assert document_of(check(flow)) == {
        "stateous": 1,
        "workflow": "orders",
        "context": "Order",
        "states": {
            "checks": {
                "parallel": ["code-check"],
                "join": "any",
                "inputs": ["title"],
                "timeout": "1h",
            }
        },
        "events": {},
        "transitions": [
            {"from": "__start__", "to": "checks"},
            {
                "from": "checks",
                "to": "__end__",
                "on": "joined",
                "when": "branches.all(status == 'completed')",
            },
            {"from": "checks", "to": "__end__", "on": "joined", "otherwise": True},
            {"from": "checks", "to": "checks", "on": "timeout"},
        ],
        "workflows": {
            "code-check": {
                "context": "Order",
                "states": {"work": {"emits": ["done"]}},
                "events": {"done": {"payload": "Review"}},
                "transitions": [
                    {"from": "__start__", "to": "work"},
                    {"from": "work", "to": "__end__", "on": "done"},
                ],
            }
        },
        "schemas": {"Order": order, "Review": review},
    }
