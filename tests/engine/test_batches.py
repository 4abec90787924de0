"""A batch: commands of one transaction, decided in order, each apart from the faults of the others."""

from __future__ import annotations

from stateous.engine.answers import Done, Moved
from stateous.engine.commands import (
    Cancel,
    Command,
    EndLease,
    Fire,
    Note,
    Pause,
    Report,
    Resume,
    Start,
)
from stateous.engine.lifecycles import IllegalMove
from stateous.model.refusals import EventNotAllowed, TokenNotActive, TokenNotFound, Unexpected
from tests.engine.graphs import Json, Way, ending_at_once, gate, main, parallel, working
from tests.engine.world import World


def kinds_of(answers: list[object]) -> list[str]:
    return [type(answer).__name__ for answer in answers]


# -- in order -----------------------------------------------------------------------------------------


def test_a_token_is_started_moved_paused_and_cancelled_in_one_batch() -> None:
    world = gate(("s", "s", "go"))
    commands: list[Command] = [
        Fire("U", "go"),
        Start("U", {}),
        Fire("U", "go"),
        Pause("U"),
        Fire("U", "go"),
        Fire("U", "go"),
        Resume("U"),
        Cancel("U"),
        Fire("U", "go"),
        Start("U", {}),
    ]
    answers = world.do_together(commands)
    assert kinds_of([*answers]) == [
        "TokenNotFound",
        "Started",
        "Moved",
        "Moved",
        "Moved",
        "Moved",
        "Moved",
        "Moved",
        "TokenNotActive",
        "Started",
    ]
    assert world.tokens["U"].visits == {"s": 4}
    assert world.kinds("U")[-3:] == ["task_cancelled", "cancelled", "event_rejected"]
    assert not world.held
    world.check_invariants()


def test_answers_are_those_of_their_own_moment() -> None:
    world = gate(("s", "s", "go"))
    first, second = world.do_together([Fire("T", "go"), Fire("T", "go")])
    assert isinstance(first, Moved)
    assert isinstance(second, Moved)
    assert (first.token.visit, second.token.visit) == (2, 3)


def test_a_key_that_was_used_earlier_in_the_batch_is_known() -> None:
    world = gate(("s", "s", "go", "count('go') < 3"))
    fire = Fire("T", "go", None, "k")
    answers = world.do_together([Start("U", {}), fire, fire, Fire("U", "go", None, "k")])
    duplicates = [answer.duplicate for answer in answers if isinstance(answer, Moved)]
    assert duplicates == [False, True, False]
    assert world.tokens["T"].visit == 2


def test_a_held_key_is_known_in_the_same_batch() -> None:
    world = gate(("s", "s", "go"))
    fire = Fire("T", "go", None, "k")
    _, first, second, _, third = world.do_together([Pause("T"), fire, fire, Resume("T"), fire])
    assert isinstance(first, Moved)
    assert not first.duplicate
    assert isinstance(second, Moved)
    assert second.duplicate
    assert isinstance(third, Moved)
    assert third.duplicate
    assert world.tokens["T"].visit == 2
    world.check_invariants()


def test_what_was_held_before_and_in_the_batch_is_applied_together() -> None:
    world = gate(
        ("s", "t", "go"), ("t", "s", "go"), ("t", "t", "nudge"), events={"go": {}, "nudge": {}}
    )
    world.do(Pause("T"))
    world.fire("T", "go")
    commands: list[Command] = [Fire("T", "nudge"), Resume("T"), Pause("T"), Fire("T", "go")]
    world.do_together(commands)
    assert (world.tokens["T"].state, world.tokens["T"].visit) == ("t", 2)
    assert [held.event for held in world.held["T"]] == ["go"]
    world.check_invariants()
    world.do(Resume("T"))
    assert world.tokens["T"].state == "s"


