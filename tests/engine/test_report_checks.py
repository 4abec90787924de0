"""A report (docs/http.md): the checks in their order; those that answer before the event record nothing."""

from __future__ import annotations

from typing import Any

import pytest

from stateous.engine.answers import Moved
from stateous.engine.commands import Cancel, Fire, Pause, Report
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
from tests.engine.graphs import REVIEW, Json, main
from tests.engine.world import World

ORDER: Json = {"type": "object", "properties": {"size": {"type": "integer"}}}


@pytest.fixture
def world() -> World:
    """A token `T` in `s`, whose task 1 is in its second attempt, held by `box`."""
    graph = main(
        {"s": {"emits": ["go", "say"], "retries": 5}, "t": {"emits": []}},
        [("__start__", "s"), ("s", "t", "go"), ("s", "t", "say"), ("s", "t", "nudge")],
        events={"go": {}, "say": {"payload": "Review"}, "nudge": {}},
        context="Order",
        schemas={"Order": ORDER, "Review": REVIEW},
    )
    world = World(graph)
    world.start("T", size=1)
    world.do(Report(task=world.work("s").task, kind="failed", error="once"))
    assert world.work("s").attempt == 2
    return world


def refused(world: World, refusal: type[Refusal], **fields: Any) -> None:
    """The report is refused so, and nothing is recorded."""
    before = world.rows()
    for field, value in (("task", 1), ("kind", "event"), ("event", "go")):
        fields.setdefault(field, value)
    assert type(world.do(Report(**fields))) is refusal
    assert world.rows() == before


BAD: Json = {"context": {"size": "big"}}


def test_an_unknown_task_is_not_found(world: World) -> None:
    refused(world, TaskNotFound, task=99, attempt=1, **BAD)


@pytest.mark.parametrize("kind", ["event", "waiting", "failed"])
def test_the_attempt_is_looked_at_before_everything_else(world: World, kind: str) -> None:
    refused(world, AttemptOver, kind=kind, attempt=1, supervisor="other", **BAD)
    refused(world, TaskNotHeld, kind=kind, attempt=3, supervisor="box", **BAD)


def test_an_attempt_that_is_over_is_told_even_when_nobody_works_on_the_task(world: World) -> None:
    world.do(Report(task=1, kind="failed"))
    refused(world, AttemptOver, attempt=1)
    refused(world, TaskNotHeld, attempt=2)
    refused(world, TaskNotHeld)
    world.do(Fire("T", "nudge"))
    refused(world, AttemptOver, attempt=1)
    refused(world, TaskNotHeld, attempt=2)


@pytest.mark.parametrize("kind", ["event", "waiting", "failed"])
def test_a_supervisor_that_does_not_hold_the_task_is_refused(world: World, kind: str) -> None:
    refused(world, TaskNotHeld, kind=kind, supervisor="other", **BAD)
    world.do(Report(task=1, kind="waiting", supervisor="box"))
    refused(world, TaskNotHeld, kind=kind, supervisor="box", **BAD)


def test_nobody_says_that_a_task_waits_but_the_supervisor_that_holds_it(world: World) -> None:
    refused(world, TaskNotHeld, kind="waiting", **BAD)
    assert isinstance(world.do(Report(task=1, kind="waiting", supervisor="box")), Moved)
    refused(world, TaskNotHeld, kind="waiting")


def test_a_queued_task_is_not_held(world: World) -> None:
    world.do(Report(task=1, kind="failed"))
    assert world.tasks[1].status == "queued"
    refused(world, TaskNotHeld)


@pytest.mark.parametrize("kind", ["event", "waiting"])
def test_changes_that_break_the_model_are_refused_first(world: World, kind: str) -> None:
    supervisor = {"supervisor": "box"}
    bad = Schedule("unknown", None, "1h")
    refused(
        world, InvalidContext, kind=kind, event="unknown", schedules=(bad,), **supervisor, **BAD
    )


@pytest.mark.parametrize("kind", ["event", "waiting"])
@pytest.mark.parametrize(
    "schedule",
    [
        Schedule("unknown", None, "1h"),
        Schedule("timeout", None, "1h"),
        Schedule("error", None, "1h"),
        Schedule("joined", None, "1h"),
        Schedule("__started__", None, "1h"),
        Schedule("say", None, "1h"),
        Schedule("say", {"approved": 1}, "1h"),
        Schedule("go", {"odd": 1}, "1h"),
    ],
)
def test_a_bad_schedule_is_refused_before_the_event_is_looked_at(
    world: World, kind: str, schedule: Schedule
) -> None:
    good = Schedule("go", None, "1h")
    schedules = (good, schedule)
    refused(
        world, InvalidPayload, kind=kind, event="unknown", schedules=schedules, supervisor="box"
    )


def test_a_bad_payload_is_refused_after_the_event_is_known_to_be_emitted(world: World) -> None:
    refused(world, InvalidPayload, event="say", payload={"approved": "yes"})
    refused(world, InvalidPayload, event="say")
    refused(world, InvalidPayload, event="go", payload={"odd": 1})
    answer = world.report(1, "nudge", payload={"odd": 1})
    assert isinstance(answer, EventNotAllowed)
    assert world.entries("T")[-1][0] == "event_rejected"


def test_an_event_that_nobody_declared_cannot_be_emitted_either(world: World) -> None:
    for event in ("unknown", "timeout", "joined", ""):
        assert isinstance(world.report(1, event), EventNotAllowed)
        assert world.entries("T")[-1][1]["event"] == event


def test_a_failure_ignores_everything_but_its_error(world: World) -> None:
    bad = Schedule("unknown", None, "1h")
    failed = Report(
        task=1,
        kind="failed",
        event="unknown",
        payload={"odd": 1},
        error="why",
        schedules=(bad,),
        **BAD,
    )
    assert isinstance(world.do(failed), Moved)
    assert world.entries("T")[-2] == ("task_failed", {"task": 1, "error": "why"})
    assert world.tokens["T"].context == {"size": 1}


def test_a_waiting_report_ignores_its_event_and_payload(world: World) -> None:
    waiting = Report(
        task=1, kind="waiting", event="unknown", payload={"odd": 1}, supervisor="box", attempt=2
    )
    assert isinstance(world.do(waiting), Moved)


@pytest.mark.parametrize("paused", [False, True])
def test_a_paused_token_refuses_the_same_reports(
    world: World,
    paused: bool,  # noqa: FBT001 - a row of the table
) -> None:
    if paused:
        world.do(Pause("T"))
    refused(world, InvalidContext, **BAD)
    refused(world, InvalidPayload, event="say")
    refused(world, AttemptOver, attempt=1)
    assert isinstance(world.report(1, "nudge"), EventNotAllowed)
    assert world.kinds("T")[-1] == "event_rejected"


def test_the_task_of_an_ended_token_is_not_held(world: World) -> None:
    world.do(Cancel("T"))
    refused(world, TaskNotHeld, supervisor="box", attempt=2)
    refused(world, TaskNotHeld)
