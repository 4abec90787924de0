"""Odd graphs and odd documents: names that look like others, huge values, ids at their longest."""

from __future__ import annotations

import pytest

from stateous.engine.answers import Moved, Started
from stateous.engine.family import Schedule
from stateous.model.names import LONGEST_ID
from stateous.model.refusals import EventNotAllowed, InvalidContext
from tests.engine.graphs import Json, Way, flow, gate, main, working
from tests.engine.saying import fails, waits
from tests.engine.world import World

ODD_NAMES = ["go", "m", "completed", "__proto__", "a.b", "a b", "ß", "日本", "'", "n" * 128]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_state_and_an_event_may_have_the_same_odd_name(name: str) -> None:
    states: Json = {name: {"emits": [name]}}
    ways: list[Way] = [("__start__", name), (name, name, name, f"count({name!r}) < 2")]
    world = World(main(states, [*ways, (name, "__end__", name)], events=[name]))
    world.start("T")
    world.report(world.work(name).task, name)
    world.fire("T", name)
    assert world.tokens["T"].status == "completed"
    assert world.tokens["T"].counts == {"__started__": 1, name: 2}
    world.check_invariants()


@pytest.mark.parametrize("name", ["p", "go", "a.b", "a/b", "日本"])
def test_a_child_workflow_may_have_an_odd_name(name: str) -> None:
    states: Json = {"p": {"parallel": [name]}}
    ways: list[Way] = [
        ("__start__", "p"),
        ("p", "__end__", "joined", f"branches.all(workflow == {name!r})"),
    ]
    world = World(main(states, ways, children={name: working()}))
    world.start("T")
    grant = world.work(f"{name}/do")
    assert grant.token == f"T.p.1.{name}"
    world.report(grant.task, "done")
    assert world.tokens["T"].status == "completed"
    world.check_invariants()


def test_own_events_can_be_counted() -> None:
    states: Json = {"s": {"emits": []}, "t": {"emits": []}}
    ways: list[Way] = [
        ("__start__", "s"),
        ("s", "t", "error", "count('error') == 2 and count('__started__') == 1"),
        ("s", "s", "error"),
    ]
    world = World(main(states, ways))
    world.start("T")
    fails(world, world.work("s").task)
    assert world.tokens["T"].state == "s"
    fails(world, world.work("s").task)
    assert world.tokens["T"].state == "t"


def test_branches_in_the_payload_of_another_event_mean_nothing() -> None:
    world = gate(("s", "t", "go", "payload.branches == 7"), events={"go": {"payload": "Review"}})
    assert isinstance(world.fire("T", "go", {"approved": True, "branches": 7}), Moved)


def test_huge_and_deep_values_come_back_as_they_were_sent() -> None:
    deep: Json = {}
    for _ in range(60):
        deep = {"in": [deep]}
    huge: Json = {
        "approved": True,
        "big": -(10**400),
        "long": "x" * 10**6,
        "deep": deep,
        "one": 1.0,
    }
    world = gate(("s", "t", "go"), events={"go": {"payload": "Review"}})
    world.tokens["T"].context = {}
    world.report(world.work("s").task, "go", payload=huge, context={"all": huge})
    grant = world.work("t")
    assert grant.context == {"all": huge}
    assert grant.entered_by.payload == huge
    assert isinstance(grant.context["all"]["one"], float)
    world.check_invariants()


def test_a_huge_error_is_kept_whole() -> None:
    world = gate()
    fails(world, world.work("s").task, "x" * 10**6)
    assert world.entries("T")[-2][1]["error"] == "x" * 10**6
    assert world.tokens["T"].status == "failed"


@pytest.mark.parametrize("key", ["", "a.b", "'", "日本", "__class__", "k" * 1000])
def test_a_context_may_have_any_keys(key: str) -> None:
    states: Json = {"s": {"emits": ["go"]}, "p": {"parallel": ["c"], "inputs": [key, "other"]}}
    ways: list[Way] = [("__start__", "s"), ("s", "p", "go")]
    world = World(main(states, ways, events=["go"], children={"c": working()}))
    world.start("T")
    world.report(world.work("s").task, "go", context={key: 1, "more": 2})
    assert world.entries("T", after=5)[0][1]["keys"] == sorted([key, "more"])
    assert world.tokens["T.p.1.c"].context == {key: 1}