def test_a_child_that_was_started_in_the_batch_can_be_fired_at() -> None:
    world = World(parallel())
    child = "C.reviews.1.style"
    commands: list[Command] = [
        Start("C", {"title": "x"}),
        Fire("C", "ready"),
        Fire(child, "passed", {"approved": True}, "k"),
        Fire(child, "passed", {"approved": True}, "k"),
        Start(child, {}),
        Start("c", {"title": "x"}),
        Fire("C.reviews.1.security", "passed", {"approved": True}),
        Fire("C", "shipped"),
    ]
    answers = world.do_together(commands)
    assert kinds_of([*answers]) == [
        "Started",
        "Moved",
        "Moved",
        "Moved",
        "Started",
        "InvalidTokenId",
        "Moved",
        "Moved",
    ]
    assert world.tokens["C"].status == "completed"
    world.check_invariants()


def test_two_leases_of_one_family_end_one_after_the_other() -> None:
    child = working()
    states: Json = {"p": {"parallel": ["a", "b"]}}
    world = World(main(states, [("__start__", "p")], children={"a": child, "b": child}))
    world.start("T")
    tasks = [grant.task for grant in world.claim("a/do", "b/do", most=2)]
    world.pass_time(121)
    world.do_together([EndLease(task) for task in tasks])
    assert world.tokens["T"].status == "failed"
    assert {world.tokens[f"T.p.1.{name}"].status for name in "ab"} == {"failed"}
    world.check_invariants()


def test_reports_of_two_children_in_one_batch_meet_their_join_once() -> None:
    world = World(parallel())
    world.start("C", title="x")
    world.report(world.work("work").task, "ready")
    tasks = [grant.task for grant in world.claim("security/look", "style/look", most=2)]
    payload = {"approved": True}
    world.do_together(
        [Report(task=task, kind="event", event="passed", payload=payload) for task in tasks]
    )
    assert world.tokens["C"].counts["joined"] == 1
    assert world.tokens["C"].state == "ship"
    world.check_invariants()


# -- needs --------------------------------------------------------------------------------------------


def test_a_need_in_the_middle_decides_no_command_twice() -> None:
    world = World(parallel(nested=True))
    for token in "AB":
        world.start(token, title=token)
    world.start("C", title="x")
    world.fire("C", "ready")
    seen = world.needs
    commands: list[Command] = [
        Fire("A", "leave"),  # refused, and recorded once
        Fire("B", "ready"),  # needs free ids and numbers
        Fire("A", "ready"),  # the same
        Fire("C", "leave"),  # needs the children
        Fire("C", "ready"),  # a new visit
    ]
    answers = world.do_together(commands)
    assert kinds_of([*answers]) == ["EventNotAllowed", "Moved", "Moved", "Moved", "Moved"]
    assert world.needs > seen + 2
    assert world.kinds("A").count("event_rejected") == 1
    assert world.tokens["C"].visits == {"work": 2, "reviews": 2}
    world.check_invariants()


def test_numbers_are_handed_out_once_and_grow() -> None:
    world = World(parallel())
    tokens = [f"T{number}" for number in range(20)]
    world.do_together([Start(token, {"title": "x"}) for token in tokens])
    world.do_together([Fire(token, "ready") for token in tokens])
    for token in tokens:
        world.fire(token, "leave")
    assert sorted(world.tasks) == list(range(1, 81))
    for token in tokens:
        queued = [data["task"] for kind, data in world.entries(token) if kind == "task_queued"]
        assert queued == sorted(queued)
    world.check_invariants()


# -- faults -------------------------------------------------------------------------------------------


def broken() -> World:
    """Two tokens; the task of `T` lies about itself, so that whoever leaves its state makes a fault."""
    world = gate(("s", "s", "go"), ("s", "s", "say"), events={"go": {}, "say": {}})
    world.start("U")
    world.tasks[1].status = "done"
    return world


def test_a_fault_answers_its_own_command_and_leaves_its_family_as_it_was() -> None:
    world = broken()
    before = world.rows()
    batch = world.decided([Fire("T", "go", None, "k")])
    (answer,) = batch.answers
    assert isinstance(answer, Unexpected)
    assert [type(fault) for fault in batch.faults] == [IllegalMove]
    assert world.rows() == before


