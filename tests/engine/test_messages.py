"""Messages (docs/http.md): many of one task are decided each for itself, and a repeat is answered as the first was."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stateous.engine.answers import Answer, Done, Moved
from stateous.engine.commands import (
    Cancel,
    Fire,
    Message,
    Messages,
    Note,
    Pause,
    Release,
    Report,
    Resume,
    SetMemory,
)
from stateous.engine.family import Schedule
from stateous.model.refusals import (
    AttemptOver,
    EventNotAllowed,
    InvalidContext,
    InvalidPayload,
    Refusal,
    TaskNotFound,
    TaskNotHeld,
)
from tests.engine.graphs import ORDERS, Way, gate, parallel
from tests.engine.world import World

NOTE = Note(task=1, text="half done", id="n")
SET = SetMemory(task=1, key="k", value=1, id="m")
GO = Report(task=1, kind="event", event="go", id="r")


def working_on(*ways: Way) -> World:
    """A token `T` whose task 1 is claimed by `box`."""
    world = gate(*(ways or (("s", "s", "go"),)))
    assert world.work("s").task == 1
    return world


def tell(world: World, *said: Message) -> list[Answer | Refusal]:
    return list(world.tell(Messages(task=1, said=said)).results)


def keys(world: World) -> dict[str, str]:
    """The kind of the entry that has each key."""
    return {entry.key: entry.kind for entry in world.ledger["T"] if entry.key is not None}


# -- many ---------------------------------------------------------------------------------------------


def test_messages_of_a_task_are_decided_in_their_order_and_written_together() -> None:
    world = working_on()
    seen = len(world.ledger["T"])
    results = tell(world, NOTE, SET, Note(task=1, text="done"), GO)
    assert [type(result) for result in results] == [Done, Done, Done, Moved]
    written = ["note", "memory_set", "note", "event_accepted", "task_done"]
    assert world.kinds("T", after=seen)[:5] == written
    assert world.memory == {("T", "s", "k"): 1}
    world.check_invariants()


def test_a_refused_message_leaves_no_trace_and_those_behind_it_go_on() -> None:
    world = World(ORDERS)
    world.start("T", title="x")
    world.work("draft")
    seen = len(world.ledger["T"])
    later = (Schedule("nothing", None, "1h"),)
    results = tell(
        world,
        Note(task=1, text="one", attempt=7),
        Report(task=1, kind="event", event="submitted", context={"title": 7}),
        Report(task=1, kind="waiting", schedules=later, context={"size": 7}, supervisor="box"),
        Note(task=1, text="two"),
        Report(task=1, kind="event", event="nudge", context={"title": "y"}),
        Report(task=1, kind="event", event="submitted", context={"size": 2}),
    )
    assert [type(result) for result in results] == [
        TaskNotHeld,
        InvalidContext,
        InvalidPayload,
        Done,
        EventNotAllowed,
        Moved,
    ]
    assert world.kinds("T", after=seen)[:3] == ["note", "event_rejected", "context_changed"]
    assert world.tokens["T"].context == {"title": "x", "size": 2, "tags": []}
    assert [timer.kind for timer in world.timers.values()] == ["timeout"]
    world.check_invariants()


def test_what_a_report_ended_is_over_for_the_messages_behind_it() -> None:
    world = working_on()
    results = tell(world, GO, NOTE, SET, msgspec.structs.replace(GO, id="r2"))
    assert [type(result) for result in results] == [Moved, TaskNotHeld, TaskNotHeld, TaskNotHeld]
    assert not world.memory
    world.check_invariants()


def test_each_message_of_a_task_that_nobody_knows_is_refused() -> None:
    world = working_on()
    said = (Note(task=9, text="x", id="x"), Note(task=9, text="y"))
    told = world.tell(Messages(task=9, said=said))
    assert [type(result) for result in told.results] == [TaskNotFound, TaskNotFound]


def test_messages_of_a_family_that_is_locked_are_put_off_all_together() -> None:
    world = working_on()
    world.busy = {"T"}
    before = world.rows()
    batch = world.decided([Messages(task=1, said=(NOTE, GO)), Fire("U", "go")])
    assert [type(answer).__name__ for answer in batch.answers] == ["Skipped", "TokenNotFound"]
    assert world.rows() == before


def test_a_fault_is_its_own_message_s() -> None:
    world = working_on()
    # No edge lets such a delay through: what comes of it is a fault of ours.
    broken = Report(task=1, kind="event", event="go", schedules=(Schedule("go", None, "soon"),))
    batch = world.decided([Messages(task=1, said=(NOTE, broken, SET, GO)), Fire("T", "go")])
    told, other = batch.answers
    results: Any = told
    names = [type(result).__name__ for result in results.results]
    assert names == ["Done", "Unexpected", "Done", "Moved"]
    assert isinstance(other, Moved)
    assert [type(fault) for fault in batch.faults] == [ValueError]
    world.check_invariants()


def test_a_need_of_one_message_decides_none_before_it_again() -> None:
    # The report enters a parallel state, whose children's ids are looked up while it is decided.
    world = World(parallel())
    world.start("T", title="x")
    world.work("work")
    needs = world.needs
    seen = len(world.ledger["T"])
    ready = Report(task=1, kind="event", event="ready")
    results = tell(world, NOTE, SET, ready)
    assert world.needs > needs
    assert [type(result) for result in results] == [Done, Done, Moved]
    assert world.kinds("T", after=seen)[:3] == ["note", "memory_set", "event_accepted"]
    world.check_invariants()


# -- repeats ------------------------------------------------------------------------------------------

WAITS = Report(task=1, kind="waiting", supervisor="box", id="r")
FAILS = Report(task=1, kind="failed", error="no ink", id="r")
NEVER = Report(task=1, kind="event", event="never", id="r")

REPEATED: dict[str, tuple[Message, type[Any], str]] = {
    "a note": (NOTE, Done, "note"),
    "a memory write": (SET, Done, "memory_set"),
    "an event": (GO, Moved, "event_accepted"),
    "a task that waits": (WAITS, Moved, "task_waiting"),
    "a failed attempt": (FAILS, Moved, "task_failed"),
    "an event that is refused": (NEVER, EventNotAllowed, "event_rejected"),
}


@pytest.mark.parametrize("what", REPEATED)
def test_a_repeat_is_answered_as_the_first_and_writes_nothing(what: str) -> None:
    message, answer, kind = REPEATED[what]
    world = working_on(("s", "s", "go"), ("s", "s", "error"))
    (first,) = tell(world, message)
    assert isinstance(first, answer)
    assert keys(world) == {f"\x01{message.id}": kind}
    before = world.rows()
    (again,) = tell(world, message)
    assert type(again) is type(first)
    assert str(again) == str(first)
    assert world.rows() == before
    world.check_invariants()


@pytest.mark.parametrize("what", REPEATED)
def test_a_repeat_in_the_same_request_is_answered_alike(what: str) -> None:
    message, answer, _ = REPEATED[what]
    world = working_on(("s", "s", "go"), ("s", "s", "error"))
    first, again = tell(world, message, message)
    assert isinstance(first, answer)
    assert type(again) is type(first)
    world.check_invariants()


@pytest.mark.parametrize("what", REPEATED)
def test_a_repeat_is_known_when_the_task_has_moved_on_and_the_token_has_ended(what: str) -> None:
    message, answer, _ = REPEATED[what]
    world = working_on(("s", "s", "go"), ("s", "s", "error"))
    tell(world, message)
    world.do(Cancel("T"))
    before = world.rows()
    (again,) = tell(world, message)
    assert isinstance(again, answer)
    if isinstance(again, Moved):
        assert again.token.status == "cancelled"
    assert world.rows() == before


def test_a_deleted_key_is_known_and_one_that_was_not_there_is_looked_for_again() -> None:
    world = working_on()
    delete = SetMemory(task=1, key="k", value=None, id="d")
    assert isinstance(tell(world, delete)[0], Done)
    assert keys(world) == {}
    tell(world, SET, delete)
    assert keys(world) == {"\x01m": "memory_set", "\x01d": "memory_deleted"}
    tell(world, msgspec.structs.replace(SET, id="m2"), delete)
    assert world.memory == {("T", "s", "k"): 1}


def test_a_report_that_two_guards_answer_is_known_by_the_end_of_its_token() -> None:
    world = working_on(("s", "s", "go", "true"), ("s", "t", "go", "true"))
    (first,) = tell(world, GO)
    assert isinstance(first, Moved)
    assert first.token.status == "failed"
    assert keys(world) == {"\x01r": "failed"}
    before = world.rows()
    (again,) = tell(world, GO)
    assert again == first
    assert world.rows() == before
    world.check_invariants()


def test_an_outcome_that_is_held_in_a_pause_is_known_and_stays_known_after_the_resume() -> None:
    world = working_on()
    world.do(Pause("T"))
    (held,) = tell(world, GO)
    assert isinstance(held, Moved)
    assert keys(world) == {"\x01r": "event_deferred"}
    assert isinstance(tell(world, GO)[0], Moved)
    assert len(world.held["T"]) == 1
    world.do(Resume("T"))
    before = world.rows()
    (again,) = tell(world, GO)
    assert isinstance(again, Moved)
    assert again.token.visit == 2
    assert world.rows() == before
    world.check_invariants()


def test_a_message_that_wrote_nothing_is_decided_anew() -> None:
    world = working_on()
    early = msgspec.structs.replace(NOTE, attempt=2)
    assert isinstance(tell(world, early)[0], TaskNotHeld)
    world.do(Release(task=1, supervisor="box"))
    assert world.work("s").attempt == 2
    assert isinstance(tell(world, early)[0], Done)
    over = msgspec.structs.replace(GO, attempt=1)
    assert isinstance(tell(world, over)[0], AttemptOver)
    assert keys(world) == {"\x01n": "note"}


def test_the_ids_of_messages_are_the_token_s_own_and_no_key_of_an_event() -> None:
    world = working_on()
    world.start("U")
    other = world.work("s")
    tell(world, NOTE)
    told = world.tell(Messages(task=other.task, said=(Note(task=other.task, text="x", id="n"),)))
    assert isinstance(told.results[0], Done)
    assert world.kinds("U").count("note") == 1
    fired = world.fire("T", "go", key="n")
    assert isinstance(fired, Moved)
    assert not fired.duplicate


def test_an_event_that_was_refused_and_may_be_sent_again_is_another_message() -> None:
    world = working_on(("s", "s", "go", "ctx['on']"))
    assert isinstance(tell(world, GO)[0], EventNotAllowed)
    again = msgspec.structs.replace(GO, context={"on": True})
    assert isinstance(tell(world, again)[0], EventNotAllowed)
    assert isinstance(tell(world, msgspec.structs.replace(again, id="r2"))[0], Moved)
