"""A routine's steps, one by one: what comes back of earlier attempts, what is written down, what no step can be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import pydantic
import pytest

from stateous import FlowFailed, Mistyped, ResponseFailed, ResponseTimeout
from stateous.client.answers import GrantFlow, GrantStep
from stateous.model.refusals import (
    AttemptOver,
    FlowTooLarge,
    FlowUnreadable,
    StaleRevision,
    Unexpected,
)
from stateous_supervisor.attempt import cannot_begin
from stateous_supervisor.flow import BadStep
from stateous_supervisor.link import GaveUp
from tests.supervisor.attempts import (
    Plane,
    attempt,
    done,
    grant,
    grant_with,
    report,
    routine_of,
    run,
)
from tests.supervisor.running import submitted


class Label(msgspec.Struct):
    number: int
    by: timedelta = timedelta(0)


class Model(pydantic.BaseModel):
    number: int


@pytest.fixture
def plane() -> Plane:
    return Plane()


def test_a_step_is_done_and_written_down(plane: Plane) -> None:
    seen: list[Any] = []

    def routine(ctx: Any) -> Any:
        seen.append(ctx.step("charge", _both, 1, b=2))
        seen.append(ctx.step("label", lambda: {"number": 4, "by": "PT2S"}, type=Label))
        return submitted

    assert run(plane, grant(), routine)["event"] == "submitted"
    assert seen == [[1, 2], Label(4, timedelta(seconds=2))]
    head = {"attempt": 3, "supervisor": "box", "kind": "step"}
    assert plane.told == [
        {**head, "revision": 0, "name": "charge", "result": [1, 2]},
        {**head, "revision": 1, "name": "label", "result": {"number": 4, "by": "PT2S"}},
    ]


async def test_an_async_routine_awaits_its_steps(plane: Plane) -> None:
    async def doubled(number: int) -> int:
        await asyncio.sleep(0)
        return number * 2

    async def routine(ctx: Any) -> Any:
        assert await ctx.step("one", doubled, 1) == 2
        assert await ctx.step("two", lambda: 3) == 3
        assert await ctx.step("three", doubled, 4, type=int) == 0
        return submitted

    async def whole() -> object:
        made = attempt(plane, grant(three=done(0)), routine, awaited=True)
        return made.returned(await routine(made.context))

    await whole()
    assert [each["name"] for each in plane.told] == ["one", "two"]


def test_what_is_done_is_not_done_again_and_comes_back_typed(plane: Plane) -> None:
    seen: list[Any] = []

    def routine(ctx: Any) -> Any:
        seen.append(ctx.step("none", _never, type=None))
        seen.append(ctx.step("label", _never, type=Label))
        seen.append(ctx.step("labels", _never, type=list[Label]))
        seen.append(ctx.step("model", _never, type=Model))
        seen.append(ctx.step("models", _never, type=dict[str, Model]))
        return submitted

    steps = {
        "none": done(None),
        "label": done({"number": 1, "by": "PT1M"}),
        "labels": done([{"number": 2}]),
        "model": done({"number": 3}),
        "models": done({"a": {"number": 4}}),
    }
    assert run(plane, grant(**steps), routine)["event"] == "submitted"
    assert seen == [
        None,
        Label(1, timedelta(minutes=1)),
        [Label(2)],
        Model(number=3),
        {"a": Model(number=4)},
    ]
    assert plane.told == []


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Label, "the result of the step 'label' is no Label: Expected `int`, got `str` - at `number`"),
        (Model, "the result of the step 'label' is no Model: Input should be a valid integer"),
    ],
)  # fmt: skip
def test_what_comes_back_as_something_else_is_named(plane: Plane, kind: Any, said: str) -> None:
    def routine(ctx: Any) -> None:
        ctx.step("label", _never, type=kind)

    error = run(plane, grant(label=done({"number": "x"})), routine)["error"]
    assert error.startswith(f"{Mistyped.__name__}: {said}")


def test_a_result_that_is_no_json_is_named(plane: Plane) -> None:
    def routine(ctx: Any) -> None:
        ctx.step("label", lambda: {"pages": {1}})

    error = run(plane, grant(), routine)["error"]
    assert error == "NotJson: the result of the step 'label'.pages is a set, which JSON cannot hold"


def test_a_step_that_raises_is_written_down_when_it_ends_the_attempt(plane: Plane) -> None:
    def routine(ctx: Any) -> None:
        try:
            ctx.step("charge", _raises, ValueError("no card"))
        except ValueError as problem:
            raise KeyError("charge") from problem

    ended = run(plane, grant(), routine)
    assert ended["error"] == "KeyError: 'charge', because of ValueError: no card"
    (told,) = plane.told
    assert (told["name"], told["faulted"], told["message"], told["last"]) == (
        "charge", True, "ValueError: no card", True,
    )  # fmt: skip


def test_a_step_that_raises_may_be_tried_again(plane: Plane) -> None:
    def routine(ctx: Any) -> Any:
        with pytest.raises(ValueError, match="no card"):
            ctx.step("charge", _raises, ValueError("no card"))
        ctx.step("charge", lambda: 1)
        raise OSError

    assert run(plane, grant(), routine)["error"] == "OSError"
    assert [each.get("result") for each in plane.told] == [1]


def test_a_failure_for_good_is_final(plane: Plane) -> None:
    def routine(ctx: Any) -> Any:
        raise FlowFailed("no such customer")

    def grouped(ctx: Any) -> Any:
        raise ExceptionGroup("two", [ValueError(), FlowFailed("no such customer")])

    assert run(plane, grant(), routine)["final"] is True
    assert run(plane, grant(), grouped)["final"] is True
    assert "final" not in run(plane, grant(), lambda _: _raises(ValueError()))


def _both(a: int, b: int) -> tuple[int, int]:
    return a, b


def _never() -> None:
    raise AssertionError("it was done before")


def _raises(problem: Exception) -> None:
    raise problem


# -- responses ------------------------------------------------------------------------------------


def test_a_response_is_asked_for_once_and_ends_the_run(plane: Plane) -> None:
    asked: list[Any] = []

    def ask(*got: Any) -> None:
        asked.append(got)

    def routine(ctx: Any) -> Any:
        ctx["asked"] = True
        try:
            ctx.respond("label", ask, 5, timeout=timedelta(hours=2))
        except Exception:  # noqa: BLE001 - as routines do
            asked.append("caught")
        return submitted

    ended = run(plane, grant(), routine)
    assert (ended["kind"], ended["awaiting"], ended["context"]) == (
        "waiting", ["label"], {"asked": True},
    )  # fmt: skip
    assert asked == [("c0ffee", 5)]
    (told,) = plane.told
    assert (told["kind"], told["timeout"], told["on_lost"]) == ("response", "7200s", "resume")


def test_an_open_response_is_awaited_again_without_a_trigger(plane: Plane) -> None:
    opened = GrantStep(kind="response", status="open", correlation="c")
    ended = run(plane, grant(label=opened), lambda ctx: ctx.respond("label", _never))
    assert (ended["kind"], ended["awaiting"], plane.told) == ("waiting", ["label"], [])


def test_the_answer_comes_back_typed(plane: Plane) -> None:
    seen: list[Any] = []
    answered = GrantStep(kind="response", status="done", result={"number": 1})

    def routine(ctx: Any) -> Any:
        seen.append(ctx.respond("label", _never, type=Label))
        return submitted

    assert run(plane, grant(label=answered), routine)["event"] == "submitted"
    assert seen == [Label(1)]


@pytest.mark.parametrize(("fault", "raised"), [("failed", ResponseFailed), ("deadline", ResponseTimeout)])  # fmt: skip
def test_a_fault_is_raised_and_the_next_attempt_asks_afresh(
    plane: Plane, fault: str, raised: type[Exception]
) -> None:
    faulted = GrantStep(kind="response", status="faulted", message="no paper", fault=fault)
    asked: list[str] = []

    def routine(ctx: Any) -> Any:
        ctx.respond("label", asked.append)

    ended = run(plane, grant(label=faulted), routine)
    assert (ended["error"], asked, plane.told) == (f"{raised.__name__}: no paper", [], [])

    told_before = msgspec.structs.replace(faulted, fault=None)
    assert run(plane, grant(label=told_before), routine)["kind"] == "waiting"
    assert asked == ["c0ffee"]


def test_who_handles_a_fault_may_ask_again(plane: Plane) -> None:
    faulted = GrantStep(kind="response", status="faulted", message="no paper", fault="failed")

    def routine(ctx: Any) -> Any:
        with pytest.raises(ResponseFailed, match="no paper"):
            ctx.respond("label", _never)
        ctx.respond("label", print)

    assert run(plane, grant(label=faulted), routine)["awaiting"] == ["label"]


def test_a_trigger_that_raises_asked_nobody(plane: Plane) -> None:
    def trigger(_: str) -> None:
        raise ValueError("no address")

    ended = run(plane, grant(), lambda ctx: ctx.respond("label", trigger))
    assert ended["error"] == "ValueError: no address"
    opened, faulted = plane.told
    assert (opened["revision"], faulted["revision"]) == (0, 1)
    assert (faulted["kind"], faulted["faulted"], faulted["message"]) == (
        "response", True, "ValueError: no address",
    )  # fmt: skip


def test_a_routine_that_goes_on_when_it_is_to_wait_fails(plane: Plane) -> None:
    def routine(ctx: Any) -> Any:
        try:
            ctx.respond("label", print)
        except BaseException:  # noqa: BLE001 - as no routine should
            return submitted

    error = run(plane, grant(), routine)["error"]
    assert error.startswith("routine in routines.py went on when it was to wait for 'label'")


async def test_tasks_of_a_group_let_the_run_end(plane: Plane) -> None:
    async def routine(ctx: Any) -> Any:
        async with asyncio.TaskGroup() as group:
            group.create_task(ctx.respond("label", print))
            group.create_task(asyncio.sleep(60))

    made = attempt(plane, grant(), routine, awaited=True)
    with pytest.raises(BaseExceptionGroup) as raised:
        await routine(made.context)
    assert report(made.raised(raised.value))["awaiting"] == ["label"]


# -- what no step can be ----------------------------------------------------------------------------


USES: list[tuple[Callable[[Any], Any], str]] = [
    (lambda ctx: ctx.step("", print), "a step is named by a text of 1 to 128 characters"),
    (lambda ctx: ctx.step("x" * 129, print), "a step is named by a text of 1 to 128 characters"),
    (lambda ctx: ctx.step("a\0", print), "a step is named by a text of 1 to 128 characters"),
    (lambda ctx: ctx.step(1, print), "a step is named by a text of 1 to 128 characters"),
    (lambda ctx: [ctx.step("a", int), ctx.step("a", int)], "the step 'a' was there before in this run: each needs its own name"),
    (lambda ctx: ctx.step("a", ctx.step, "b", int), "'b' cannot begin while 'a' is under way: steps come one after the other"),
    (lambda ctx: ctx.step("a", 1), "the step 'a' needs a function, and not what it returned: fn, *args"),
    (lambda ctx: ctx.step("a", asyncio.sleep, 0), "a step of a def routine cannot await: make the routine an async def"),
    (lambda ctx: ctx.step("a", lambda: "x" * 2**20), "what the step 'a' comes with is larger than a mebibyte: nobody takes it"),
    (lambda ctx: ctx.respond("a", print, on_lost="no"), "on_lost of 'a' is 'resume', 'fail' or 'keep'"),
    (lambda ctx: ctx.respond("old", print), "'old' was a step in an earlier attempt, and is a response now"),
    (lambda ctx: ctx.step("b", print), "'b' cannot begin while 'open' is awaited since an earlier attempt: a routine has to come to the same steps in each run"),
]  # fmt: skip


@pytest.mark.parametrize(("use", "said"), USES)
def test_what_no_step_can_be_is_said(plane: Plane, use: Callable[[Any], Any], said: str) -> None:
    steps = {"old": done(1)}
    if "'open'" in said:
        steps["open"] = GrantStep(kind="response", status="open", correlation="c")
    assert run(plane, grant(**steps), use)["error"] == f"BadStep: {said}"


def test_a_control_plane_without_steps_is_said(plane: Plane) -> None:
    error = run(plane, grant_with(None), lambda ctx: ctx.step("a", _never))["error"]
    assert error == "BadStep: the control plane knows no steps yet: upgrade it first"


async def test_two_steps_at_once_are_an_error(plane: Plane) -> None:
    async def routine(ctx: Any) -> Any:
        first = asyncio.create_task(ctx.step("a", asyncio.sleep, 0, 1))
        await asyncio.sleep(0)
        with pytest.raises(BadStep, match="'b' cannot begin while 'a' is under way"):
            await ctx.step("b", asyncio.sleep, 0)
        assert await first == 1
        return submitted

    made = attempt(plane, grant(), routine, awaited=True)
    assert report(made.returned(await routine(made.context)))["event"] == "submitted"


def test_nothing_begins_when_the_attempt_is_over(plane: Plane) -> None:
    kept: list[Any] = []
    run(plane, grant(), kept.append)
    with pytest.raises(BadStep, match="task 7 of A is over for this attempt"):
        kept[0].step("a", _never)


# -- what the control plane refuses ---------------------------------------------------------------------


@pytest.mark.parametrize("refusal", [StaleRevision("at 3"), AttemptOver("attempt 3 is over")])
def test_a_run_that_does_not_count_is_stopped(plane: Plane, refusal: Exception) -> None:
    plane.refusal = refusal

    def routine(ctx: Any) -> Any:
        try:
            ctx.step("a", int)
        except Exception:  # noqa: BLE001 - as routines do
            return submitted

    assert run(plane, grant(), routine)["error"] == f"stopped: {refusal}"

    def stubborn(ctx: Any) -> Any:
        try:
            ctx.step("a", int)
        except BaseException:  # noqa: BLE001 - as no routine should
            return submitted

    error = run(plane, grant(), stubborn)["error"]
    assert error == f"stubborn in routines.py went on when it was stopped: {refusal}"


WRITTEN_DOWN: list[Callable[[Any], Any]] = [
    lambda ctx: ctx.step("a", int),
    lambda ctx: ctx.respond("a", _never),
    lambda ctx: ctx.child("a", "audit"),
]


@pytest.mark.parametrize("use", WRITTEN_DOWN)
@pytest.mark.parametrize("cut", [asyncio.CancelledError(), GaveUp("gone"), Unexpected("who knows")])
def test_a_run_whose_checkpoint_was_cut_off_is_stopped(
    plane: Plane, use: Callable[[Any], Any], cut: BaseException
) -> None:
    plane.refusal = cut
    stopped = (
        f"the checkpoint of 'a' was cut off ({type(cut).__name__}), and nobody here knows whether it is "
        "written down: the next attempt does"
    )

    def again(ctx: Any) -> Any:
        with pytest.raises(type(cut)):
            use(ctx)
        plane.refusal = None
        ctx.step("a", _never)

    assert run(plane, grant(), again)["error"] == f"stopped: {stopped}"
    assert len(plane.told) == 1

    def stubborn(ctx: Any) -> Any:
        plane.refusal = cut
        with pytest.raises(type(cut)):
            use(ctx)
        return submitted

    error = run(plane, grant(), stubborn)["error"]
    assert error == f"stubborn in routines.py went on when it was stopped: {stopped}"

    def giving_up(ctx: Any) -> Any:
        with pytest.raises(type(cut)):
            use(ctx)
        raise FlowFailed("too slow")

    ended = run(plane, grant(), giving_up)
    assert (ended["error"], "final" in ended) == ("FlowFailed: too slow", False)


async def test_a_step_whose_effect_is_cut_off_may_be_tried_again(plane: Plane) -> None:
    async def routine(ctx: Any) -> Any:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await ctx.step("a", asyncio.sleep, 60)
        await ctx.step("a", int)
        return submitted

    tried = attempt(plane, grant(), routine, awaited=True)
    end = tried.returned(await routine(tried.context))
    assert report(end)["kind"] == "event"


def test_a_flow_that_is_too_large_fails_for_good(plane: Plane) -> None:
    """Done again by a later attempt, the step would be refused again."""
    plane.refusal = FlowTooLarge("may have no more")
    ended = run(plane, grant(), lambda ctx: ctx.step("a", int))
    assert (ended["error"], ended["final"]) == ("FlowFailed: may have no more", True)


def test_a_flow_that_cannot_be_read_fails_for_good(plane: Plane) -> None:
    plane.refusal = FlowUnreadable("kept in form 2")
    ended = run(plane, grant(), lambda ctx: ctx.step("a", int))
    assert (ended["error"], ended["final"]) == ("FlowFailed: kept in form 2", True)

    end = cannot_begin(
        grant_with(GrantFlow(unreadable=True, schemaVersion=2)), routine_of(print), name="box"
    )
    assert end is not None
    assert report(end)["final"] is True
    assert cannot_begin(grant(), routine_of(print), name="box") is None


def test_nobody_is_asked_when_the_time_was_over_before_we_were_told(plane: Plane) -> None:
    """The answer with the correlation was lost, and its repeat has none any more."""
    plane.correlation = None
    asked: list[str] = []
    said = run(plane, grant(), lambda ctx: ctx.respond("label", asked.append, timeout="1s"))
    assert (said["kind"], said["awaiting"], asked) == ("waiting", ["label"], [])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, None),
        ({"id": "A-1"}, None),
        ({"id": "A-2"}, "had the child 'A-1' of the workflow 'audit', and no other one"),
        ({"workflow": "other"}, "had the child 'A-1' of the workflow 'audit', and no other one"),
    ],
)
def test_a_child_that_is_done_is_no_other_one(plane: Plane, asked: Any, said: str | None) -> None:
    """Its input is not looked at any more."""
    result: dict[str, Any] = {"workflow": "audit", "token": "A-1", "status": "completed", "final": "look", "context": {}}  # fmt: skip
    step = GrantStep(kind="child", status="done", child="A-1", result=result)

    def routine(ctx: Any) -> Any:
        given = {"workflow": "audit", **asked}
        ctx["found"] = ctx.child("audit", given.pop("workflow"), {"order": 2}, **given).final
        return submitted

    reported = run(plane, grant(audit=step), routine)
    assert plane.told == []
    if said is None:
        assert (reported["kind"], reported["context"]) == ("event", {"found": "look"})
    else:
        assert said in reported["error"]