def test_a_row_that_is_missing_is_a_fault_and_is_not_asked_for_again_and_again() -> None:
    world = gate(("s", "s", "go"))
    world.start("U")
    del world.tasks[1]
    before = world.rows()
    needs = world.needs
    batch = world.decided([Fire("T", "go"), Note(task=2, text="on"), Fire("T", "go")])
    assert kinds_of([*batch.answers]) == ["Unexpected", "TaskNotHeld", "Unexpected"]
    assert [type(fault) for fault in batch.faults] == [LookupError, LookupError]
    assert world.needs == needs + 2
    assert world.rows() == before


def test_a_batch_goes_on_after_a_fault() -> None:
    world = broken()
    commands: list[Command] = [
        Fire("U", "go"),
        Pause("T"),
        Cancel("T"),  # a fault
        Fire("T", "go", None, "k"),
        Fire("T", "say", None, "l"),
        Resume("T"),  # a fault: the first held event leaves the state
        Fire("T", "go", None, "k"),
        Start("V", {}),
    ]
    batch = world.decided(commands)
    assert kinds_of([*batch.answers]) == [
        "Moved",
        "Moved",
        "Unexpected",
        "Moved",
        "Moved",
        "Unexpected",
        "Moved",
        "Started",
    ]
    assert len(batch.faults) == 2
    again = batch.answers[6]
    assert isinstance(again, Moved)
    assert again.duplicate
    assert world.kinds("T", after=4) == ["paused", "event_deferred", "event_deferred"]
    assert [held.arrival for held in world.held["T"]] == [1, 2]
    assert world.tokens["T"].status == "paused"
    assert world.tokens["U"].visit == 2


def test_a_fault_behind_a_need_keeps_the_need_and_nothing_else() -> None:
    states: Json = {"s": {"emits": []}, "p": {"parallel": ["c"]}}
    ways: list[Way] = [("__start__", "s"), ("s", "p", "go")]
    world = World(main(states, ways, events=["go"], children={"c": ending_at_once()}))
    world.start("T")
    world.tasks[1].status = "done"
    before = world.rows()
    batch = world.decided([Fire("T", "go"), Fire("T", "unknown")])
    assert kinds_of([*batch.answers]) == ["Unexpected", "EventNotAllowed"]
    world.ledger["T"].pop()
    world.tokens["T"].seq -= 1
    assert world.rows() == before


# -- busy ---------------------------------------------------------------------------------------------


def test_a_command_whose_family_is_held_elsewhere_is_skipped_and_the_others_are_decided() -> None:
    world = gate(("s", "s", "go"))
    task = world.work("s").task
    world.start("U")
    world.busy = {"T", "V"}
    before = world.entries("T")
    batch = world.decided(
        [Fire("T", "go"), Fire("U", "go"), Note(task=task, text="x"), Start("V", {})]
    )
    assert kinds_of([*batch.answers]) == ["Skipped", "Moved", "Skipped", "Skipped"]
    assert world.entries("T") == before
    assert "V" not in world.tokens
    world.busy = set()
    batch = world.decided([Fire("T", "go"), Note(task=task, text="x"), Start("V", {})])
    assert kinds_of([*batch.answers]) == ["Moved", "TaskNotHeld", "Started"]


# -- nothing to do ------------------------------------------------------------------------------------


def test_a_batch_of_refusals_that_record_nothing_writes_nothing() -> None:
    world = gate(("s", "s", "go"))
    before = world.rows()
    commands: list[Command] = [
        Fire("nobody", "go"),
        Resume("T"),
        Start("t", {}),
        Start("-", {}),
        EndLease(1),
        Start("T", {}),
    ]
    answers = world.do_together(commands)
    assert isinstance(answers[0], TokenNotFound)
    assert isinstance(answers[1], TokenNotActive)
    assert isinstance(answers[4], Done)
    assert world.rows() == before


def test_an_empty_batch_is_nothing() -> None:
    world = gate(("s", "s", "go"))
    assert world.do_together([]) == []


def test_a_refusal_that_is_recorded_is_an_answer_like_any_other() -> None:
    world = gate()
    answers = world.do_together([Fire("T", "go"), Fire("T", "go")])
    assert all(isinstance(answer, EventNotAllowed) for answer in answers)
    assert world.kinds("T")[-2:] == ["event_rejected", "event_rejected"]
    world.check_invariants()
