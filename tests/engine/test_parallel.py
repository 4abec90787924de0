"""Parallel states and joins (docs/ledger.md): children start with their parent's visit, and their ends meet its join."""

from __future__ import annotations

import pytest

from stateous.engine.answers import Moved
from stateous.model.refusals import EventNotAllowed
from tests.engine.graphs import Json, Way, flow, main, parallel, working
from tests.engine.saying import fails
from tests.engine.world import World

SECURITY, STYLE = "C.reviews.1.security", "C.reviews.1.style"
OUTER = "C.reviews.1.outer"
NESTED = "C.reviews.1.outer.inner.1.style"


def reviewed(join: str = "all", *, nested: bool = False) -> World:
    """A token `C` that has just entered its parallel state `reviews`."""
    world = World(parallel(join=join, nested=nested))
    world.start("C", title="x", other=1)
    world.report(world.work("work").task, "ready")
    return world


def joined(world: World, token: str = "C") -> list[Json]:
    """The branches of the last `joined` that a token accepted."""
    payloads = [
        data["payload"]
        for kind, data in world.entries(token)
        if kind == "event_accepted" and data["event"] == "joined"
    ]
    return payloads[-1]["branches"]


# -- entering -----------------------------------------------------------------------------------------


def test_a_parallel_state_starts_its_children_in_order_and_queues_no_task() -> None:
    world = reviewed()
    assert world.entries("C")[-3:] == [
        ("entered", {"state": "reviews", "visit": 1}),
        ("branch_started", {"workflow": "security", "token": SECURITY}),
        ("branch_started", {"workflow": "style", "token": STYLE}),
    ]
    assert world.tokens["C"].task is None
    world.check_invariants()


def test_a_child_starts_with_the_inputs_of_its_parent_and_names_it() -> None:
    world = reviewed()
    assert world.entries(SECURITY) == [
        ("started", {"context": {"title": "x"}, "parent": "C"}),
        ("event_accepted", {"event": "__started__", "payload": None, "state": "__start__"}),
        ("entered", {"state": "look", "visit": 1}),
        ("task_queued", {"task": 2, "state": "look"}),
    ]
    child = world.tokens[SECURITY]
    assert (child.parent, child.root, child.workflow) == ("C", "C", "security")


def test_an_input_that_the_parent_does_not_have_is_left_to_the_childs_default() -> None:
    child: Json = {**working(), "context": "Child"}
    schemas: Json = {"Child": {"type": "object", "properties": {"title": {"default": "untitled"}}}}
    states: Json = {"p": {"parallel": ["c"], "inputs": ["title", "size"]}}
    graph = main(states, [("__start__", "p")], schemas=schemas, children={"c": child})
    world = World(graph)
    world.start("T", size=None, other=1)
    assert world.tokens["T.p.1.c"].context == {"size": None, "title": "untitled"}
    world.start("U", title=None)
    assert world.tokens["U.p.1.c"].context == {"title": None}


def test_a_nested_child_gets_its_inputs_from_its_own_parent() -> None:
    outer = flow({"in": {"parallel": ["c"], "inputs": ["a", "b"]}}, [("__start__", "in")])
    states: Json = {"p": {"parallel": ["outer"], "inputs": ["a"]}}
    graph = main(states, [("__start__", "p")], children={"outer": outer, "c": working()})
    world = World(graph)
    world.start("T", a=1, b=2)
    assert world.tokens["T.p.1.outer.in.1.c"].context == {"a": 1}
    assert world.tokens["T.p.1.outer.in.1.c"].root == "T"
    world.check_invariants()


def test_each_visit_starts_children_of_its_own() -> None:
    world = reviewed()
    world.fire("C", "leave")
    world.report(world.work("work").task, "ready")
    assert world.tokens["C"].visit == 2
    assert world.tokens["C.reviews.2.style"].status == "active"
    assert world.tokens[STYLE].status == "cancelled"
    world.check_invariants()