def test_the_visit_makes_a_childs_id_longer_until_the_state_cannot_be_entered() -> None:
    states: Json = {"s": {"emits": ["go"]}, "p": {"parallel": ["c"]}}
    ways: list[Way] = [("__start__", "s"), ("s", "p", "go"), ("p", "s", "back")]
    world = World(main(states, ways, events=["go", "back"], children={"c": working()}))
    name = "T" * (LONGEST_ID - len(".p.1.c"))
    assert isinstance(world.start(name), Started)
    for _ in range(9):
        assert isinstance(world.fire(name, "go"), Moved)
        world.fire(name, "back")
    assert len(f"{name}.p.9.c") == LONGEST_ID
    answer = world.fire(name, "go")
    assert isinstance(answer, EventNotAllowed)
    assert world.tokens[name].state == "s"
    world.check_invariants()


def test_a_nested_childs_id_counts_too() -> None:
    outer = flow({"in": {"parallel": ["c"]}}, [("__start__", "in")])
    states: Json = {"p": {"parallel": ["outer"]}}
    graph = main(states, [("__start__", "p")], children={"outer": outer, "c": working()})
    world = World(graph)
    tail = len(".p.1.outer.in.1.c")
    assert isinstance(world.start("T" * (LONGEST_ID - tail + 1)), InvalidContext)
    assert isinstance(world.start("T" * (LONGEST_ID - tail)), Started)


def test_a_timeout_of_a_parallel_state_and_of_its_child_may_be_due_at_once() -> None:
    child = working()
    child["states"]["do"]["timeout"] = "1h"
    states: Json = {"p": {"parallel": ["c"], "timeout": "1h"}, "t": {"emits": []}}
    ways: list[Way] = [("__start__", "p"), ("p", "t", "timeout"), ("p", "p", "joined")]
    world = World(main(states, ways, children={"c": child}))
    world.start("T")
    world.pass_time(3600)
    world.tick()
    assert world.tokens["T"].state == "t"
    assert world.tokens["T.p.1.c"].status == "cancelled"
    world.check_invariants()


def test_a_timer_for_the_event_that_the_routine_then_reports_is_gone_with_the_state() -> None:
    world = gate(("s", "t", "go"), ("t", "__end__", "go"))
    task = world.work("s").task
    waits(world, task, schedules=(Schedule("go", None, "1s"),))
    world.report(task, "go")
    world.pass_time(10)
    world.tick()
    assert world.tokens["T"].state == "t"


def test_very_many_retries_are_a_number_like_any_other() -> None:
    states: Json = {"s": {"emits": [], "retries": 10**30}}
    world = World(main(states, [("__start__", "s")]))
    world.start("T")
    for attempt in range(1, 20):
        assert world.work("s").attempt == attempt
        fails(world, 1)
    assert world.tokens["T"].status == "active"


def test_a_parallel_state_that_also_names_events_has_no_task_to_emit_them() -> None:
    states: Json = {"p": {"parallel": ["c"], "emits": ["go"], "retries": 3}, "t": {"emits": []}}
    ways: list[Way] = [("__start__", "p"), ("p", "t", "go")]
    world = World(main(states, ways, events=["go"], children={"c": working()}))
    world.start("T")
    assert not world.claim("p")
    world.fire("T", "go")
    assert world.tokens["T"].state == "t"
    world.check_invariants()


def test_many_visits_need_nothing_that_the_first_did_not() -> None:
    world = gate(("s", "s", "go"))
    for _ in range(2000):
        world.fire("T", "go")
    token = world.tokens["T"]
    assert token.visit == 2001
    assert token.seq == 4 + 2000 * 4
    assert world.needs == 0
