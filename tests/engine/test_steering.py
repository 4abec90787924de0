"""Pause, resume, cancel: a whole family is steered through its top token (docs/ledger.md)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from stateous.engine.answers import Moved
from stateous.engine.commands import Cancel, Command, Note, Pause, Resume, SetMemory
from stateous.engine.family import Schedule
from stateous.model.refusals import ChildToken, TokenNotActive, TokenNotFound
from tests.engine.graphs import Json, gate, main, parallel, working
from tests.engine.saying import waits
from tests.engine.world import World

STEERING: list[Callable[[str], Command]] = [Pause, Resume, Cancel]


def reviewed() -> World:
    """A token `C` in `reviews` with a child `security` and a nested child below `outer`."""
    world = World(parallel(nested=True))
    world.start("C", title="x")
    world.report(world.work("work").task, "ready")
    return world


FAMILY = ["C", "C.reviews.1.security", "C.reviews.1.outer", "C.reviews.1.outer.inner.1.style"]


@pytest.mark.parametrize("steer", STEERING)
def test_steering_an_unknown_token_finds_nothing(steer: Callable[[str], Command]) -> None:
    assert isinstance(reviewed().do(steer("nobody")), TokenNotFound)


@pytest.mark.parametrize("steer", STEERING)
def test_a_child_is_not_steered_not_even_when_it_has_ended(
    steer: Callable[[str], Command],
) -> None:
    world = reviewed()
    before = world.rows()
    for child in FAMILY[1:]:
        assert isinstance(world.do(steer(child)), ChildToken)
    assert world.rows() == before
    world.fire("C", "leave")
    assert isinstance(world.do(steer(FAMILY[1])), ChildToken)


@pytest.mark.parametrize("steer", STEERING)
def test_an_ended_token_is_not_steered_and_records_nothing(
    steer: Callable[[str], Command],
) -> None:
    world = gate(("s", "__end__", "go"))
    world.fire("T", "go")
    before = world.rows()
    assert isinstance(world.do(steer("T")), TokenNotActive)
    assert world.rows() == before


def test_what_is_paused_cannot_be_paused_and_what_is_active_cannot_be_resumed() -> None:
    world = gate(("s", "t", "go"))
    before = world.rows()
    assert isinstance(world.do(Resume("T")), TokenNotActive)
    assert world.rows() == before
    world.do(Pause("T"))
    before = world.rows()
    assert isinstance(world.do(Pause("T")), TokenNotActive)
    assert world.rows() == before


def test_a_pause_and_a_resume_go_through_the_whole_family() -> None:
    world = reviewed()
    answer = world.do(Pause("C"))
    assert isinstance(answer, Moved)
    assert answer.token.status == "paused"
    for token in FAMILY:
        assert world.tokens[token].status == "paused"
        assert world.entries(token)[-1] == ("paused", {})
    world.check_invariants()
    answer = world.do(Resume("C"))
    assert isinstance(answer, Moved)
    assert answer.token.status == "active"
    for token in FAMILY:
        assert world.entries(token)[-1] == ("resumed", {})
    world.check_invariants()


def test_a_pause_writes_no_task_that_is_worked_on() -> None:
    """Its lease may be renewed at the same time; what was read of it must not be written back."""
    world = reviewed()
    held = world.work("security/look").task
    read = world.tasks[held]
    for steer in (Pause, Resume):
        assert isinstance(world.do(steer("C")), Moved)
        assert world.tasks[held] is read
    world.check_invariants()


def test_a_pause_leaves_children_alone_that_have_ended() -> None:
    world = reviewed()
    world.fire(FAMILY[1], "passed", {"approved": True})
    before = world.entries(FAMILY[1])
    world.do(Pause("C"))
    world.do(Resume("C"))
    assert world.entries(FAMILY[1]) == before


def test_tasks_of_a_paused_family_are_not_claimed() -> None:
    world = reviewed()
    world.do(Pause("C"))
    assert not world.claim("security/look", "style/look", most=9)
    world.do(Resume("C"))
    assert len(world.claim("security/look", "style/look", most=9)) == 2


def test_notes_and_memory_of_a_paused_token_are_written_at_once() -> None:
    world = gate(("s", "t", "go"))
    task = world.work("s").task
    world.do(Pause("T"))
    world.do(Note(task=task, text="still here"))
    world.do(SetMemory(task=task, key="k", value=1))
    assert world.kinds("T")[-2:] == ["note", "memory_set"]


def test_a_resume_moves_timers_by_the_time_that_the_token_stood() -> None:
    states: Json = {"s": {"emits": [], "timeout": "1h"}}
    world = World(main(states, [("__start__", "s"), ("s", "s", "timeout")]))
    world.start("T")
    due_at = world.timers[2].due_at
    world.pass_time(600)
    world.do(Pause("T"))
    world.pass_time(7200)
    world.do(Resume("T"))
    assert world.timers[2].due_at == due_at + timedelta(seconds=7200)
    world.pass_time(3000)
    world.tick()
    assert world.tokens["T"].visit == 2


def test_only_the_last_pause_counts_at_a_resume() -> None:
    states: Json = {"s": {"emits": [], "timeout": "1h"}}
    world = World(main(states, [("__start__", "s"), ("s", "s", "timeout")]))
    world.start("T")
    due_at = world.timers[2].due_at
    for _ in range(2):
        world.do(Pause("T"))
        world.pass_time(50)
        world.do(Resume("T"))
        world.pass_time(7)
    assert world.timers[2].due_at == due_at + timedelta(seconds=100)


def test_a_timer_that_was_set_in_a_pause_moves_from_when_it_was_set() -> None:
    world = gate(("s", "s", "go"))
    task = world.work("s").task
    world.do(Pause("T"))
    world.pass_time(100)
    waits(world, task, schedules=(Schedule("go", None, "1h"),))
    set_at = world.now
    world.pass_time(40)
    world.do(Resume("T"))
    (timer,) = world.timers.values()
    assert timer.due_at == set_at + timedelta(hours=1, seconds=40)


def test_a_timer_that_was_due_before_the_pause_fires_after_the_resume() -> None:
    states: Json = {"s": {"emits": [], "timeout": "1h"}}
    world = World(main(states, [("__start__", "s"), ("s", "s", "timeout")]))
    world.start("T")
    world.pass_time(3600)
    world.do(Pause("T"))
    world.pass_time(60)
    world.tick()
    world.do(Resume("T"))
    world.tick()
    assert world.tokens["T"].visit == 2
    world.check_invariants()


def test_timers_of_children_move_too() -> None:
    child = working()
    child["states"]["do"]["timeout"] = "1h"
    world = World(main({"p": {"parallel": ["c"]}}, [("__start__", "p")], children={"c": child}))
    world.start("T")
    (timer,) = world.timers.values()
    world.do(Pause("T"))
    world.pass_time(10)
    world.do(Resume("T"))
    assert world.timers[timer.id].due_at == timer.due_at + timedelta(seconds=10)


def test_cancel_cancels_task_timers_and_memory() -> None:
    states: Json = {"s": {"emits": [], "timeout": "1h"}}
    world = World(main(states, [("__start__", "s")]))
    world.start("T")
    task = world.work("s").task
    world.do(SetMemory(task=task, key="k", value=1))
    seen = len(world.ledger["T"])
    answer = world.do(Cancel("T"))
    assert isinstance(answer, Moved)
    assert answer.token.status == "cancelled"
    assert world.entries("T", after=seen) == [("task_cancelled", {"task": task}), ("cancelled", {})]
    assert [timer.status for timer in world.timers.values()] == ["cancelled"]
    assert not world.memory
    world.check_invariants()


def test_cancel_cancels_the_family_with_reasons_and_no_join() -> None:
    world = reviewed()
    world.do(Cancel("C"))
    assert world.kinds("C")[-1] == "cancelled"
    assert world.entries("C")[-1] == ("cancelled", {})
    for child in FAMILY[1:]:
        kind, data = world.entries(child)[-1]
        assert kind == "cancelled"
        assert data["reason"]
    assert world.kinds(FAMILY[1])[-2:] == ["task_cancelled", "cancelled"]
    assert "joined" not in world.tokens["C"].counts
    world.check_invariants()


def test_cancel_leaves_children_alone_that_have_ended() -> None:
    world = reviewed()
    world.fire(FAMILY[1], "passed", {"approved": True})
    before = world.entries(FAMILY[1])
    world.do(Cancel("C"))
    assert world.entries(FAMILY[1]) == before


def test_a_paused_family_can_be_cancelled_and_what_it_held_is_dropped() -> None:
    world = reviewed()
    world.do(Pause("C"))
    world.fire("C", "leave", key="k")
    world.fire(FAMILY[3], "refused")
    world.fire(FAMILY[3], "passed", {"approved": True})
    world.do(Cancel("C"))
    assert world.kinds("C")[-3:] == ["event_deferred", "event_dropped", "cancelled"]
    assert world.entries("C")[-2][1]["event"] == "leave"
    assert world.kinds(FAMILY[3])[-4:] == [
        "event_dropped",
        "event_dropped",
        "task_cancelled",
        "cancelled",
    ]
    assert not world.held
    assert isinstance(world.fire("C", "leave", key="k"), Moved)
    world.check_invariants()
