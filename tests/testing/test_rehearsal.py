"""A whole workflow in memory: tokens, routines and stubs, time, and everything that people do to tokens."""

from __future__ import annotations

import asyncio
import threading
import types
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from stateous import (
    ChildToken,
    Context,
    EventNotAllowed,
    InvalidArgument,
    InvalidContext,
    InvalidPayload,
    InvalidTokenId,
    TaskNotFound,
    TaskNotHeld,
    TokenNotActive,
    TokenNotFound,
    on_state,
)
from stateous.testing import CannotTest, Rehearsal, RehearsedToken
from tests.testing import orders as flow
from tests.testing.orders import Finding, Order, Review, draft, events, orders, states

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


# -- routines and stubs -----------------------------------------------------------------------------


def test_a_state_without_routine_or_stub_is_left_alone() -> None:
    world = Rehearsal(orders, routines=[flow.write])
    token = world.start("ORDER-1", {"title": "x"})
    world.run()
    assert (token.state, token.waits) == ("review", False)
    assert token.task is not None
    with pytest.raises(TaskNotHeld, match="it is queued"):
        world.report(token, events.reviewed(approved=True))


def approves(_: Context) -> events.reviewed:
    return events.reviewed(approved=True)


STUBS: list[Any] = [
    events.reviewed(approved=True),
    events.reviewed({"approved": True}),
    (flow.reviewed, {"approved": True}),
    (flow.reviewed, Review(approved=True)),
    ("reviewed", {"approved": True}),
    (events.reviewed, Review(approved=True)),
    [events.reviewed(approved=True)],
    approves,
]


@pytest.mark.parametrize("stub", STUBS)
def test_a_stub_says_what_its_state_does(stub: Any) -> None:
    world = Rehearsal(orders, stubs={"draft": "submitted", "review": stub})
    token = world.start("ORDER-1", {"title": "x"})
    world.run()
    assert token.state == "checks"


@pytest.mark.parametrize("state", [states.draft, draft, "draft"])
@pytest.mark.parametrize(
    "stub", [events.submitted, events.submitted(), flow.submitted, "submitted"]
)
def test_a_state_and_an_event_have_several_names(state: Any, stub: Any) -> None:
    world = Rehearsal(orders, stubs={state: stub})
    token = world.start("ORDER-1", {"title": "x"})
    world.run()
    assert token.state == "review"


def test_a_list_is_one_step_for_each_attempt_of_a_token() -> None:
    steps: Any = [ValueError("no ink"), events.submitted, ValueError("no ink again")]
    world = Rehearsal(
        orders, stubs={states.draft: steps, states.review: events.reviewed(approved=False)}
    )
    one, two = (world.start(token, {"title": "x"}) for token in ("ONE", "TWO"))
    world.run()
    for token in (one, two):
        # The second visit fails in all three attempts, and goes to mend.
        assert (token.state, token.visit) == ("mend", 1)
        failures = [e.data["error"] for e in token.history if e.kind == "task_failed"]
        assert failures == ["ValueError: no ink", *["ValueError: no ink again"] * 3]


def test_a_stub_stands_before_the_routine() -> None:
    world = Rehearsal(orders, routines=[flow], stubs={states.review: flow.nudged})
    token = world.start("ORDER-1", {"title": "x"})
    with pytest.raises(CannotTest, match="after 20 attempts there is still work"):
        world.run(at_most=20)
    assert (token.state, token.visit) == ("review", 20)


def test_a_stub_may_be_a_routine_of_any_kind() -> None:
    async def asks(ctx: Context) -> object:
        await asyncio.sleep(0)
        ctx.note("asked")
        return None

    def looks(ctx: Context) -> object:
        ctx.note("looked")
        return events.nudged()

    world = Rehearsal(orders, stubs={states.draft: "submitted", states.review: [looks, asks]})
    token = world.start("ORDER-1", {"title": "x"})
    world.run()
    assert (token.notes, token.waits) == (["looked", "asked"], True)


