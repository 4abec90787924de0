"""A failed attempt: retries, `error`, and the failure of the token."""

from __future__ import annotations

import pytest

from stateous.engine.answers import Moved
from stateous.engine.commands import Pause
from stateous.engine.family import Schedule
from stateous.model.refusals import TaskNotHeld
from tests.engine.graphs import Json, Way, ending_at_once, main, working
from tests.engine.saying import fails, waits
from tests.engine.world import World


def failing(*ways: Way, retries: int | None = None, timeout: str | None = None) -> World:
    """A token `T` in `s`, whose work may fail."""
    options: Json = {"retries": retries, "timeout": timeout}
    state: Json = {"emits": ["go"], **{k: v for k, v in options.items() if v is not None}}
    states: Json = {"s": state, "t": {"emits": []}, "p": {"parallel": ["c"]}}
    graph = main(
        states,
        [("__start__", "s"), ("s", "s", "go"), *ways],
        events=["go"],
        children={"c": working()},
    )
    world = World(graph)
    world.start("T")
    return world


def test_a_retry_queues_the_same_task_again() -> None:
    world = failing(retries=1)
    task = world.work("s").task
    seen = len(world.ledger["T"])
    answer = fails(world, task)
    assert isinstance(answer, Moved)
    assert answer.token.status == "active"
    assert world.entries("T", after=seen) == [
        ("task_failed", {"task": task, "error": "no ink"}),
        ("task_retrying", {"task": task, "attempt": 2}),
    ]
    assert world.tasks[task].status == "queued"
    assert world.tasks[task].claimed_by is None
    grant = world.work("s")
    assert (grant.task, grant.attempt, grant.visit) == (task, 2, 1)
    world.check_invariants()


def test_a_state_without_retries_has_one_attempt() -> None:
    world = failing()
    fails(world, world.work("s").task)
    assert world.tokens["T"].status == "failed"


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_retries_bound_the_failed_attempts_of_a_task(retries: int) -> None:
    world = failing(retries=retries)
    for _ in range(retries):
        fails(world, world.work("s").task)
        assert world.tokens["T"].status == "active"
    fails(world, world.work("s").task)
    assert world.tokens["T"].status == "failed"
    assert world.tasks[1].failures == retries + 1
    world.check_invariants()


def test_failures_are_counted_for_each_task_anew() -> None:
    world = failing(retries=1)
    fails(world, world.work("s").task)
    world.report(world.work("s").task, "go")
    fails(world, world.work("s").task)
    assert world.tokens["T"].status == "active"


def test_a_retry_cancels_the_routines_timers_and_keeps_the_timeout() -> None:
    world = failing(("s", "t", "timeout"), retries=1, timeout="1h")
    task = world.work("s").task
    waits(world, task, schedules=(Schedule("go", None, "30m"), Schedule("go", None, "40m")))
    fails(world, task)
    statuses = {timer.event: timer.status for timer in world.timers.values()}
    assert statuses == {"timeout": "pending", "go": "cancelled"}
    world.pass_time(3600)
    world.tick()
    assert world.tokens["T"].state == "t"
    assert world.tokens["T"].visits == {"s": 1, "t": 1}


def test_a_waiting_task_can_fail_too() -> None:
    world = failing(retries=1)
    task = world.work("s").task
    waits(world, task)
    fails(world, task)
    assert world.kinds("T")[-2:] == ["task_failed", "task_retrying"]
    assert world.work("s").attempt == 2


def test_without_retries_left_the_token_moves_on_error() -> None:
    world = failing(("s", "t", "error"))
    task = world.work("s").task
    seen = len(world.ledger["T"])
    answer = fails(world, task)
    assert isinstance(answer, Moved)
    assert answer.token.state == "t"
    assert world.entries("T", after=seen) == [
        ("task_failed", {"task": task, "error": "no ink"}),
        ("event_accepted", {"event": "error", "payload": None, "state": "s"}),
        ("entered", {"state": "t", "visit": 1}),
        ("task_queued", {"task": 2, "state": "t"}),
    ]
    assert world.tasks[task].status == "failed"
    assert answer.token.counts["error"] == 1
    world.check_invariants()


def test_without_a_transition_on_error_the_token_fails_and_says_why() -> None:
    world = failing(timeout="1h")
    task = world.work("s").task
    seen = len(world.ledger["T"])
    fails(world, task)
    reason = "'s' failed, and has no transition on 'error': no ink"
    assert world.entries("T", after=seen) == [
        ("task_failed", {"task": task, "error": "no ink"}),
        ("failed", {"reason": reason}),
    ]
    assert world.tokens["T"].state == "s"
    world.check_invariants()


