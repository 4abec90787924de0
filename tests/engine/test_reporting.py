"""A report (docs/ledger.md): what an event and `waiting` save, in which order, and what guards then read."""

from __future__ import annotations

from datetime import timedelta

from stateous.engine.answers import Moved
from stateous.engine.commands import Pause
from stateous.engine.family import Schedule
from stateous.model.refusals import EventNotAllowed, TaskNotHeld
from tests.engine.graphs import ORDERS, Json, gate, main, parallel
from tests.engine.saying import waits
from tests.engine.world import World


def test_an_event_is_written_change_by_change() -> None:
    world = World(ORDERS)
    world.start("T", title="x")
    task = world.work("draft").task
    seen = len(world.ledger["T"])
    world.report(
        task,
        "submitted",
        context={"title": "y", "author": "me"},
        schedules=(Schedule("nudge", None, "2h"),),
        supervisor="box",
        attempt=1,
    )
    due_at = world.now + timedelta(hours=2)
    changes = {"title": "y", "author": "me"}
    assert world.entries("T", after=seen)[:6] == [
        ("context_changed", {"keys": ["author", "title"], "changes": changes}),
        ("timer_set", {"event": "nudge", "due_at": due_at}),
        ("event_accepted", {"event": "submitted", "payload": None, "state": "draft"}),
        ("task_done", {"task": task}),
        ("entered", {"state": "review", "visit": 1}),
        ("task_queued", {"task": 3, "state": "review"}),
    ]
    world.check_invariants()


def test_timers_of_a_reported_event_belong_to_the_state_that_is_left_and_go_with_it() -> None:
    world = gate(("s", "s", "go"))
    world.report(world.work("s").task, "go", schedules=(Schedule("go", None, "1h"),))
    assert [(timer.visit, timer.status) for timer in world.timers.values()] == [(1, "cancelled")]


def test_changes_are_merged_at_the_top_and_null_is_a_value() -> None:
    world = gate(("s", "s", "go"))
    world.tokens["T"].context = {"a": {"x": 1}, "b": 2, "c": 3}
    world.report(world.work("s").task, "go", context={"a": {"y": 2}, "b": None})
    assert world.tokens["T"].context == {"a": {"y": 2}, "b": None, "c": 3}


def test_equal_values_are_a_change_and_no_keys_are_none() -> None:
    world = World(ORDERS)
    world.start("T", title="x")
    world.report(world.work("draft").task, "submitted", context={"title": "x"})
    assert world.kinds("T").count("context_changed") == 1
    world.report(world.work("review").task, "reviewed", payload={"approved": False}, context={})
    assert world.kinds("T").count("context_changed") == 1


def test_guards_read_the_changed_context() -> None:
    world = gate(("s", "t", "go", "ctx['size'] == 2"), ("s", "s", "go"))
    world.report(world.work("s").task, "go", context={"size": 2})
    assert world.tokens["T"].state == "t"


def test_a_child_gets_its_inputs_from_the_changed_context() -> None:
    world = World(parallel())
    world.start("C", title="old")
    world.report(world.work("work").task, "ready", context={"title": "new"})
    assert world.tokens["C.reviews.1.style"].context == {"title": "new"}


def test_an_event_that_the_state_does_not_emit_is_rejected_and_saves_nothing() -> None:
    world = gate(("s", "t", "other"), events={"go": {}, "other": {}})
    task = world.work("s").task
    answer = world.report(task, "other", context={"a": 1}, schedules=(Schedule("go", None, "1h"),))
    assert isinstance(answer, EventNotAllowed)
    assert world.entries("T")[-1] == (
        "event_rejected",
        {"event": "other", "reason": answer.sentence},
    )
    assert world.tokens["T"].context == {}
    assert not world.timers
    assert world.tasks[task].status == "claimed"


def test_an_event_that_no_transition_takes_is_rejected_and_saves_nothing() -> None:
    world = gate(("s", "t", "go", "ctx['a'] == 2"))
    task = world.work("s").task
    answer = world.report(task, "go", context={"a": 1}, schedules=(Schedule("go", None, "1h"),))
    assert isinstance(answer, EventNotAllowed)
    assert world.kinds("T")[-1] == "event_rejected"
    assert world.tokens["T"].context == {}
    assert not world.timers
    assert world.tasks[task].status == "claimed"
    assert isinstance(world.report(task, "go", context={"a": 2}), Moved)


def test_two_guards_that_hold_fail_the_token_after_the_changes_are_saved() -> None:
    world = gate(("s", "t", "go", "ctx['a'] == 1"), ("s", "s", "go", "ctx['a'] == 1.0"))
    task = world.work("s").task
    seen = len(world.ledger["T"])
    answer = world.report(task, "go", context={"a": 1}, schedules=(Schedule("go", None, "1h"),))
    assert isinstance(answer, Moved)
    assert answer.token.status == "failed"
    assert answer.token.context == {"a": 1}
    assert world.kinds("T", after=seen) == [
        "context_changed",
        "timer_set",
        "task_cancelled",
        "failed",
    ]
    world.check_invariants()


