"""Pause and resume (docs/ledger.md): what arrives in a pause is held in order, and applied or dropped at the resume."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from stateous.engine.answers import Moved
from stateous.engine.commands import Pause, Resume
from stateous.engine.family import Schedule
from stateous.model.refusals import EventNotAllowed, InvalidPayload, TaskNotHeld
from tests.engine.graphs import REVIEW, Json, Way, main, parallel
from tests.engine.saying import fails
from tests.engine.world import World


def paused(*ways: Way, retries: int = 0) -> World:
    """A paused token `T` in `s`, whose task 1 is claimed by `box`."""
    graph = main(
        {"s": {"emits": ["go", "say"], "retries": retries}, "t": {"emits": []}},
        [("__start__", "s"), *ways],
        events={"go": {}, "say": {"payload": "Review"}, "nudge": {}},
        context="Order",
        schemas={
            "Order": {"type": "object", "properties": {"size": {"type": "integer", "maximum": 9}}},
            "Review": REVIEW,
        },
    )
    world = World(graph)
    world.start("T", size=1)
    world.work("s")
    world.do(Pause("T"))
    return world


def resumed(world: World) -> list[tuple[str, Json]]:
    """What the resume of `T` writes behind `resumed`."""
    seen = len(world.ledger["T"])
    assert isinstance(world.do(Resume("T")), Moved)
    world.check_invariants()
    assert not world.held
    entries = world.entries("T", after=seen)
    assert entries[0] == ("resumed", {})
    return entries[1:]


# -- holding ------------------------------------------------------------------------------------------


def test_a_fired_event_is_held_undecided() -> None:
    world = paused()
    answer = world.fire("T", "go", {})
    assert isinstance(answer, Moved)
    assert answer.token.status == "paused"
    held: Json = {"event": "go", "payload": {}, "arrival": 1}
    assert world.entries("T")[-1] == ("event_deferred", held)
    assert world.tasks[1].status == "claimed"
    world.check_invariants()


def test_arrivals_are_counted_across_the_family() -> None:
    world = World(parallel())
    world.start("C", title="x")
    world.report(world.work("work").task, "ready")
    world.do(Pause("C"))
    tokens = ["C.reviews.1.style", "C", "C.reviews.1.security", "C.reviews.1.style"]
    for token, event in zip(tokens, ["refused", "leave", "refused", "refused"], strict=True):
        world.fire(token, event)
    found = [
        (token, data["arrival"])
        for token in world.ledger
        for kind, data in world.entries(token)
        if kind == "event_deferred"
    ]
    assert sorted(found, key=lambda each: each[1]) == list(zip(tokens, [1, 2, 3, 4], strict=True))
    world.check_invariants()


def test_a_new_pause_counts_its_arrivals_anew() -> None:
    world = paused(("s", "s", "nudge"))
    world.fire("T", "nudge")
    resumed(world)
    world.do(Pause("T"))
    world.fire("T", "nudge")
    assert world.entries("T")[-1][1]["arrival"] == 1


def test_a_held_event_uses_up_its_key_and_a_drop_does_not_give_it_back() -> None:
    world = paused()
    world.fire("T", "go", key="k")
    again = world.fire("T", "go", key="k")
    assert isinstance(again, Moved)
    assert again.duplicate
    assert [kind for kind, _ in resumed(world)] == ["event_dropped"]
    before = world.rows()
    again = world.fire("T", "go", key="k")
    assert isinstance(again, Moved)
    assert again.duplicate
    assert world.rows() == before


def test_a_key_is_not_used_twice_when_its_event_is_replayed() -> None:
    world = paused(("s", "s", "go"))
    world.fire("T", "go", key="k")
    resumed(world)
    assert [entry.kind for entry in world.ledger["T"] if entry.key == "k"] == ["event_deferred"]


def test_what_is_wrong_with_an_event_by_itself_is_told_in_a_pause_too() -> None:
    world = paused()
    before = world.rows()
    assert isinstance(world.fire("T", "say", {"approved": 1}), InvalidPayload)
    assert world.rows() == before
    assert isinstance(world.fire("T", "unknown"), EventNotAllowed)
    assert isinstance(world.fire("T", "timeout"), EventNotAllowed)
    assert not world.held


def test_a_reported_outcome_is_held_whole() -> None:
    world = paused()
    schedules = (Schedule("nudge", None, "6h"), Schedule("say", {"approved": True}, "1s"))
    answer = world.report(
        1,
        "say",
        payload={"approved": True},
        context={"size": 2},
        schedules=schedules,
        supervisor="box",
        attempt=1,
    )
    assert isinstance(answer, Moved)
    assert answer.token.context == {"size": 1}
    assert world.entries("T")[-2:] == [
        (
            "event_deferred",
            {
                "event": "say",
                "payload": {"approved": True},
                "arrival": 1,
                "state": "s",
                "visit": 1,
                "task": 1,
                "context": {"size": 2},
                "schedules": [
                    {"event": "nudge", "payload": None, "after": "6h"},
                    {"event": "say", "payload": {"approved": True}, "after": "1s"},
                ],
            },
        ),
        ("task_done", {"task": 1}),
    ]
    assert not world.timers
    assert isinstance(world.report(1, "go"), TaskNotHeld)
    world.check_invariants()


def test_a_held_outcome_without_changes_names_none() -> None:
    world = paused()
    world.report(1, "go", context={})
    assert world.entries("T")[-2][1] == {
        "event": "go",
        "payload": None,
        "arrival": 1,
        "state": "s",
        "visit": 1,
        "task": 1,
    }


# -- applying -----------------------------------------------------------------------------------------


def test_held_events_are_applied_in_order_of_arrival() -> None:
    world = paused(("s", "t", "go"), ("t", "s", "nudge"), ("s", "__end__", "nudge"))
    for event in ("go", "nudge", "nudge"):
        world.fire("T", event)
    assert [kind for kind, _ in resumed(world)] == [
        *("event_replayed", "event_accepted", "task_done", "entered", "task_queued"),
        *("event_replayed", "event_accepted", "task_cancelled", "entered", "task_queued"),
        *("event_replayed", "event_accepted", "task_cancelled", "completed"),
    ]


def test_a_held_outcome_is_applied_with_its_changes_and_its_timers_count_from_now() -> None:
    world = paused(("s", "t", "say", "ctx['size'] == 2"))
    world.report(
        1,
        "say",
        payload={"approved": True},
        context={"size": 2},
        schedules=(Schedule("nudge", None, "1h"),),
    )
    world.pass_time(5000)
    assert resumed(world) == [
        ("event_replayed", {"event": "say"}),
        ("context_changed", {"keys": ["size"], "changes": {"size": 2}}),
        ("timer_set", {"event": "nudge", "due_at": world.now + timedelta(hours=1)}),
        ("event_accepted", {"event": "say", "payload": {"approved": True}, "state": "s"}),
        ("entered", {"state": "t", "visit": 1}),
        ("task_queued", {"task": 3, "state": "t"}),
    ]


def test_a_held_event_of_a_token_that_has_ended_is_dropped() -> None:
    world = paused(("s", "__end__", "go"))
    world.fire("T", "go")
    world.fire("T", "nudge")
    entries = resumed(world)
    assert entries[-2][0] == "completed"
    assert entries[-1][0] == "event_dropped"
    assert entries[-1][1]["event"] == "nudge"


def test_a_held_outcome_of_a_state_that_was_left_is_dropped() -> None:
    world = paused(("s", "t", "go"), ("s", "s", "nudge"))
    world.fire("T", "nudge")
    world.report(1, "go", context={"size": 2})
    entries = resumed(world)
    assert [kind for kind, _ in entries] == [
        *("event_replayed", "event_accepted", "entered", "task_queued"),
        "event_dropped",
    ]
    assert world.tokens["T"].visit == 2
    assert world.tokens["T"].context == {"size": 1}


def test_a_held_outcome_whose_changes_no_longer_fit_is_dropped_and_its_task_goes_back() -> None:
    world = paused(("s", "t", "go"))
    world.report(1, "go", context={"size": 9})
    (held,) = world.held["T"]
    # Nothing can break it today: no other report changes the context in the same visit.
    world.held["T"] = [msgspec.structs.replace(held, context={"size": 10})]
    assert [kind for kind, _ in resumed(world)] == ["event_dropped", "task_queued"]
    assert world.tokens["T"].context == {"size": 1}


def test_a_refused_outcome_is_dropped_and_its_task_goes_back_with_its_number() -> None:
    world = paused(("s", "t", "go", "ctx['size'] == 5"), retries=1)
    world.report(1, "go", context={"size": 2})
    entries = resumed(world)
    assert entries[0][0] == "event_dropped"
    assert entries[0][1]["event"] == "go"
    assert entries[1:] == [("task_queued", {"task": 1, "state": "s"})]
    assert world.tokens["T"].context == {"size": 1}
    grant = world.work("s")
    assert (grant.task, grant.attempt) == (1, 2)
    assert world.tasks[1].failures == 0
    world.check_invariants()


def test_a_task_that_went_back_has_all_its_retries_still() -> None:
    world = paused(retries=1)
    world.report(1, "go")
    resumed(world)
    assert world.work("s").attempt == 2
    fails(world, 1)
    assert world.tokens["T"].status == "active"
    assert world.work("s").attempt == 3


def test_a_task_does_not_go_back_when_a_later_held_event_moves_the_token() -> None:
    world = paused(("s", "t", "go", "false"), ("s", "t", "nudge"))
    world.report(1, "go")
    world.fire("T", "nudge")
    kinds = [kind for kind, _ in resumed(world)]
    assert kinds == ["event_dropped", "event_replayed", "event_accepted", "entered", "task_queued"]
    assert world.tasks[1].status == "done"


def test_a_refused_event_that_was_fired_is_dropped_and_the_token_stays() -> None:
    world = paused()
    world.fire("T", "nudge")
    assert [kind for kind, _ in resumed(world)] == ["event_dropped"]
    assert world.tasks[1].status == "claimed"


def test_a_held_event_that_two_guards_take_is_dropped_and_fails_the_token() -> None:
    world = paused(("s", "t", "go", "true"), ("s", "s", "go", "true"))
    world.report(1, "go", context={"size": 2})
    world.fire("T", "nudge")
    kinds = [kind for kind, _ in resumed(world)]
    assert kinds == ["event_dropped", "failed", "event_dropped"]
    assert world.tokens["T"].status == "failed"


def test_a_held_error_moves_the_token() -> None:
    world = paused(("s", "t", "error"))
    fails(world, 1)
    assert [kind for kind, _ in resumed(world)] == [
        "event_replayed",
        "event_accepted",
        "entered",
        "task_queued",
    ]


def test_a_held_error_that_is_refused_fails_the_token() -> None:
    world = paused()
    fails(world, 1)
    assert [kind for kind, _ in resumed(world)] == ["event_dropped", "failed"]


def test_a_held_error_of_a_state_that_was_left_is_only_dropped() -> None:
    world = paused(("s", "t", "nudge"))
    world.fire("T", "nudge")
    fails(world, 1)
    entries = resumed(world)
    assert entries[-1][0] == "event_dropped"
    assert world.tokens["T"].status == "active"


def test_the_last_held_end_of_a_child_meets_the_join_of_its_parent() -> None:
    world = World(parallel())
    world.start("C", title="x")
    world.report(world.work("work").task, "ready")
    world.do(Pause("C"))
    world.fire("C.reviews.1.security", "passed", {"approved": True})
    world.fire("C.reviews.1.style", "passed", {"approved": True})
    world.fire("C", "leave")
    world.do(Resume("C"))
    assert world.tokens["C"].state == "ship"
    assert world.kinds("C")[-1] == "event_dropped"
    world.check_invariants()


def test_a_held_event_of_a_child_that_its_parent_has_left_is_dropped() -> None:
    world = World(parallel())
    world.start("C", title="x")
    world.report(world.work("work").task, "ready")
    world.do(Pause("C"))
    world.fire("C", "leave")
    world.fire("C.reviews.1.style", "passed", {"approved": True})
    world.do(Resume("C"))
    assert world.tokens["C"].state == "work"
    assert world.kinds("C.reviews.1.style")[-3:] == ["task_cancelled", "cancelled", "event_dropped"]
    world.check_invariants()
