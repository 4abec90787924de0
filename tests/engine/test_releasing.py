"""A task that its supervisor did not work on is given back (docs/http.md): no attempt has failed."""

from __future__ import annotations

import pytest

from stateous.engine.answers import Done, Moved
from stateous.engine.commands import Cancel, Pause, Release, Resume
from stateous.model.refusals import AttemptOver, TaskNotFound, TaskNotHeld
from tests.engine.graphs import Json, main
from tests.engine.saying import fails, waits
from tests.engine.world import World


def working_on(*, retries: int = 1) -> World:
    """A token `T` whose task 1 is claimed by `box`."""
    states: Json = {"s": {"emits": ["go"], "retries": retries, "timeout": "6h"}}
    world = World(main(states, [("__start__", "s"), ("s", "s", "go")], events=["go"]))
    world.start("T")
    assert world.work("s").task == 1
    return world


def release(
    world: World, task: int = 1, *, supervisor: str = "box", attempt: int | None = None
) -> object:
    return world.do(Release(task=task, supervisor=supervisor, attempt=attempt))


def test_a_task_that_is_given_back_waits_for_a_supervisor_with_its_number() -> None:
    world = working_on()
    seen = len(world.ledger["T"])
    world.pass_time(5)
    assert isinstance(release(world), Done)
    assert world.entries("T", after=seen) == [("task_queued", {"task": 1, "state": "s"})]
    task = world.tasks[1]
    assert (task.status, task.claimed_by, task.lease_until) == ("queued", None, None)
    assert (task.attempt, task.failures, task.queued_at) == (1, 0, world.now)
    world.check_invariants()


def test_the_next_claim_has_a_higher_attempt_and_all_retries() -> None:
    world = working_on()
    release(world)
    assert world.work("s").attempt == 2
    assert isinstance(world.report(1, "go", attempt=1), AttemptOver)
    assert isinstance(fails(world, 1, attempt=2), Moved)
    assert world.tasks[1].status == "queued"
    assert world.work("s").attempt == 3


@pytest.mark.parametrize("attempt", [None, 1])
def test_only_who_holds_the_task_can_give_it_back(attempt: int | None) -> None:
    world = working_on()
    before = world.rows()
    assert isinstance(release(world, supervisor="other", attempt=attempt), TaskNotHeld)
    assert isinstance(release(world, attempt=2), TaskNotHeld)
    assert isinstance(release(world, task=9), TaskNotFound)
    assert world.rows() == before
    assert isinstance(release(world, attempt=attempt), Done)
    before = world.rows()
    assert isinstance(release(world, attempt=attempt), TaskNotHeld)
    assert world.rows() == before


def test_a_task_that_waits_or_is_over_is_not_given_back() -> None:
    world = working_on()
    waits(world, 1)
    assert isinstance(release(world), TaskNotHeld)
    world.report(1, "go")
    assert isinstance(release(world), TaskNotHeld)
    world.check_invariants()


def test_a_task_of_a_paused_token_is_given_to_nobody_before_the_resume() -> None:
    world = working_on()
    world.do(Pause("T"))
    assert isinstance(release(world), Done)
    assert world.parked_tasks == {1}
    assert not world.claim("s")
    world.check_invariants()
    world.do(Resume("T"))
    assert not world.parked_tasks
    assert world.work("s").attempt == 2
    world.check_invariants()


def test_a_lease_that_is_over_and_not_noticed_yet_is_given_back_without_a_failure() -> None:
    world = working_on()
    world.pass_time(121)
    assert isinstance(release(world), Done)
    world.tick()
    assert world.tasks[1].failures == 0
    assert "task_failed" not in world.kinds("T")


def test_the_timeout_of_the_state_goes_on() -> None:
    world = working_on()
    release(world)
    world.pass_time(6 * 3600)
    world.tick()
    assert world.tokens["T"].status == "failed"
    world.check_invariants()


def test_a_task_of_a_token_that_ended_is_not_held() -> None:
    world = working_on()
    world.do(Cancel("T"))
    before = world.rows()
    assert isinstance(release(world), TaskNotHeld)
    assert world.rows() == before


def test_what_was_given_back_is_no_grant_of_its_request_any_more() -> None:
    world = working_on()
    release(world)
    (grant,) = world.claim("s", request="r")
    release(world)
    (again,) = world.claim("s", request="r")
    assert (grant.attempt, again.attempt) == (2, 3)
