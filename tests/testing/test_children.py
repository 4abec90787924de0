"""Children of routines, in memory: given by the test to one routine, or really run in a whole workflow."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stateous import (
    END,
    START,
    ChildIdTaken,
    ChildResult,
    Context,
    Event,
    InvalidTokenId,
    StateRef,
    Workflow,
    WorkflowRef,
    on_state,
)
from stateous.testing import CannotTest, Rehearsal, run_routine


class Asked(msgspec.Struct):
    order: str
    depth: int = 1


audit = Workflow("audit", context=Asked)
fine = audit.event("fine")
look = audit.state("look", emits=[fine])
audit.transition(START, look)
audit.transition(look, END, on=fine)
order = Workflow("order")
shipped = order.event("shipped")
ship = order.state("ship", emits=[shipped], children=[audit], retries=1)
order.transition(START, ship)
order.transition(ship, END, on=shipped)

AUDIT = WorkflowRef[Asked]("audit", Asked)
SHIP = StateRef("ship", emits=("shipped",))


class Shipped(Event):
    name = "shipped"


@on_state(SHIP)
def routine(ctx: Context) -> Shipped:
    result: ChildResult[Asked] = ctx.child("audit", AUDIT, Asked(ctx.token))
    ctx["found"] = [result.status, result.context.depth, result.final]
    return Shipped()


def tells(ctx: Context) -> Shipped:
    result = ctx.child("audit", "audit", {"order": ctx.token}, fail_on_failure=False)
    ctx["found"] = [result.status, result.reason]
    return Shipped()


def alone(function: Any, workflow: Any, **given: Any) -> Any:
    more = {} if workflow is None else {"workflow": workflow}
    return run_routine(function, state=SHIP, **more, **given)


@pytest.mark.parametrize("workflow", [None, order])
def test_one_routine_is_run_on_with_what_its_children_come_to(workflow: Any) -> None:
    done = alone(routine, workflow)
    assert (done.waits, done.awaits, done.event) == (True, "audit", None)
    done = alone(routine, workflow, children={"audit": Asked("TOKEN-1", 7)})
    assert done.context["found"] == ["completed", 7, ""]
    assert done.steps["audit"]["token"] == "TOKEN-1.ship.1.audit"
    told = ChildResult(
        token="", workflow="", status="completed", final="look", context={"order": "x", "depth": 2}
    )
    assert alone(routine, workflow, children={"audit": told}).context["found"][1:] == [2, "look"]


@pytest.mark.parametrize("workflow", [None, order])
def test_a_child_may_fail(workflow: Any) -> None:
    done = alone(routine, workflow, children={"audit": ValueError("no books")})
    assert done.error == "the child 'TOKEN-1.ship.1.audit' failed: no books"
    assert (done.waits, done.event, done.awaits) == (False, None, None)
    done = alone(tells, workflow, children={"audit": ValueError("no books")})
    assert done.context["found"] == ["failed", "no books"]


@pytest.mark.parametrize("workflow", [None, order])
def test_a_child_that_is_never_asked_for_cannot_be_given(workflow: Any) -> None:
    said = "routine never came to the child 'audti', which the test gives: it came to 'audit'."
    with pytest.raises(CannotTest, match=said):
        alone(routine, workflow, children={"audit": None, "audti": None})


def test_what_the_workflow_does_not_take_is_raised() -> None:
    with pytest.raises(
        CannotTest, match="that the child 'audit' ends with does not fit: 'order' is"
    ):
        alone(routine, order, children={"audit": {"depth": "x"}})

    def wrong(ctx: Context) -> None:
        ctx.child("audit", "audit", {"order": 1})

    assert "cannot start" in (alone(wrong, order).error or "")


@pytest.mark.parametrize("workflow", [None, order])
def test_an_id_that_no_child_can_have_is_refused_as_in_earnest(workflow: Any) -> None:
    def names_it_oddly(ctx: Context) -> None:
        ctx.child("to a@b", "audit", {"order": ctx.token})

    assert isinstance(alone(names_it_oddly, workflow).raised, InvalidTokenId)

    def takes_one_twice(ctx: Context) -> None:
        for name in ("first", "second"):
            ctx.child(name, "audit", {"order": ctx.token}, id="A-1")

    done = alone(takes_one_twice, workflow, children={"first": None})
    assert isinstance(done.raised, ChildIdTaken)

    def takes_its_own(ctx: Context) -> None:
        ctx.child("audit", "audit", {"order": ctx.token}, id=ctx.token.lower())

    assert isinstance(alone(takes_its_own, workflow).raised, ChildIdTaken)


def test_a_workflow_that_runs_itself_is_tried_like_others() -> None:
    """No flow.py has it, but a graph file may."""
    way = {"from": "__start__", "to": "look"}
    again: dict[str, Any] = {
        "states": {"look": {"emits": ["fine"], "children": ["audit", "audit'"]}},
        "events": {"fine": {}},
        "transitions": [way, {"from": "look", "to": "__end__", "on": "fine"}],
    }
    graph: dict[str, Any] = {
        "stateous": 1,
        "workflow": "order",
        "states": {"ship": {"emits": [], "children": ["audit"]}},
        "events": {},
        "transitions": [{"from": "__start__", "to": "ship"}],
        "schemas": {},
        "workflows": {"audit": again, "audit'": again},
    }

    def deeper(ctx: Context) -> None:
        ctx["found"] = ctx.child("below", "audit", {"depth": 1}).context["depth"]

    done = run_routine(deeper, state="audit/look", workflow=graph, children={"below": {"depth": 2}})
    assert done.context == {"found": 2}


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_whole_workflow_runs_its_children_wherever_it_is_killed(moment: str) -> None:
    world = Rehearsal(order, routines=[routine], stubs={"audit/look": "fine"})
    crash = world.crash_before if moment == "before" else world.crash_after
    crash(SHIP, step="audit")
    token = world.start("T")
    world.run()
    assert token.status == "completed"
    assert token.context["found"] == ["completed", 1, "look"]
    assert [child.token for child in token.children] == ["T.ship.1.audit"]


def test_a_failed_child_fails_the_token() -> None:
    world = Rehearsal(order, routines=[routine], stubs={"audit/look": ValueError("no books")})
    token = world.start("T")
    world.run()
    assert token.status == "failed"
    assert "step audit of task 1 faulted: the child 'T.ship.1.audit' failed" in " ".join(
        token.sentences
    )


@pytest.mark.parametrize(
    ("workflow", "given", "said"),
    [
        ("nope", {}, "ChildNotDeclared: the state 'ship' declares no child workflow 'nope'"),
        ("audit", {"id": "T"}, "ChildIdTaken: the id 'T' is taken"),
    ],
)
def test_a_child_that_no_retry_can_have_fails_for_good(
    workflow: str, given: dict[str, Any], said: str
) -> None:
    @on_state(SHIP)
    def asks(ctx: Context) -> Shipped:
        ctx.child("audit", workflow, {"order": "x"}, **given)
        return Shipped()

    world = Rehearsal(order, routines=[asks], stubs={"audit/look": "fine"})
    token = world.start("T")
    world.run()
    assert (token.status, token.children) == ("failed", [])
    kinds = [entry.kind for entry in token.history]
    assert kinds[-3:] == ["flow_failed", "task_failed", "failed"]
    assert said in " ".join(token.sentences)


def test_another_input_is_another_child() -> None:
    caught: list[Exception] = []

    @on_state(SHIP)
    def other(ctx: Context) -> Shipped:
        try:
            ctx.child("audit", AUDIT, {"order": str(ctx.attempt)})
        except ChildIdTaken as problem:
            caught.append(problem)
        return Shipped()

    world = Rehearsal(order, routines=[other])
    world.crash_after(SHIP, step="audit")
    world.start("T")
    world.run()
    assert len(caught) == 1
