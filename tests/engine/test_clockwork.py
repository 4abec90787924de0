"""Leases that end and timers that fire (docs/ledger.md): what a tick does, in which order, and what it leaves alone."""

from __future__ import annotations

from datetime import timedelta

from stateous.engine.commands import EndLease, FireTimer, Pause
from stateous.engine.family import Schedule
from stateous.model.refusals import AttemptOver, TaskNotFound, TaskNotHeld, TokenNotFound
from tests.engine.graphs import Json, Way, gate, main, working
from tests.engine.saying import waits
from tests.engine.world import World

LEASE = 120


def timed(*ways: Way, timeout: str | None = None, retries: int = 0) -> World:
    """A token `T` in `s`, which may have a timeout."""
    state: Json = {"emits": ["go"], "retries": retries}
    if timeout is not None:
        state["timeout"] = timeout
    graph = main(
        {"s": state, "t": {"emits": [], "timeout": "1h"}, "p": {"parallel": ["c"]}},
        [("__start__", "s"), *ways],
        events={"go": {}, "nudge": {"payload": "Nudge"}},
        schemas={"Nudge": {"type": "object"}},
        children={"c": working()},
    )
    world = World(graph)
    world.start("T")
    return world


# -- leases -------------------------------------------------------------------------------------------


def test_a_lease_that_ends_exactly_now_is_not_over() -> None:
    world = timed()
    task = world.work("s").task
    assert world.tasks[task].lease_until == world.now + timedelta(seconds=LEASE)
    before = world.rows()
    world.pass_time(LEASE)
    world.tick()
    world.do(EndLease(task))
    assert world.rows() == before


def test_a_lease_that_is_over_is_a_failed_attempt_of_a_supervisor_that_stopped_answering() -> None:
    world = timed(retries=1)
    task = world.work("s", supervisor="build-box-1").task
    world.pass_time(LEASE + 0.000001)
    world.tick()
    error = "build-box-1 stopped answering: no heartbeat for 2 minutes"
    assert world.entries("T")[-2:] == [
        ("task_failed", {"task": task, "error": error}),
        ("task_retrying", {"task": task, "attempt": 2}),
    ]
    assert world.ledger["T"][-1].at == world.now
    world.check_invariants()


def test_a_lease_that_ends_without_retries_left_fails_the_token() -> None:
    world = timed()
    world.work("s")
    world.pass_time(LEASE + 1)
    world.tick()
    assert world.kinds("T")[-2:] == ["task_failed", "failed"]
    assert "no transition on 'error'" in world.entries("T")[-1][1]["reason"]


def test_a_lease_is_looked_at_again_before_it_is_ended() -> None:
    world = timed()
    task = world.work("s").task
    world.pass_time(LEASE + 1)
    world.tasks[task].lease_until = world.now + timedelta(seconds=LEASE)
    before = world.rows()
    world.do(EndLease(task))
    assert world.rows() == before


def test_a_lease_of_a_paused_token_ends_too() -> None:
    world = timed(("s", "t", "error"))
    world.work("s")
    world.do(Pause("T"))
    world.pass_time(LEASE + 1)
    world.tick()
    assert world.kinds("T")[-2:] == ["task_failed", "event_deferred"]
    world.check_invariants()


def test_a_waiting_task_has_no_lease() -> None:
    world = timed()
    waits(world, world.work("s").task)
    before = world.rows()
    world.pass_time(10 * LEASE)
    world.tick()
    assert world.rows() == before


def test_a_late_report_of_an_ended_lease_is_refused() -> None:
    world = timed(retries=1)
    task = world.work("s").task
    world.pass_time(LEASE + 1)
    world.tick()
    assert isinstance(world.report(task, "go", attempt=1), TaskNotHeld)
    world.work("s")
    assert isinstance(world.report(task, "go", attempt=1), AttemptOver)


