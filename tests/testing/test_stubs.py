"""Stubs stand in for routines: what they may say, and what does not fit the workflow."""

from __future__ import annotations

import asyncio
import types
from typing import Any

import pytest

from stateous import (
    Context,
    TaskNotHeld,
    on_state,
)
from stateous.testing import CannotTest, Rehearsal
from tests.testing import orders as flow
from tests.testing.orders import Review, draft, events, orders, states

WAITS: Any = {states.draft: events.submitted, states.review: None}


def test_a_state_without_routine_or_stub_is_left_alone() -> None:
    world = Rehearsal(orders, routines=[flow.write])
    token = world.start("ORDER-1", {"title": "x"})
    world.run()
    assert (token.state, token.waits) == ("review", False)
    assert token.task is not None
    with pytest.raises(TaskNotHeld, match="it is queued"):
        world.report(token, events.reviewed(approved=True))


def approves(_: Context) -> events.reviewed:
    return events.reviewed(approved=True)


STUBS: list[Any] = [
    events.reviewed(approved=True),
    events.reviewed({"approved": True}),
    (flow.reviewed, {"approved": True}),
    (flow.reviewed, Review(approved=True)),
    ("reviewed", {"approved": True}),
    (events.reviewed, Review(approved=True)),
    [events.reviewed(approved=True)],
    approves,
]


@pytest.mark.parametrize("stub", STUBS)
def test_a_stub_says_what_its_state_does(stub: Any) -> None:
    world = Rehearsal(orders, stubs={"draft": "submitted", "review": stub})
    token = world.start("ORDER-1", {"title": "x"})
    world.run()
    assert token.state == "checks"


@pytest.mark.parametrize("state", [states.draft, draft, "draft"])
@pytest.mark.parametrize(
    "stub", [events.submitted, events.submitted(), flow.submitted, "submitted"]
)
def test_a_state_and_an_event_have_several_names(state: Any, stub: Any) -> None:
    world = Rehearsal(orders, stubs={state: stub})
    token = world.start("ORDER-1", {"title": "x"})
    world.run()
    assert token.state == "review"


def test_a_list_is_one_step_for_each_attempt_of_a_token() -> None:
    steps: Any = [ValueError("no ink"), events.submitted, ValueError("no ink again")]
    world = Rehearsal(
        orders, stubs={states.draft: steps, states.review: events.reviewed(approved=False)}
    )
    one, two = (world.start(token, {"title": "x"}) for token in ("ONE", "TWO"))
    world.run()
    for token in (one, two):
        # The second visit fails in all three attempts, and goes to mend.
        assert (token.state, token.visit) == ("mend", 1)
        failures = [e.data["error"] for e in token.history if e.kind == "task_failed"]
        assert failures == ["ValueError: no ink", *["ValueError: no ink again"] * 3]


def test_a_stub_stands_before_the_routine() -> None:
    world = Rehearsal(orders, routines=[flow], stubs={states.review: flow.nudged})
    token = world.start("ORDER-1", {"title": "x"})
    with pytest.raises(CannotTest, match="after 20 attempts there is still work"):
        world.run(at_most=20)
    assert (token.state, token.visit) == ("review", 20)


def test_a_stub_may_be_a_routine_of_any_kind() -> None:
    async def asks(ctx: Context) -> object:
        await asyncio.sleep(0)
        ctx.note("asked")
        return None

    def looks(ctx: Context) -> object:
        ctx.note("looked")
        return events.nudged()

    world = Rehearsal(orders, stubs={states.draft: "submitted", states.review: [looks, asks]})
    token = world.start("ORDER-1", {"title": "x"})
    world.run()
    assert (token.notes, token.waits) == (["looked", "asked"], True)


def test_a_payload_that_breaks_its_model_fails_the_attempt() -> None:
    world = Rehearsal(orders, stubs={"draft": "submitted", "review": ("reviewed", {"approved": 1})})
    token = world.start("ORDER-1", {"title": "x"})
    world.run()
    assert token.status == "failed"
    assert "the control plane refused the report: the payload of 'reviewed'" in token.sentences[-1]


@on_state(states.draft)
def write_too(_: Context) -> events.submitted:
    return events.submitted()


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"stubs": {"nowhere": None}}, "the workflow 'orders' has no state 'nowhere': 'draft', "),
    ({"stubs": {"checks": None}}, "the state 'checks' has no routine: it starts child tokens"),
    ({"stubs": {"look": None}}, "the workflow 'orders' has no state 'look': "),
    (
        {"stubs": {"draft": "sent"}},
        "the stub of 'draft' returns 'sent', and the state emits 'submitted'",
    ),
    ({"stubs": {"draft": events.shipped}}, "the stub of 'draft' returns 'shipped', "),
    ({"stubs": {"draft": []}}, "the stub of 'draft' is an empty list: say what it does"),
    ({"stubs": {"draft": (events.submitted(), {})}}, "the payload of 'submitted' is given twice"),
    ({"stubs": {"draft": 7}}, "the stub of 'draft' is 7: it is an event, (event, payload), None, "),
    ({"stubs": {"draft": ("submitted", {}, 7)}}, "the stub of 'draft' is ('submitted', {}, 7): "),
    ({"stubs": {"draft": (7, {})}}, "7 is no event: "),
    ({"routines": types}, "routines are given as a list: [routines]"),
    ({"stubs": {"draft": lambda: None}}, "<lambda> in test_stubs.py must take one argument"),
    ({"routines": [types]}, "the module types has no routine: mark one with @on_state"),
    (
        {"routines": [test_a_stub_says_what_its_state_does]},
        "test_a_stub_says_what_its_state_does is marked for",
    ),
    (
        {"routines": [flow, write_too]},
        "the state 'draft' has two routines: write in orders.py, and write_too in test_stubs.py",
    ),
]


@pytest.mark.parametrize(("given", "sentence"), WRONG)
def test_what_does_not_fit_the_workflow_is_told_at_once(given: Any, sentence: str) -> None:
    with pytest.raises(CannotTest) as told:
        Rehearsal(orders, **given)
    assert str(told.value).startswith(sentence)


def test_a_routine_that_is_found_twice_is_one_routine() -> None:
    assert Rehearsal(orders, routines=[flow, flow.write, flow]).graph.workflow == "orders"
