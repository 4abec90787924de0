"""An event is fired (docs/http.md): the move, and how it is decided."""

from __future__ import annotations

import pytest

from stateous.engine.answers import Moved
from stateous.engine.commands import Fire
from stateous.model.refusals import EventNotAllowed, TokenNotActive
from tests.engine.graphs import ORDERS, Json, gate, main, working
from tests.engine.world import World


def test_a_move_is_written_event_by_event() -> None:
    world = World(ORDERS)
    world.start("T", title="x")
    world.fire("T", "submitted")
    assert world.entries("T", after=4)[:4] == [
        ("event_accepted", {"event": "submitted", "payload": None, "state": "draft"}),
        ("task_cancelled", {"task": 1}),
        ("entered", {"state": "review", "visit": 1}),
        ("task_queued", {"task": 2, "state": "review"}),
    ]
    assert world.kinds("T")[-1] == "timer_set"
    world.check_invariants()


def test_the_answer_is_the_token_after_the_move() -> None:
    world = gate(("s", "t", "go"))
    world.pass_time(5)
    answer = world.fire("T", "go")
    assert isinstance(answer, Moved)
    assert not answer.duplicate
    assert (answer.token.state, answer.token.visit) == ("t", 1)
    assert answer.token.entered_at == world.now
    assert world.ledger["T"][-1].at == world.now


@pytest.mark.parametrize(
    ("event", "claimed", "kind"),
    [
        ("go", True, "task_done"),
        ("go", False, "task_cancelled"),
        ("other", True, "task_cancelled"),
        ("other", False, "task_cancelled"),
    ],
)
def test_a_task_is_done_only_if_its_state_emits_the_event_and_somebody_works_on_it(
    event: str,
    claimed: bool,  # noqa: FBT001 - a row of the table
    kind: str,
) -> None:
    world = gate(("s", "t", "go"), ("s", "t", "other"), events={"go": {}, "other": {}})
    if claimed:
        world.work("s")
    seen = len(world.ledger["T"])
    world.fire("T", event)
    assert world.kinds("T", after=seen)[:2] == ["event_accepted", kind]


def test_a_move_to_the_same_state_is_a_new_visit_with_a_new_task() -> None:
    world = gate(("s", "s", "go"))
    world.fire("T", "go")
    assert world.tokens["T"].visit == 2
    assert [task.status for task in world.tasks.values()] == ["cancelled", "queued"]
    assert world.kinds("T", after=4) == [
        "event_accepted",
        "task_cancelled",
        "entered",
        "task_queued",
    ]


def test_a_visit_counts_the_entries_of_its_own_state() -> None:
    world = gate(("s", "t", "go"), ("t", "s", "go"))
    for _ in range(3):
        world.fire("T", "go")
    assert (world.tokens["T"].state, world.tokens["T"].visit) == ("t", 2)
    assert world.tokens["T"].visits == {"s": 2, "t": 2}


def test_a_token_that_completes_keeps_its_last_state_and_the_time_it_entered_it() -> None:
    world = gate(("s", "__end__", "go"))
    entered_at = world.tokens["T"].entered_at
    world.pass_time(9)
    world.fire("T", "go")
    token = world.tokens["T"]
    assert (token.state, token.visit, token.status) == ("s", 1, "completed")
    assert token.entered_at == entered_at
    assert world.entries("T")[-2:] == [("task_cancelled", {"task": 1}), ("completed", {})]


def test_what_ended_the_token_did_not_bring_it_to_its_last_state() -> None:
    world = gate(("s", "__end__", "go"))
    world.fire("T", "go")
    brought = world.tokens["T"].entered_by
    assert brought is not None
    assert brought.name == "__started__"


def test_leaving_a_state_cancels_its_timers_without_an_entry() -> None:
    states: Json = {"s": {"emits": [], "timeout": "1h"}, "t": {"emits": []}}
    world = World(main(states, [("__start__", "s"), ("s", "t", "go")], events=["go"]))
    world.start("T")
    seen = len(world.ledger["T"])
    world.fire("T", "go")
    assert [timer.status for timer in world.timers.values()] == ["cancelled"]
    assert "timer" not in " ".join(world.kinds("T", after=seen))