def test_leases_end_in_order_of_their_tasks_and_before_timers_fire() -> None:
    world = timed(("s", "t", "error"), timeout="1h")
    world.work("s")
    world.pass_time(3600)
    world.tick()
    assert world.tokens["T"].state == "t"
    assert "timer_fired" not in world.kinds("T")


def test_a_lease_that_nobody_has_or_a_task_that_is_not_there_changes_nothing() -> None:
    world = timed()
    before = world.rows()
    world.do(EndLease(1))
    assert isinstance(world.do(EndLease(99)), TaskNotFound)
    assert world.rows() == before


# -- timers -------------------------------------------------------------------------------------------


def test_a_timer_fires_when_it_is_due_and_not_before() -> None:
    world = timed(("s", "t", "timeout"), timeout="1h")
    before = world.rows()
    world.pass_time(3599.999999)
    world.tick()
    world.do(FireTimer(2, "T"))
    assert world.rows() == before
    world.pass_time(0.000001)
    world.tick()
    assert world.kinds("T")[-6:] == [
        "timer_fired",
        "event_accepted",
        "task_cancelled",
        "entered",
        "task_queued",
        "timer_set",
    ]
    assert ("timer_fired", {"event": "timeout"}) in world.entries("T")
    assert world.timers[2].status == "fired"
    world.check_invariants()


def test_a_timer_fires_once() -> None:
    world = timed(("s", "s", "nudge"))
    waits(world, world.work("s").task, schedules=(Schedule("nudge", None, "1h"),))
    world.pass_time(3600)
    world.tick()
    before = world.rows()
    world.tick()
    for timer in world.timers.values():
        world.do(FireTimer(timer.id, "T"))
    assert world.rows() == before


def test_a_routines_timer_carries_its_payload() -> None:
    world = timed(("s", "t", "nudge", "payload.hard"), ("s", "s", "nudge"))
    payload = {"hard": True, "big": 2**70}
    waits(world, world.work("s").task, schedules=(Schedule("nudge", payload, "1h"),))
    world.pass_time(3600)
    world.tick()
    assert world.tokens["T"].state == "t"
    accepted = [data for kind, data in world.entries("T") if kind == "event_accepted"][-1]
    assert accepted == {"event": "nudge", "payload": payload, "state": "s"}


def test_a_timeout_that_no_transition_takes_fails_the_token() -> None:
    world = timed(timeout="1h")
    world.work("s")
    world.tasks[1].lease_until = world.now + timedelta(days=1)
    world.pass_time(3600)
    world.tick()
    assert world.kinds("T")[-3:] == ["timer_fired", "task_cancelled", "failed"]
    assert world.entries("T")[-1][1]["reason"].startswith("'s' timed out: ")
    world.check_invariants()


def test_a_timeout_that_no_guard_takes_fails_the_token() -> None:
    world = timed(("s", "t", "timeout", "ctx['never']"), timeout="1h")
    world.pass_time(3600)
    world.tick()
    assert world.kinds("T")[-3:] == ["timer_fired", "task_cancelled", "failed"]


def test_a_timeout_that_two_guards_take_fails_the_token() -> None:
    world = timed(("s", "t", "timeout", "true"), ("s", "s", "timeout", "true"), timeout="1h")
    world.pass_time(3600)
    world.tick()
    assert world.kinds("T")[-3:] == ["timer_fired", "task_cancelled", "failed"]
    assert "more than one guard" in world.entries("T")[-1][1]["reason"]


def test_a_routines_timer_that_cannot_move_the_token_is_rejected_and_the_token_stays() -> None:
    world = timed(("s", "t", "go"))
    task = world.work("s").task
    waits(world, task, schedules=(Schedule("nudge", None, "1h"),))
    world.pass_time(3600)
    world.tick()
    kind, data = world.entries("T")[-1]
    assert world.kinds("T")[-2:] == ["timer_fired", "event_rejected"]
    assert (kind, data["event"]) == ("event_rejected", "nudge")
    assert world.tasks[task].status == "waiting"
    assert world.tokens["T"].status == "active"
    world.check_invariants()


