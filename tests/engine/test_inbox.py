"""Rows of the inbox are decided once and in their turn, and what became of each is among the changes."""

from __future__ import annotations

import pytest

from stateous.engine.answers import Done, Moved, Skipped, Started
from stateous.engine.batch import Batch
from stateous.engine.commands import Command, Fire, FromInbox, Pause, Start, Unreadable
from stateous.engine.facts import Facts
from stateous.engine.family import Settled
from stateous.engine.lifecycles import IllegalMove
from stateous.model.refusals import EventNotAllowed, InvalidContext, Unexpected
from tests.engine.graphs import ORDERS
from tests.engine.world import World

A = Start("A", {"title": "Chair"})
SUBMITTED = Fire("A", "submitted", None, "k")


@pytest.fixture
def world() -> World:
    return World(ORDERS)


def put(world: World, *asked: Start | Fire | Unreadable) -> list[Command]:
    """These rows are pending, in this order; the commands that do them."""
    commands: list[Command] = []
    for one in asked:
        row = len(world.inbox) + len(world.settled) + 1
        world.inbox[row] = one.token
        commands.append(FromInbox(row, one))
    return commands


def test_a_row_does_what_its_command_does_and_is_settled(world: World) -> None:
    commands = put(world, A, SUBMITTED)
    started, moved = world.do_together(commands)
    assert isinstance(started, Started)
    assert isinstance(moved, Moved)
    assert world.inbox == {}
    assert world.settled == {
        1: Settled(row=1, at=world.now),
        2: Settled(row=2, at=world.now),
    }
    other = World(ORDERS)
    other.do_together([A, SUBMITTED])
    assert world.moment() == other.moment()


def test_a_row_that_is_settled_already_does_nothing(world: World) -> None:
    commands = put(world, A, SUBMITTED)
    world.do_together(commands)
    before = world.moment()
    assert world.do_together([*commands, *commands]) == [Done()] * 4
    assert world.moment() == before


def test_the_same_row_twice_in_a_batch_is_done_once(world: World) -> None:
    (start,) = put(world, A)
    first, second = world.do_together([start, start])
    assert isinstance(first, Started)
    assert second == Done()


def test_what_was_done_before_is_settled_as_a_duplicate(world: World) -> None:
    world.do_together([A, SUBMITTED])
    world.do_together(put(world, A, SUBMITTED))
    assert [settled.duplicate for settled in world.settled.values()] == [True, True]


def test_a_refusal_settles_its_row_with_its_code_and_its_sentence(world: World) -> None:
    start, fire = put(world, Start("B", {"title": 5}), Fire("A", "nudge"))
    world.do(A)
    refused, rejected = world.do_together([start, fire])
    assert isinstance(refused, InvalidContext)
    assert isinstance(rejected, EventNotAllowed)
    assert world.settled[1] == Settled(
        row=1, at=world.now, code="invalid_context", error=refused.sentence
    )
    assert world.settled[2].code == "event_not_allowed"
    assert world.kinds("A")[-1] == "event_rejected"


def test_a_row_that_cannot_be_read_is_refused_in_its_turn(world: World) -> None:
    first, second = put(world, A, Unreadable("A", "bad_request", "it is not JSON"))
    assert world.do(second) == Done()
    assert world.settled == {}
    world.do_together([first, second])
    assert world.settled[2].code == "bad_request"
    assert world.settled[2].error == "it is not JSON"


def test_a_row_waits_for_the_one_before_it_whatever_case_the_id_has(world: World) -> None:
    first, other, second = put(world, A, Start("B", {"title": "Table"}), Fire("a", "submitted"))
    assert world.do_together([second, other])[0] == Done()
    assert set(world.settled) == {2}
    world.do_together([first, second])
    assert set(world.settled) == {1, 2, 3}
    assert world.settled[3].code == "token_not_found"


def test_a_row_that_is_held_elsewhere_is_skipped(world: World) -> None:
    (start,) = put(world, A)
    facts = Facts()
    facts.busy_rows.add(1)
    batch = Batch(world.rules, [start])
    world.decide(batch, facts)
    assert isinstance(batch.answers[0], Skipped)
    assert world.tokens == {}


def test_a_row_of_a_busy_token_is_skipped_with_all_behind_it(world: World) -> None:
    world.do(A)
    world.busy.add("A")
    batch = Batch(world.rules, put(world, SUBMITTED, Fire("A", "leave")))
    world.decide(batch, Facts())
    assert [type(answer) for answer in batch.answers] == [Skipped, Skipped]
    assert world.settled == {}


def test_an_event_of_a_paused_token_is_held_and_its_row_is_applied(world: World) -> None:
    world.do_together([A, Pause("A")])
    world.do_together(put(world, SUBMITTED))
    assert world.kinds("A")[-1] == "event_deferred"
    assert world.settled[1].code is None


def test_a_row_whose_decision_raises_is_refused_and_the_rest_goes_on(world: World) -> None:
    world.do_together([A, Start("B", {"title": "Table"})])
    # The task of A lies about itself, so that whoever leaves its state makes a fault.
    world.tasks[1].status = "done"
    before = world.kinds("A")
    batch = world.decided(put(world, SUBMITTED, Fire("B", "submitted")))
    assert [type(answer) for answer in batch.answers] == [Unexpected, Moved]
    assert [type(fault) for fault in batch.faults] == [IllegalMove]
    assert [settled.code for settled in world.settled.values()] == ["unexpected", None]
    assert world.kinds("A") == before