def test_waiting_is_saved_at_once_and_ends_the_lease() -> None:
    world = gate(("s", "s", "go"))
    task = world.work("s").task
    seen = len(world.ledger["T"])
    answer = waits(world, task, context={"a": 1}, schedules=(Schedule("go", {}, "1h"),))
    assert isinstance(answer, Moved)
    assert world.kinds("T", after=seen) == ["context_changed", "timer_set", "task_waiting"]
    assert world.entries("T")[-1] == ("task_waiting", {"task": task})
    assert answer.token.context == {"a": 1}
    assert world.tasks[task].status == "waiting"
    assert world.tasks[task].lease_until is None
    world.pass_time(3599)
    world.tick()
    assert world.tokens["T"].visit == 1
    world.check_invariants()


def test_waiting_without_changes_writes_one_entry() -> None:
    world = gate(("s", "s", "go"))
    task = world.work("s").task
    seen = len(world.ledger["T"])
    waits(world, task, context={})
    assert world.kinds("T", after=seen) == ["task_waiting"]


def test_waiting_is_saved_on_a_paused_token_too() -> None:
    world = gate(("s", "s", "go"))
    task = world.work("s").task
    world.do(Pause("T"))
    waits(world, task, context={"a": 1}, schedules=(Schedule("go", None, "1h"),))
    assert world.tokens["T"].context == {"a": 1}
    assert world.kinds("T")[-3:] == ["context_changed", "timer_set", "task_waiting"]
    assert world.tasks[task].status == "waiting"
    world.check_invariants()


def test_the_event_of_a_waiting_task_is_reported_by_anybody_without_a_name() -> None:
    world = gate(("s", "t", "go"))
    task = world.work("s").task
    waits(world, task)
    assert isinstance(world.report(task, "go", supervisor="box"), TaskNotHeld)
    assert isinstance(world.report(task, "go"), Moved)
    assert world.kinds("T")[-4:] == ["event_accepted", "task_done", "entered", "task_queued"]


def test_a_claimed_task_may_be_ended_by_a_report_without_a_supervisor() -> None:
    world = gate(("s", "t", "go"))
    assert isinstance(world.report(world.work("s").task, "go"), Moved)


def test_a_report_after_the_leases_end_but_before_the_tick_counts() -> None:
    world = gate(("s", "t", "go"))
    task = world.work("s").task
    world.pass_time(10_000)
    assert isinstance(world.report(task, "go", supervisor="box", attempt=1), Moved)
    world.tick()
    assert world.tokens["T"].status == "active"
    assert "task_failed" not in world.kinds("T")


def test_a_report_that_ends_the_token_writes_completed_last() -> None:
    world = gate(("s", "__end__", "go"))
    answer = world.report(world.work("s").task, "go")
    assert isinstance(answer, Moved)
    assert answer.token.status == "completed"
    assert world.kinds("T")[-3:] == ["event_accepted", "task_done", "completed"]


def test_the_timers_of_a_waiting_task_fire_in_its_state() -> None:
    world = gate(("s", "t", "go"))
    waits(world, world.work("s").task, schedules=(Schedule("go", None, "1h"),))
    world.pass_time(3600)
    world.tick()
    assert world.kinds("T")[-5:-2] == ["timer_fired", "event_accepted", "task_done"]
    assert world.tokens["T"].state == "t"


def test_a_payload_of_an_event_brought_the_token_to_its_next_state() -> None:
    events: Json = {"go": {"payload": "Review"}}
    world = gate(("s", "t", "go"), events=events)
    world.report(world.work("s").task, "go", payload={"approved": True, "more": [1]})
    brought = world.tokens["T"].entered_by
    assert brought is not None
    assert (brought.name, brought.payload) == ("go", {"approved": True, "more": [1]})


def test_a_report_of_a_child_moves_the_child() -> None:
    states: Json = {"p": {"parallel": ["c"]}}
    child: Json = {
        "states": {"a": {"emits": ["on"]}, "b": {"emits": []}},
        "events": {"on": {}},
        "transitions": [
            {"from": "__start__", "to": "a"},
            {"from": "a", "to": "b", "on": "on"},
        ],
    }
    world = World(main(states, [("__start__", "p")], children={"c": child}))
    world.start("T")
    answer = world.report(world.work("c/a").task, "on")
    assert isinstance(answer, Moved)
    assert (answer.token.token, answer.token.state) == ("T.p.1.c", "b")
    world.check_invariants()
