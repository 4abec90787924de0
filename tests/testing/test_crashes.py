"""Supervisors that are killed: before a routine begins, or when it is done and nobody heard of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from stateous import Context
from stateous.testing import CannotTest, Rehearsal
from tests.testing.orders import draft, events, orders, states


class Counted:
    """A routine of draft that counts how often it ran, and what it was given."""

    def __init__(self) -> None:
        self.attempts: list[int] = []

    def __call__(self, ctx: Context) -> events.submitted:
        self.attempts.append(ctx.attempt)
        ctx.note(f"attempt {ctx.attempt}")
        ctx.memory["attempts"] = ctx.attempt
        return events.submitted()


def rehearse(counted: Counted, **stubs: Any) -> Rehearsal:
    return Rehearsal(orders, stubs={states.draft: counted, states.review: None, **stubs})


def test_an_attempt_that_crashes_before_never_begins() -> None:
    counted = Counted()
    world = rehearse(counted)
    token = world.start("ORDER-1", {"title": "x"})
    world.crash_before(states.draft)
    begun = world.now
    world.run()
    assert counted.attempts == [2]
    assert token.state == "review"
    assert world.now - begun == timedelta(minutes=2, microseconds=1)
    assert token.sentences[4:8] == [
        "task 1 claimed by testing (attempt 1)",
        "task 1 failed: testing stopped answering: no heartbeat for 2 minutes",
        "task 1 queued again (attempt 2 comes next)",
        "task 1 claimed by testing (attempt 2)",
    ]


def test_an_attempt_that_crashes_after_has_done_its_work_and_nobody_knows() -> None:
    counted = Counted()
    world = rehearse(counted)
    token = world.start("ORDER-1", {"title": "x"})
    world.crash_after(draft)
    world.run()
    assert counted.attempts == [1, 2]
    assert token.notes == ["attempt 1", "attempt 2"]
    assert token.state == "review"


def test_as_many_attempts_crash_as_are_said_and_the_retries_bound_them() -> None:
    counted = Counted()
    world = rehearse(counted)
    token = world.start("ORDER-1", {"title": "x"})
    world.crash_before("draft", times=2)
    world.crash_after("draft")
    world.run()
    # The state has two retries: the third attempt was the last one.
    assert counted.attempts == [3]
    assert token.state == "mend"


def test_what_else_is_ready_is_done_before_the_lease_ends() -> None:
    counted = Counted()
    world = rehearse(counted)
    one, two = (world.start(token, {"title": "x"}) for token in ("ONE", "TWO"))
    world.crash_before(states.draft)
    world.run()
    assert two.history[-1].at < one.history[-1].at
    assert (one.state, two.state) == ("review", "review")


def test_a_test_may_end_the_lease_itself() -> None:
    counted = Counted()
    world = Rehearsal(orders, stubs={"draft": counted}, lease_for="10s")
    token = world.start("ORDER-1", {"title": "x"})
    world.crash_before(states.draft, times=3)
    world.run()
    assert token.state == "mend"
    assert "no heartbeat for 10 seconds" in token.sentences[5]


def test_a_token_that_left_meanwhile_is_not_waited_for() -> None:
    def leaves(ctx: Context) -> events.submitted:
        world.cancel(ctx.token)
        return events.submitted()

    world = Rehearsal(orders, stubs={"draft": leaves})
    token = world.start("ORDER-1", {"title": "x"})
    world.crash_after("draft")
    begun = world.now
    world.run()
    assert (token.status, world.now) == ("cancelled", begun)


def test_a_timer_that_is_due_before_the_end_of_the_lease_fires() -> None:
    world = Rehearsal(
        orders, stubs={"draft": "submitted", "review": None}, lease_for=timedelta(hours=7)
    )
    token = world.start("ORDER-1", {"title": "x"})
    world.crash_before(states.review)
    world.run()
    kinds = [entry.kind for entry in token.history]
    assert kinds.count("timer_fired") == 0
    assert token.status == "failed"


def test_a_crash_needs_a_routine_or_stub() -> None:
    world = rehearse(Counted())
    for state, sentence in [
        ("ship", "nothing runs in 'ship' that could crash"),
        ("nowhere", "no state 'nowhere'"),
    ]:
        with pytest.raises(CannotTest, match=sentence):
            world.crash_before(state)
        with pytest.raises(CannotTest, match=sentence):
            world.crash_after(state)