def test_the_tasks_of_children_are_queued_under_the_name_of_their_workflow() -> None:
    world = reviewed()
    assert not world.claim("look", "reviews/look", "changes/look")
    grant = world.work("security/look")
    assert (grant.token, grant.state, grant.visit) == (SECURITY, "security/look", 1)
    assert grant.context == {"title": "x"}


# -- joining ------------------------------------------------------------------------------------------


def test_a_join_of_all_waits_for_every_child() -> None:
    world = reviewed()
    world.fire(STYLE, "passed", {"approved": True})
    assert world.tokens["C"].state == "reviews"
    assert world.kinds("C")[-1] == "branch_started"
    world.report(world.work("security/look").task, "passed", payload={"approved": False})
    assert world.tokens["C"].state == "ship"
    world.check_invariants()


def test_branches_come_in_the_order_of_the_state_whoever_ended_first() -> None:
    world = reviewed()
    world.fire(STYLE, "passed", {"approved": True})
    fails(world, world.work("security/look").task)
    assert joined(world) == [
        {
            "workflow": "security",
            "token": SECURITY,
            "status": "failed",
            "final": "look",
            "payload": None,
        },
        {
            "workflow": "style",
            "token": STYLE,
            "status": "completed",
            "final": "look",
            "payload": None,
        },
    ]
    assert world.tokens["C"].state == "work"


def test_a_branch_tells_what_brought_the_child_to_its_last_state() -> None:
    child = flow(
        {"a": {"emits": ["on"]}, "b": {"emits": ["off"]}},
        [("__start__", "a"), ("a", "b", "on"), ("b", "__end__", "off")],
        events={"on": {"payload": "Any"}, "off": {"payload": "Any"}},
    )
    states: Json = {"p": {"parallel": ["c"]}, "t": {"emits": []}}
    ways: list[Way] = [("__start__", "p"), ("p", "t", "joined", "branches.all(payload.n == 1)")]
    world = World(main(states, ways, schemas={"Any": {}}, children={"c": child}))
    world.start("T")
    world.fire("T.p.1.c", "on", {"n": 1})
    world.fire("T.p.1.c", "off", {"n": 2})
    (branch,) = joined(world, "T")
    assert (branch["final"], branch["payload"]) == ("b", {"n": 1})
    assert world.tokens["T"].state == "t"


def test_a_join_of_any_is_met_by_the_first_end_and_cancels_the_others() -> None:
    world = reviewed("any")
    fails(world, world.work("style/look").task)
    assert [branch["token"] for branch in joined(world)] == [STYLE]
    reason = "the parent left 'reviews' on 'joined'"
    assert world.entries(SECURITY)[-2:] == [
        ("task_cancelled", {"task": 2}),
        ("cancelled", {"reason": reason}),
    ]
    assert world.tokens["C"].state == "work"
    world.check_invariants()


def test_the_childs_end_comes_before_the_join_and_both_have_one_time() -> None:
    world = reviewed("any")
    world.pass_time(3)
    world.fire(STYLE, "passed", {"approved": True})
    assert world.ledger[STYLE][-1].at == world.ledger["C"][-1].at == world.now
    assert world.kinds(STYLE)[-2:] == ["task_cancelled", "completed"]


def test_a_join_that_no_transition_takes_fails_the_parent() -> None:
    states: Json = {"p": {"parallel": ["c"]}}
    world = World(main(states, [("__start__", "p")], children={"c": working()}))
    world.start("T")
    world.fire("T.p.1.c", "done")
    kind, data = world.entries("T")[-1]
    assert kind == "failed"
    assert data["reason"].startswith("the join of 'p' cannot move the token: ")
    assert "joined" not in world.tokens["T"].counts
    world.check_invariants()


def test_a_join_that_two_guards_take_fails_the_parent_and_cancels_its_other_children() -> None:
    states: Json = {"p": {"parallel": ["a", "b"], "join": "any"}, "t": {"emits": []}}
    ways: list[Way] = [
        ("__start__", "p"),
        ("p", "t", "joined", "branches.any(status == 'completed')"),
        ("p", "p", "joined", "branches.all(final == 'do')"),
    ]
    world = World(main(states, ways, children={"a": working(), "b": working()}))
    world.start("T")
    world.fire("T.p.1.b", "done")
    assert world.tokens["T"].status == "failed"
    assert world.tokens["T.p.1.a"].status == "cancelled"
    assert "more than one guard" in world.entries("T")[-1][1]["reason"]
    world.check_invariants()