def test_an_event_without_a_transition_from_the_state_is_refused() -> None:
    world = gate(("t", "s", "go"))
    answer = world.fire("T", "go")
    assert isinstance(answer, EventNotAllowed)
    assert world.entries("T")[-1] == ("event_rejected", {"event": "go", "reason": answer.sentence})
    assert world.tokens["T"].state == "s"


def test_the_guard_that_holds_is_taken_and_else_the_first_transition_without_one() -> None:
    world = gate(
        ("s", "t", "go", "payload.approved"),
        ("s", "s", "go"),
        ("s", "__end__", "go"),
        events={"go": {"payload": "Review"}},
    )
    world.fire("T", "go", {"approved": False})
    assert (world.tokens["T"].state, world.tokens["T"].visit) == ("s", 2)
    world.fire("T", "go", {"approved": True})
    assert world.tokens["T"].state == "t"


def test_two_guards_that_hold_fail_the_token_and_leave_the_key_unused() -> None:
    world = gate(("s", "t", "go", "true"), ("s", "s", "go", "1 == 1"), ("s", "s", "go"))
    answer = world.fire("T", "go", key="k")
    assert isinstance(answer, Moved)
    assert answer.token.status == "failed"
    assert world.kinds("T", after=4) == ["task_cancelled", "failed"]
    reason = world.entries("T")[-1][1]["reason"]
    assert "matched more than one guard" in reason
    assert "go" not in answer.token.counts
    assert isinstance(world.fire("T", "go", key="k"), TokenNotActive)


def test_a_task_is_cancelled_when_two_guards_hold_though_its_state_emits_the_event() -> None:
    world = gate(("s", "t", "go", "true"), ("s", "s", "go", "true"))
    world.work("s")
    world.fire("T", "go")
    assert world.kinds("T")[-2:] == ["task_cancelled", "failed"]


def test_count_includes_the_event_that_is_decided() -> None:
    world = gate(("s", "t", "go", "count('go') >= 3"), ("s", "s", "go"))
    for _ in range(2):
        world.fire("T", "go")
    assert (world.tokens["T"].state, world.tokens["T"].visit) == ("s", 3)
    world.fire("T", "go")
    assert world.tokens["T"].state == "t"


def test_a_refused_event_is_not_counted() -> None:
    world = gate(("s", "t", "go", "count('go') >= 2"))
    for _ in range(3):
        assert isinstance(world.fire("T", "go"), EventNotAllowed)
    assert "go" not in world.tokens["T"].counts


@pytest.mark.parametrize("payload", [None, {}])
def test_a_guard_reads_an_absent_payload_as_an_empty_one(payload: Json | None) -> None:
    world = gate(("s", "t", "go", "payload.approved == null"))
    assert isinstance(world.fire("T", "go", payload), Moved)


def test_a_parallel_target_whose_childs_id_is_taken_is_refused_in_any_case_of_letters() -> None:
    states: Json = {"s": {"emits": []}, "p": {"parallel": ["c"]}}
    graph = main(
        states,
        [("__start__", "s"), ("s", "p", "go")],
        events=["go"],
        children={"c": working()},
    )
    world = World(graph)
    world.start("T")
    world.start("t.p.1.C")
    assert isinstance(world.fire("T", "go", key="k"), EventNotAllowed)
    assert world.kinds("T")[-1] == "event_rejected"
    assert (world.tokens["T"].state, world.tokens["T"].visits) == ("s", {"s": 1})
    world.check_invariants()


def test_two_events_in_one_batch_are_decided_one_after_the_other() -> None:
    world = gate(("s", "t", "go"), ("t", "__end__", "go"))
    answers = world.do_together([Fire("T", "go"), Fire("T", "go"), Fire("T", "go")])
    assert [type(answer) for answer in answers] == [Moved, Moved, TokenNotActive]
    world.check_invariants()