def test_a_payload_that_breaks_its_model_fails_the_attempt() -> None:
    world = Rehearsal(orders, stubs={"draft": "submitted", "review": ("reviewed", {"approved": 1})})
    token = world.start("ORDER-1", {"title": "x"})
    world.run()
    assert token.status == "failed"
    assert "the control plane refused the report: the payload of 'reviewed'" in token.sentences[-1]


@on_state(states.draft)
def write_too(_: Context) -> events.submitted:
    return events.submitted()


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"stubs": {"nowhere": None}}, "the workflow 'orders' has no state 'nowhere': 'draft', "),
    ({"stubs": {"checks": None}}, "the state 'checks' has no routine: it starts child tokens"),
    ({"stubs": {"look": None}}, "the workflow 'orders' has no state 'look': "),
    (
        {"stubs": {"draft": "sent"}},
        "the stub of 'draft' returns 'sent', and the state emits 'submitted'",
    ),
    ({"stubs": {"draft": events.shipped}}, "the stub of 'draft' returns 'shipped', "),
    ({"stubs": {"draft": []}}, "the stub of 'draft' is an empty list: say what it does"),
    ({"stubs": {"draft": (events.submitted(), {})}}, "the payload of 'submitted' is given twice"),
    ({"stubs": {"draft": 7}}, "a routine in the test is no function: "),
    ({"stubs": {"draft": lambda: None}}, "<lambda> in test_rehearsal.py must take one argument"),
    ({"routines": [types]}, "the module types has no routine: mark one with @on_state"),
    (
        {"routines": [test_a_stub_says_what_its_state_does]},
        "test_a_stub_says_what_its_state_does is marked for",
    ),
    (
        {"routines": [flow, write_too]},
        "the state 'draft' has two routines: write in orders.py, and write_too in test_rehearsal.py",
    ),
]


@pytest.mark.parametrize(("given", "sentence"), WRONG)
def test_what_does_not_fit_the_workflow_is_told_at_once(given: Any, sentence: str) -> None:
    with pytest.raises(CannotTest) as told:
        Rehearsal(orders, **given)
    assert str(told.value).startswith(sentence)


def test_a_routine_that_is_found_twice_is_one_routine() -> None:
    assert Rehearsal(orders, routines=[flow, flow.write, flow]).graph.workflow == "orders"


# -- what people do ---------------------------------------------------------------------------------


def test_events_are_fired_as_a_client_fires_them() -> None:
    world = Rehearsal(orders, stubs=WAITS)
    token = world.start("ORDER-1", {"title": "x"})
    with pytest.raises(EventNotAllowed):
        world.fire(token, events.nudged)
    assert token.history[-1].kind == "event_rejected"
    world.run()
    assert world.fire("ORDER-1", flow.nudged, key="click-1") == token
    world.fire(token, "nudged", key="click-1")
    assert token.visit == 2
    with pytest.raises(InvalidPayload):
        world.fire(token, events.reviewed({"approved": 1}))
    with pytest.raises(InvalidPayload):
        world.fire(token, events.nudged, key="")
    world.fire(token, "reviewed", Review(approved=True))
    assert token.state == "checks"
    with pytest.raises(TokenNotFound):
        world.fire("ORDER-2", events.nudged)
    with pytest.raises(CannotTest, match="the payload of 'reviewed' is given twice"):
        world.fire(token, events.reviewed(approved=True), {"approved": True})


def test_someone_outside_reports_for_a_task_that_waits() -> None:
    world = Rehearsal(orders, stubs=WAITS)
    token = world.start("ORDER-1", {"title": "x"})
    world.run()
    with pytest.raises(EventNotAllowed):
        world.report(token, events.shipped)
    with pytest.raises(InvalidContext):
        world.report(token, events.nudged, context={"pages": "many"})
    world.report(token, events.reviewed, Review(approved=False), context={"pages": 5})
    assert (token.state, token.visit, token.context["pages"]) == ("draft", 2, 5)
    world.run()
    world.report("ORDER-1", error="nobody there")
    assert token.status == "failed"
    with pytest.raises(TaskNotHeld, match="it is failed"):
        world.report(token, events.nudged)