def test_a_cancelled_child_meets_no_join() -> None:
    world = reviewed("any")
    world.fire("C", "leave")
    assert "joined" not in world.tokens["C"].counts
    assert world.tokens["C"].state == "work"


def test_leaving_cancels_the_live_children_in_order_and_down_to_the_last() -> None:
    world = reviewed(nested=True)
    seen = {token: len(world.ledger[token]) for token in world.ledger}
    world.fire("C", "leave")
    reason = "the parent left 'reviews' on 'leave'"
    assert world.entries(SECURITY, after=seen[SECURITY])[-1] == ("cancelled", {"reason": reason})
    assert world.entries(OUTER, after=seen[OUTER]) == [("cancelled", {"reason": reason})]
    assert world.kinds(NESTED, after=seen[NESTED]) == ["task_cancelled", "cancelled"]
    assert world.kinds("C", after=seen["C"]) == ["event_accepted", "entered", "task_queued"]
    world.check_invariants()


def test_leaving_does_not_touch_children_that_have_ended() -> None:
    world = reviewed()
    world.fire(STYLE, "passed", {"approved": True})
    before = world.entries(STYLE)
    world.fire("C", "leave")
    assert world.entries(STYLE) == before
    world.check_invariants()


def test_a_nested_join_may_meet_the_join_above_it_in_the_same_decision() -> None:
    world = reviewed(nested=True)
    world.fire(SECURITY, "passed", {"approved": True})
    world.pass_time(1)
    world.fire(NESTED, "passed", {"approved": True})
    assert world.tokens[OUTER].status == "completed"
    assert world.tokens["C"].state == "ship"
    assert world.ledger["C"][-1].at == world.ledger[OUTER][-1].at == world.now
    world.check_invariants()


def test_a_nested_child_that_fails_is_a_branch_of_its_own_parent_only() -> None:
    world = reviewed(nested=True)
    world.fire(SECURITY, "passed", {"approved": True})
    fails(world, world.work("style/look").task)
    assert world.tokens[NESTED].status == "failed"
    assert world.tokens[OUTER].status == "completed"
    assert world.tokens["C"].state == "ship"


def test_events_of_the_parent_are_refused_by_the_child_and_the_other_way_round() -> None:
    world = reviewed()
    assert isinstance(world.fire("C", "passed", {"approved": True}), EventNotAllowed)
    assert isinstance(world.fire(STYLE, "leave"), EventNotAllowed)
    assert isinstance(world.fire(STYLE, "passed", {"approved": True}), Moved)


@pytest.mark.parametrize("join", ["all", "any"])
def test_a_single_child_meets_either_join(join: str) -> None:
    states: Json = {"p": {"parallel": ["c"], "join": join}}
    ways: list[Way] = [("__start__", "p"), ("p", "__end__", "joined")]
    world = World(main(states, ways, children={"c": working()}))
    world.start("T")
    world.fire("T.p.1.c", "done")
    assert world.tokens["T"].status == "completed"
    assert world.kinds("T")[-2:] == ["event_accepted", "completed"]
    world.check_invariants()


def test_a_report_that_ends_a_child_answers_with_the_child() -> None:
    world = reviewed("any")
    answer = world.report(world.work("style/look").task, "passed", payload={"approved": True})
    assert isinstance(answer, Moved)
    assert (answer.token.token, answer.token.status) == (STYLE, "completed")


def test_a_second_entry_below_the_same_parent_needs_a_free_id() -> None:
    world = reviewed()
    world.fire("C", "leave")
    world.start("c.REVIEWS.2.Style", title="x")
    task = world.work("work").task
    assert isinstance(world.report(task, "ready"), EventNotAllowed)
    assert world.tokens["C"].state == "work"
    world.check_invariants()