def test_an_error_that_no_guard_takes_fails_the_token() -> None:
    world = failing(("s", "t", "error", "count('error') > 1"))
    seen = len(world.ledger["T"])
    fails(world, world.work("s").task)
    assert world.kinds("T", after=seen + 1) == ["task_failed", "failed"]
    assert "error" not in world.tokens["T"].counts


def test_an_error_that_two_guards_take_fails_the_token() -> None:
    world = failing(("s", "t", "error", "true"), ("s", "s", "error", "true"))
    fails(world, world.work("s").task)
    assert world.kinds("T")[-2:] == ["task_failed", "failed"]
    assert "more than one guard" in world.entries("T")[-1][1]["reason"]


def test_an_error_whose_parallel_target_cannot_start_fails_the_token() -> None:
    world = failing(("s", "p", "error"))
    world.start("t.p.1.c")
    fails(world, world.work("s").task)
    assert world.tokens["T"].status == "failed"
    assert world.kinds("T")[-2:] == ["task_failed", "failed"]


def test_an_error_may_lead_to_the_same_state_and_begins_its_retries_anew() -> None:
    world = failing(("s", "s", "error"), retries=1)
    for visit in (1, 2, 3):
        assert world.tokens["T"].visit == visit
        fails(world, world.work("s").task)
        fails(world, world.work("s").task)
    assert world.tokens["T"].counts["error"] == 3
    world.check_invariants()


def test_an_empty_error_is_told_in_a_sentence_of_ours() -> None:
    world = failing()
    fails(world, world.work("s").task, "")
    kind, data = world.entries("T")[-2]
    assert kind == "task_failed"
    assert data["error"]


def test_a_failure_in_a_pause_is_retried_at_once_and_claimed_later() -> None:
    world = failing(retries=1)
    task = world.work("s").task
    world.do(Pause("T"))
    fails(world, task)
    assert world.kinds("T")[-2:] == ["task_failed", "task_retrying"]
    assert not world.claim("s")
    world.check_invariants()


def test_the_last_failure_in_a_pause_is_held_as_error() -> None:
    world = failing(("s", "t", "error"))
    task = world.work("s").task
    world.do(Pause("T"))
    fails(world, task)
    held = {"event": "error", "payload": None, "arrival": 1, "state": "s", "visit": 1, "task": task}
    assert world.entries("T")[-2:] == [
        ("task_failed", {"task": task, "error": "no ink"}),
        ("event_deferred", held),
    ]
    assert world.tasks[task].status == "failed"
    world.check_invariants()


def test_the_failure_of_the_last_child_meets_the_join() -> None:
    child = working()
    states: Json = {"p": {"parallel": ["a", "b"]}, "t": {"emits": []}}
    ways: list[Way] = [("__start__", "p"), ("p", "t", "joined")]
    world = World(main(states, ways, children={"a": child, "b": child}))
    world.start("T")
    fails(world, world.work("a/do").task)
    assert world.tokens["T"].state == "p"
    fails(world, world.work("b/do").task)
    assert world.tokens["T"].state == "t"
    brought = world.tokens["T"].entered_by
    assert brought is not None
    assert brought.payload is not None
    assert [branch["status"] for branch in brought.payload["branches"]] == ["failed", "failed"]
    world.check_invariants()


def test_a_child_that_ends_at_once_may_follow_an_error() -> None:
    states: Json = {"s": {"emits": []}, "p": {"parallel": ["c"]}}
    ways: list[Way] = [("__start__", "s"), ("s", "p", "error"), ("p", "__end__", "joined")]
    world = World(main(states, ways, events=["go"], children={"c": ending_at_once()}))
    world.start("T")
    fails(world, world.work("s").task)
    assert world.tokens["T"].status == "completed"
    world.check_invariants()


def test_a_failed_attempt_cannot_fail_twice() -> None:
    world = failing(retries=3)
    grant = world.work("s")
    fails(world, grant.task, attempt=grant.attempt)
    before = world.rows()
    assert not isinstance(fails(world, grant.task, attempt=grant.attempt), Moved)
    assert world.rows() == before


def test_a_failure_of_a_task_that_was_cancelled_is_refused() -> None:
    world = failing(("s", "t", "error"))
    task = world.work("s").task
    world.fire("T", "go")
    world.fire("T", "go")
    before = world.rows()
    assert isinstance(fails(world, task), TaskNotHeld)
    assert world.rows() == before
