"""A whole workflow in memory: its own routines, what tokens show, and time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from stateous import (
    Context,
    InvalidArgument,
)
from stateous.testing import CannotTest, Rehearsal, RehearsedToken
from tests.testing import orders as flow
from tests.testing.orders import Finding, Order, Review, events, orders, states

WAITS: Any = {states.draft: events.submitted, states.review: None}


def test_a_workflow_runs_with_its_own_routines() -> None:
    world = Rehearsal(orders, routines=[flow])
    token = world.start("ORDER-1", {"title": "Two chairs"})
    assert (token.state, token.status, token.visit, token.waits) == ("draft", "active", 1, False)
    world.run()
    assert (token.state, token.status, token.waits) == ("review", "active", True)
    assert token.context == {"title": "Two chairs", "pages": 3}
    assert token.memory == {"asked": 1}
    assert token.notes == ["writing Two chairs"]
    world.advance("2h")
    assert (token.state, token.visit, token.context["pages"]) == ("draft", 2, 3)
    world.run()
    assert (token.state, token.status) == ("ship", "completed")
    assert [child.token for child in token.children] == ["ORDER-1.checks.1.security"]
    assert token.children[0].status == "completed"
    assert token.children[0].parent == "ORDER-1"
    assert token.memory == {}


def test_a_token_shows_how_it_is_now() -> None:
    world = Rehearsal(orders, stubs=WAITS)
    token = world.start("ORDER-1", Order("Two chairs"))
    assert repr(token) == "<ORDER-1: draft, active>"
    world.run()
    assert repr(token) == "<ORDER-1: review, active>"
    assert token.entered_at == world.now
    assert token.parent is None
    assert world.token("ORDER-1") == token
    assert world.token(token) == token
    assert {world.token("ORDER-1"), token} == {token}
    assert token != "ORDER-1"
    assert world.tokens == [token]
    assert Rehearsal(orders).start("ORDER-1", {"title": "x"}) != token


def test_the_history_is_the_ledger_and_each_entry_a_sentence() -> None:
    world = Rehearsal(orders, stubs={**WAITS, "review": [None]})
    token = world.start("ORDER-1", {"title": "Two chairs"})
    world.run()
    assert [entry.kind for entry in token.history] == [
        "started", "event_accepted", "entered", "task_queued", "task_claimed",
        "event_accepted", "task_done", "entered", "task_queued", "timer_set", "task_claimed", "task_waiting",
    ]  # fmt: skip
    assert [entry.seq for entry in token.history] == list(range(1, 13))
    assert token.history[9].data == {"event": "timeout", "due_at": "2030-01-01T06:00:00Z"}
    assert token.sentences[:3] == [
        'started with {"title":"Two chairs","pages":0}',
        "event __started__ accepted in __start__",
        "entered draft (visit 1)",
    ]
    assert token.sentences[-1] == "task 2 waits for someone outside"


def test_what_is_shown_can_be_changed_without_harm() -> None:
    world = Rehearsal(orders, routines=[flow])
    token = world.start("ORDER-1", {"title": "x", "tags": [1]})
    world.run()
    token.context["tags"].append(2)
    token.memory["asked"] = 9
    token.history[0].data["context"]["title"] = "y"
    assert token.context["tags"] == [1]
    assert token.memory == {"asked": 1}
    assert token.history[0].data["context"]["title"] == "x"


def test_time_passes_only_by_hand() -> None:
    world = Rehearsal(orders, stubs=WAITS)
    token = world.start("ORDER-1", {"title": "x"})
    assert world.now == datetime(2030, 1, 1, tzinfo=UTC)
    world.run()
    assert world.now == datetime(2030, 1, 1, tzinfo=UTC)
    assert world.advance(timedelta(hours=5, minutes=59)) == datetime(2030, 1, 1, 5, 59, tzinfo=UTC)
    assert token.state == "review"
    world.advance("1m")
    assert (token.state, token.visit) == ("draft", 2)
    assert token.history[-1].at == world.now
    with pytest.raises(ValueError, match="is not a duration"):
        world.advance("soon")
    number: Any = 6
    with pytest.raises(CannotTest, match="6 is no duration: write a text such as '6h'"):
        world.advance(number)
    with pytest.raises(ValueError, match="a clock does not run backwards"):
        world.advance(timedelta(seconds=-1))
    with pytest.raises(InvalidArgument, match="to the year 9000 at most"):
        world.advance(timedelta(days=365 * 8000))
    assert Rehearsal(orders, now=datetime(2026, 5, 4, tzinfo=UTC)).now.year == 2026


def test_a_routine_may_let_time_pass_and_keeps_its_lease() -> None:
    def works_long(_: Context) -> object:
        world.advance("3h")
        return events.nudged() if world.now.hour < 6 else None

    world = Rehearsal(orders, stubs={"draft": "submitted", "review": works_long})
    token = world.start("ORDER-1", {"title": "x"})
    world.run()
    # The second visit was left by its timeout, while the routine worked: it has begun at three o'clock.
    assert (token.state, token.visit, token.waits) == ("review", 2, True)
    assert "task_failed" not in [entry.kind for entry in token.history]


def test_what_comes_too_late_is_dropped_as_a_supervisor_drops_it() -> None:
    lost = list[str]()

    def is_cancelled(ctx: Context) -> object:
        world.cancel(ctx.token)
        ctx.note("the first is lost")
        try:
            ctx.note("the second is told so")
        except Exception as problem:  # noqa: BLE001 - whatever it is
            lost.append(str(problem))
        return events.submitted()

    world = Rehearsal(orders, stubs={"draft": is_cancelled})
    token = world.start("ORDER-1", {"title": "x"})
    world.run()
    assert (token.status, token.notes) == ("cancelled", [])
    assert lost == ["task 1 of ORDER-1 is over for this attempt"]
    assert token.history[-1].kind == "cancelled"


def test_a_routine_cannot_run_the_others() -> None:
    def runs(_: Context) -> None:
        world.run()

    world = Rehearsal(orders, stubs={"draft": runs})
    token = world.start("ORDER-1", {"title": "x"})
    world.run()
    failed = "CannotTest: a routine cannot call run: it is at work already"
    assert failed in [entry.data.get("error") for entry in token.history]


def test_a_routine_may_start_and_fire() -> None:
    def starts(ctx: Context) -> object:
        if ctx.token == "ONE":
            world.fire(world.start("TWO", {"title": "y"}), events.nudged)
        return events.submitted()

    world = Rehearsal(orders, stubs={**WAITS, "draft": starts})
    world.start("ONE", {"title": "x"})
    world.run()
    assert "EventNotAllowed" in world.token("ONE").sentences[5]
    assert [token.token for token in world.tokens] == ["ONE", "TWO"]


def test_findings_of_a_child_reach_its_parent() -> None:
    world = Rehearsal(
        orders,
        stubs={
            **WAITS,
            "review": (flow.reviewed, Review(approved=True)),
            "security/look": (flow.looked, Finding(severe=True)),
        },
    )
    token = world.start("ORDER-1", {"title": "x"})
    world.run()
    assert isinstance(token.children[0], RehearsedToken)
    assert (token.state, token.waits) == ("ship", False)