def test_a_routines_timer_that_two_guards_take_fails_the_token() -> None:
    world = timed(("s", "t", "nudge", "true"), ("s", "s", "nudge", "true"))
    waits(world, world.work("s").task, schedules=(Schedule("nudge", None, "1h"),))
    world.pass_time(3600)
    world.tick()
    assert world.tokens["T"].status == "failed"


def test_timers_fire_in_order_of_their_time_then_of_their_number() -> None:
    world = timed(("s", "t", "go"))
    schedules = tuple(
        Schedule("nudge", {"n": n}, after) for n, after in enumerate(("2h", "1h", "1h"))
    )
    waits(world, world.work("s").task, schedules=schedules)
    world.pass_time(7200)
    fired = world.tick()
    assert fired == [3, 4, 2]
    assert world.kinds("T").count("event_rejected") == 3


def test_the_first_due_timer_that_moves_the_token_cancels_the_others() -> None:
    world = timed(("s", "s", "nudge"), timeout="2h")
    waits(world, world.work("s").task, schedules=(Schedule("nudge", None, "1h"),) * 2)
    world.pass_time(9000)
    world.tick()
    assert world.tokens["T"].visits == {"s": 2}
    assert world.kinds("T").count("timer_fired") == 1
    assert sorted(timer.status for timer in world.timers.values()) == [
        "cancelled",
        "cancelled",
        "fired",
        "pending",
    ]


def test_a_state_that_was_entered_in_a_tick_waits_for_a_later_one() -> None:
    world = timed(("s", "s", "timeout"), timeout="1h")
    world.pass_time(10 * 3600)
    world.tick()
    assert world.tokens["T"].visit == 2
    assert world.timers[4].due_at == world.now + timedelta(hours=1)


def test_timers_of_a_paused_token_do_not_fire() -> None:
    world = timed(("s", "t", "timeout"), timeout="1h")
    world.do(Pause("T"))
    world.pass_time(3600)
    before = world.rows()
    world.tick()
    world.do(FireTimer(2, "T"))
    assert world.rows() == before


def test_a_timer_of_a_state_that_was_left_does_not_fire() -> None:
    world = timed(("s", "t", "go"), timeout="1h")
    world.fire("T", "go")
    world.pass_time(1800)
    before = world.rows()
    world.do(FireTimer(2, "T"))
    assert world.rows() == before


def test_a_timer_that_is_not_there_changes_nothing() -> None:
    world = timed()
    before = world.rows()
    world.do(FireTimer(99, "T"))
    assert isinstance(world.do(FireTimer(1, "nobody")), TokenNotFound)
    assert world.rows() == before


def test_the_timeout_of_a_parallel_state_cancels_its_children() -> None:
    states: Json = {"p": {"parallel": ["c"], "timeout": "1h"}, "t": {"emits": []}}
    ways: list[Way] = [("__start__", "p"), ("p", "t", "timeout")]
    world = World(main(states, ways, children={"c": working()}))
    world.start("T")
    world.pass_time(3600)
    world.tick()
    assert world.tokens["T"].state == "t"
    assert world.tokens["T.p.1.c"].status == "cancelled"
    world.check_invariants()


def test_a_clock_that_stands_behind_does_not_let_a_ledger_run_backwards() -> None:
    world = gate(("s", "t", "go"))
    started_at = world.now
    world.now -= timedelta(hours=1)
    world.fire("T", "go")
    assert world.ledger["T"][-1].at == started_at
    assert world.tokens["T"].entered_at == started_at


def test_all_entries_of_one_decision_have_one_time() -> None:
    world = timed(("s", "t", "timeout"), timeout="1h")
    seen = len(world.ledger["T"])
    world.pass_time(4000)
    world.tick()
    assert {entry.at for entry in world.ledger["T"][seen:]} == {world.now}
