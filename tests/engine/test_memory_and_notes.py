"""Notes and memory writes: what a routine says while it works."""

from __future__ import annotations

import pytest

from stateous.engine.answers import Done
from stateous.engine.commands import Cancel, Note, Pause, SetMemory
from stateous.model.refusals import AttemptOver, TaskNotFound, TaskNotHeld
from tests.engine.graphs import Json, gate, main, working
from tests.engine.saying import fails, waits
from tests.engine.world import World

WRITES = [Note(task=1, text="half done"), SetMemory(task=1, key="k", value=1)]


def working_on() -> World:
    """A token `T` whose task 1 is claimed by `box`."""
    world = gate(("s", "s", "go"), ("s", "t", "error"))
    assert world.work("s").task == 1
    return world


def remembers(world: World, value: object, key: str = "k") -> object:
    return world.do(SetMemory(task=1, key=key, value=value))


def test_a_note_is_an_entry() -> None:
    world = working_on()
    assert isinstance(world.do(Note(task=1, text="half done", attempt=1)), Done)
    assert world.entries("T")[-1] == ("note", {"task": 1, "text": "half done"})
    world.check_invariants()


def test_a_memory_write_is_an_entry_without_its_value() -> None:
    world = working_on()
    assert isinstance(world.do(SetMemory(task=1, key="k", value={"a": 1}, attempt=1)), Done)
    assert world.entries("T")[-1] == ("memory_set", {"state": "s", "memory_key": "k"})
    assert world.memory == {("T", "s", "k"): {"a": 1}}


@pytest.mark.parametrize("value", [0, False, "", [], {}, 2**70, 1.0])
def test_every_value_but_null_is_remembered(value: object) -> None:
    world = working_on()
    remembers(world, value)
    assert world.memory == {("T", "s", "k"): value}
    assert world.kinds("T")[-1] == "memory_set"


def test_an_equal_value_is_written_again() -> None:
    world = working_on()
    remembers(world, 1)
    remembers(world, 1)
    assert world.kinds("T").count("memory_set") == 2


def test_null_deletes_what_is_there() -> None:
    world = working_on()
    remembers(world, 1)
    remembers(world, None)
    assert world.entries("T")[-1] == ("memory_deleted", {"state": "s", "memory_key": "k"})
    assert not world.memory


def test_null_for_a_key_that_is_not_there_writes_nothing() -> None:
    world = working_on()
    before = world.rows()
    assert isinstance(remembers(world, None), Done)
    assert world.rows() == before


def test_writes_of_one_batch_see_each_other() -> None:
    world = working_on()
    values = [None, 1, None, None, 2]
    world.do_together([SetMemory(task=1, key="k", value=value) for value in values])
    assert world.kinds("T")[-3:] == ["memory_set", "memory_deleted", "memory_set"]
    assert world.memory == {("T", "s", "k"): 2}


@pytest.mark.parametrize("write", WRITES)
def test_a_waiting_task_and_a_paused_token_take_both(write: Note | SetMemory) -> None:
    world = working_on()
    waits(world, 1)
    assert isinstance(world.do(write), Done)
    world.do(Pause("T"))
    assert isinstance(world.do(write), Done)
    world.check_invariants()


@pytest.mark.parametrize("write", WRITES)
def test_a_task_that_nobody_works_on_takes_neither(write: Note | SetMemory) -> None:
    world = gate(("s", "s", "go"))
    before = world.rows()
    assert isinstance(world.do(write), TaskNotHeld)
    assert world.rows() == before
    world.work("s")
    world.fire("T", "go")
    before = world.rows()
    assert isinstance(world.do(write), TaskNotHeld)
    world.do(Cancel("T"))
    assert isinstance(world.do(write), TaskNotHeld)


@pytest.mark.parametrize("of", [Note, SetMemory])
def test_both_are_refused_for_another_attempt(of: type[Note | SetMemory]) -> None:
    world = gate(("s", "t", "error"))
    world.tasks[1].attempt = 1
    assert world.work("s").attempt == 2
    fields: Json = {"text": "x"} if of is Note else {"key": "k", "value": 1}
    before = world.rows()
    assert isinstance(world.do(of(task=1, attempt=1, **fields)), AttemptOver)
    assert isinstance(world.do(of(task=1, attempt=3, **fields)), TaskNotHeld)
    assert isinstance(world.do(of(task=99, **fields)), TaskNotFound)
    assert world.rows() == before


def test_memory_is_kept_by_token_and_state_and_outlives_the_visit() -> None:
    world = working_on()
    remembers(world, 1)
    world.fire("T", "go")
    assert world.work("s").memory == {"k": 1}


@pytest.mark.parametrize("end", ["completed", "failed", "cancelled"])
def test_a_token_that_ends_remembers_nothing(end: str) -> None:
    world = gate(("s", "__end__", "go"))
    world.work("s")
    remembers(world, 1)
    remembers(world, 2, key="other")
    match end:
        case "completed":
            world.fire("T", "go")
        case "failed":
            fails(world, 1)
        case _:
            world.do(Cancel("T"))
    assert world.tokens["T"].status == end
    assert not world.memory


def test_a_write_and_the_end_in_one_batch_leave_nothing() -> None:
    world = gate(("s", "__end__", "go"))
    world.work("s")
    world.do_together([SetMemory(task=1, key="k", value=1), Cancel("T")])
    assert not world.memory
    assert world.kinds("T")[-3:] == ["memory_set", "task_cancelled", "cancelled"]
    world.check_invariants()


def test_the_memory_of_a_child_goes_with_it() -> None:
    states: Json = {"p": {"parallel": ["c"]}, "t": {"emits": []}}
    ways = [("__start__", "p"), ("p", "t", "go")]
    world = World(main(states, ways, events=["go"], children={"c": working()}))
    world.start("T")
    task = world.work("c/do").task
    world.do(SetMemory(task=task, key="k", value=1))
    assert world.memory == {("T.p.1.c", "do", "k"): 1}
    world.fire("T", "go")
    assert not world.memory
