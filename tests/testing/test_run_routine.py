"""One routine by itself: what it is given, how it may end, on a loop and without."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from stateous import (
    Context,
    Event,
    NotJson,
    Occurrence,
    StateousError,
    on_state,
)
from stateous.testing import CannotTest, Reported, Scheduled, run_routine, run_routine_async
from tests.testing.orders import Order, Review, events, orders, read, states, submitted, write


def test_what_a_def_routine_returns_and_leaves() -> None:
    done = run_routine(write, context={"title": "Two chairs"})
    assert done.event == events.submitted()
    assert done.notes == ["writing Two chairs"]
    assert done.context == {"title": "Two chairs", "pages": 3}
    assert done.memory == {"visits": 1}
    assert (done.waits, done.error, done.raised, done.schedules) == (False, None, None, [])


def test_what_an_async_def_routine_returns() -> None:
    done = run_routine(read, memory={"asked": 1})
    assert done.event == events.reviewed(approved=True)
    assert done.memory == {"asked": 1}


def test_a_routine_that_waits_and_asks_for_an_event_later() -> None:
    done = run_routine(read, visit=2)
    assert done.waits
    assert done.event is None
    assert done.schedules == [(events.reviewed(approved=False), timedelta(hours=2))]
    assert done.schedules == [
        Scheduled(Reported("reviewed", {"approved": False, "note": ""}), timedelta(hours=2))
    ]
    assert done.memory == {"asked": 2}


def test_a_routine_that_raises_keeps_its_notes_and_memory_and_nothing_else() -> None:
    @on_state(states.draft)
    def breaks(ctx: Context) -> None:
        ctx.note("begun")
        ctx.memory["at"] = 7
        ctx["pages"] = 9
        ctx.schedule(events.nudged, after="1h")
        raise ValueError("no ink")

    done = run_routine(breaks, context={"title": "x"})
    assert done.error == "ValueError: no ink"
    assert isinstance(done.raised, ValueError)
    assert (done.notes, done.memory) == (["begun"], {"at": 7})
    assert (done.context, done.schedules) == ({"title": "x"}, [])
    assert (done.event, done.waits) == (None, False)


def test_what_is_no_outcome_is_a_failure_as_the_supervisor_says_it() -> None:
    done = run_routine(lambda _: "reviewed", state=states.review)
    assert (
        done.error
        == "<lambda> in test_run_routine.py returned a str: it must return an event, or None to wait"
    )
    done = run_routine(lambda _: events.shipped, state=states.review)
    assert done.error is not None
    assert done.error.endswith("the event 'shipped', which the state 'review' does not emit")
    done = run_routine(lambda _: events.reviewed, state=states.review)
    assert done.error is not None
    assert "without its payload" in done.error


def test_a_routine_that_ends_the_program_fails_and_the_test_goes_on() -> None:
    def leaves(_: Context) -> None:
        raise SystemExit(3)

    async def leaves_later(_: Context) -> None:
        raise asyncio.CancelledError

    assert run_routine(leaves, state=states.draft).error == "SystemExit: 3"
    assert run_routine(leaves_later, state=states.draft).error == "CancelledError"


def test_ctrl_c_is_for_the_test() -> None:
    def stops(_: Context) -> None:
        raise KeyboardInterrupt

    async def stops_later(_: Context) -> None:
        raise KeyboardInterrupt

    for routine in (stops, stops_later):
        with pytest.raises(KeyboardInterrupt):
            run_routine(routine, state=states.draft)


def test_everything_that_a_routine_is_given() -> None:
    seen: dict[str, Any] = {}

    def looks(ctx: Context) -> Event:
        seen.update(
            token=ctx.token,
            task=ctx.task,
            state=ctx.state,
            visit=ctx.visit,
            attempt=ctx.attempt,
            entered_by=ctx.entered_by,
            title=ctx["title"],
            memory=dict(ctx.memory),
        )
        return events.looked()

    def look(**given: Any) -> dict[str, Any]:
        run_routine(looks, state=states.look, context=Order("A chair"), **given)
        return dict(seen)

    first = look()
    assert first["entered_by"] == Occurrence("__started__")
    assert (first["visit"], first["attempt"], first["task"]) == (1, 1, 1)
    assert (first["state"], first["title"], first["token"]) == (
        "security/look",
        "A chair",
        "TOKEN-1",
    )
    later = look(
        visit=3, attempt=2, token="T", memory={"a": [1]}, entered_by=events.reviewed(approved=True)
    )
    assert later["entered_by"] == Occurrence("reviewed", {"approved": True, "note": ""})
    assert (later["visit"], later["attempt"], later["token"]) == (3, 2, "T")
    assert later["memory"] == {"a": [1]}
    assert look(entered_by="nudged")["entered_by"] == Occurrence("nudged")
    assert look(entered_by=events.nudged)["entered_by"] == Occurrence("nudged")
    assert look(entered_by=submitted)["entered_by"] == Occurrence("submitted")
    assert look(entered_by=Occurrence("x", {"y": 1}))["entered_by"] == Occurrence("x", {"y": 1})


def test_what_a_test_gives_is_not_changed_by_the_routine() -> None:
    def changes(ctx: Context) -> None:
        ctx["tags"].append(1)
        ctx.memory["list"].append(1)

    context: dict[str, Any] = {"tags": []}
    memory: dict[str, Any] = {"list": []}
    run_routine(changes, state=states.draft, context=context, memory=memory)
    assert (context, memory) == ({"tags": []}, {"list": []})


def test_values_are_as_they_come_over_the_wire() -> None:
    at = datetime(2030, 1, 2, tzinfo=UTC)
    done = run_routine(write, context={"title": "x", "at": at})
    assert done.context["at"] == "2030-01-02T00:00:00Z"
    with pytest.raises(NotJson, match=r"context\.tags is a set"):
        run_routine(write, context={"tags": {1}})
    with pytest.raises(CannotTest, match="the context is a list, and no object"):
        run_routine(write, context=[1])


def test_a_memory_that_is_deleted_is_gone() -> None:
    def forgets(ctx: Context) -> None:
        del ctx.memory["a"]
        ctx.memory["b"] = None

    assert run_routine(forgets, state=states.draft, memory={"a": 1, "b": 2, "c": 3}).memory == {
        "c": 3
    }


def test_the_state_is_that_of_the_mark_or_the_one_that_is_said() -> None:
    @on_state(states.draft)
    @on_state(states.mend)
    def both(ctx: Context) -> events.submitted:
        ctx.note(ctx.state)
        return events.submitted()

    assert run_routine(both, state="mend").notes == ["mend"]
    assert run_routine(both, state=states.draft).notes == ["draft"]
    with pytest.raises(CannotTest, match="both is marked for draft, mend: say which one"):
        run_routine(both)
    with pytest.raises(CannotTest, match="<lambda> is marked for no state"):
        run_routine(lambda _: None)
    with pytest.raises(CannotTest, match="both is not marked for 'ship': give state=states"):
        run_routine(both, state="ship")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"contxt": {}}, "run_routine takes no 'contxt', only context, memory, "),
        ({"visit": 0}, "the visit is 0, and the first one is 1"),
        ({"attempt": -1}, "the attempt is -1, and the first one is 1"),
        ({"entered_by": 3}, "3 is no event: "),
        ({"entered_by": int}, "<class 'int'> is no event: "),
    ],
)
def test_what_no_routine_can_be_given_is_refused(given: Any, sentence: str) -> None:
    with pytest.raises(CannotTest) as told:
        run_routine(write, **given)
    assert str(told.value).startswith(sentence)


def test_a_routine_takes_one_argument() -> None:
    with pytest.raises(CannotTest, match="must take one argument, the context"):
        run_routine(cast("Any", lambda: None), state=states.draft)


def test_notes_and_memory_have_their_limits() -> None:
    def long(ctx: Context) -> None:
        ctx.note("x" * 501)

    assert "a note is a text of 1 to 500 characters" in (
        run_routine(long, state=states.draft).error or ""
    )


def test_a_thread_that_is_left_behind_can_write_nothing_more() -> None:
    ended, said = threading.Event(), list[str]()

    def leaves_one(ctx: Context) -> None:
        def writes() -> None:
            ended.wait()
            try:
                ctx.note("too late")
            except StateousError as problem:
                said.append(str(problem))

        threads.append(threading.Thread(target=writes))
        threads[0].start()

    threads = list[threading.Thread]()
    done = run_routine(leaves_one, state=states.draft)
    ended.set()
    threads[0].join()
    assert done.notes == []
    assert said == ["task 1 of TOKEN-1 is over for this attempt"]


async def test_in_a_test_on_a_loop_the_routine_runs_on_it() -> None:
    loop = asyncio.get_running_loop()

    async def looks(_: Context) -> Event:
        await asyncio.sleep(0)
        assert asyncio.get_running_loop() is loop
        return events.nudged()

    done = await run_routine_async(looks, state=states.review)
    assert (done.event, done.error) == (events.nudged(), None)
    with pytest.raises(
        CannotTest, match=r"this test runs on a loop: write await run_routine_async\(...\)"
    ):
        run_routine(looks, state=states.review)


async def test_in_a_test_on_a_loop_a_def_routine_runs_in_a_thread() -> None:
    word = contextvars.ContextVar("word", default="none")
    word.set("said")

    def looks(_: Context) -> Event:
        assert threading.current_thread() is not threading.main_thread()
        assert word.get() == "said"
        asyncio.run(asyncio.sleep(0))
        return events.nudged()

    done = await run_routine_async(looks, state=states.review, context=Order("x"), workflow=orders)
    assert (done.event, done.error) == (events.nudged(), None)


async def test_a_test_that_is_cancelled_is_cancelled() -> None:
    begun = asyncio.Event()

    async def waits(_: Context) -> None:
        begun.set()
        await asyncio.Event().wait()

    running = asyncio.create_task(run_routine_async(waits, state=states.review))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


def test_without_a_loop_a_def_routine_runs_where_the_test_does() -> None:
    def looks(_: Context) -> None:
        assert threading.current_thread() is threading.main_thread()
        asyncio.run(asyncio.sleep(0))

    assert run_routine(looks, state=states.review).waits


def test_a_reported_event_equals_what_would_be_sent_in_the_same_way() -> None:
    sent = Reported("reviewed", {"approved": True, "note": ""})
    assert sent == events.reviewed(approved=True)
    assert events.reviewed(Review(True)) == sent
    assert sent == Reported("reviewed", {"approved": True, "note": ""})
    assert sent == events.reviewed({"note": "", "approved": True})
    assert sent != events.reviewed(approved=False)
    assert sent != events.reviewed
    assert sent != events.submitted()
    assert sent != "reviewed"
    for same in (
        events.reviewed(approved=True),
        Reported("reviewed", {"approved": True, "note": ""}),
    ):
        assert not sent != same  # noqa: SIM202 - both operators are asked
        assert not same != sent  # noqa: SIM202
    assert Reported("submitted") == events.submitted
    assert Reported("submitted") == events.submitted()
    assert Reported("submitted") != events.shipped
    assert repr(sent) == "reviewed({'approved': True, 'note': ''})"
    assert repr(Reported("submitted")) == "submitted()"
    with pytest.raises(TypeError):
        hash(sent)