def test_a_token_that_had_no_task_cannot_be_reported_for() -> None:
    world = Rehearsal({
        "stateous": 1,
        "workflow": "outer",
        "states": {"both": {"parallel": ["inner"], "join": "all"}},
        "events": {},
        "transitions": [{"from": "__start__", "to": "both"}],
        "schemas": {},
        "workflows": {
            "inner": {
                "states": {"work": {"emits": []}},
                "events": {},
                "transitions": [{"from": "__start__", "to": "work"}],
            }
        },
    })  # fmt: skip
    token = world.start("T")
    with pytest.raises(TaskNotFound, match="the token 'T' has had no task: 'both' has no routine"):
        world.report(token, "done")
    assert token.task is None
    assert not token.waits
    with pytest.raises(ChildToken):
        world.pause(token.children[0])


def test_a_pause_holds_what_arrives() -> None:
    world = Rehearsal(orders, stubs=WAITS)
    token = world.start("ORDER-1", {"title": "x"})
    assert world.pause(token).status == "paused"
    world.run()
    assert token.state == "draft"
    world.resume("ORDER-1")
    world.run()
    world.pause(token)
    world.report(token, events.nudged)
    assert (token.state, token.visit) == ("review", 1)
    world.resume(token)
    assert token.visit == 2
    world.cancel(token)
    assert token.status == "cancelled"
    for verb in (world.pause, world.resume, world.cancel):
        with pytest.raises(TokenNotActive):
            verb(token)


def test_tokens_are_started_as_a_client_starts_them() -> None:
    world = Rehearsal(orders, stubs=WAITS)
    token = world.start("ORDER-1", {"title": "x"})
    world.run()
    assert world.start("ORDER-1", {"title": "another"}) == token
    assert token.context["title"] == "x"
    for name in ("order-1", "-", ""):
        with pytest.raises(InvalidTokenId):
            world.start(name, {"title": "x"})
    with pytest.raises(InvalidContext):
        world.start("ORDER-2")
    with pytest.raises(InvalidContext, match="is an object"):
        world.start("ORDER-2", [1])
    with pytest.raises(TokenNotFound, match="no token has the id 'ORDER-2'"):
        world.token("ORDER-2")
    assert world.tokens == [token]


# -- time -------------------------------------------------------------------------------------------


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


# -- on a loop --------------------------------------------------------------------------------------


async def test_in_a_test_on_a_loop_everything_runs_on_it() -> None:
    loop = asyncio.get_running_loop()

    async def awaits(_: Context) -> object:
        assert asyncio.get_running_loop() is loop
        await asyncio.sleep(0)
        return events.reviewed(approved=True)

    def looks(ctx: Context) -> object:
        assert threading.current_thread() is not threading.main_thread()
        ctx.note("looked")
        return events.looked(severe=True)

    world = Rehearsal(orders, routines=[flow], stubs={states.review: awaits, states.look: looks})
    token = world.start("ORDER-1", {"title": "x"})
    with pytest.raises(CannotTest, match="write await run_async"):
        world.run()
    await world.run_async()
    assert token.status == "completed"
    assert token.children[0].notes == ["looked"]


async def test_notes_of_many_threads_are_all_there() -> None:
    async def notes(ctx: Context) -> object:
        await asyncio.gather(*(asyncio.to_thread(ctx.note, f"line {n}") for n in range(50)))
        return None

    world = Rehearsal(orders, stubs={"draft": notes})
    token = world.start("ORDER-1", {"title": "x"})
    await world.run_async()
    assert sorted(token.notes) == sorted(f"line {n}" for n in range(50))
    assert [entry.seq for entry in token.history] == list(range(1, len(token.history) + 1))


async def test_a_rehearsal_that_is_cancelled_can_go_on() -> None:
    begun = asyncio.Event()

    async def waits(_: Context) -> object:
        begun.set()
        await asyncio.Event().wait()
        return None

    world = Rehearsal(orders, stubs={"draft": [waits, events.submitted]})
    token = world.start("ORDER-1", {"title": "x"})
    running = asyncio.create_task(world.run_async())
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    world.advance("3m")
    await world.run_async()
    assert token.state == "review"
    assert "no heartbeat" in token.sentences[5]


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
