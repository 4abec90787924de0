"""Routines in steps, in memory: what is done is not done again, wherever the supervisor is killed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

import pytest

from stateous import (
    Context,
    FlowFailed,
    NotJson,
    ResponseFailed,
    ResponseNotAwaited,
    ResponseTimeout,
)
from stateous.testing import CannotTest, Rehearsal, run_routine, run_routine_async
from tests.testing.orders import Order, events, orders, states

Moment = Literal["before", "after"]


class Work:
    """A routine of draft with two steps and a response between them; it counts what it does outside."""

    def __init__(self) -> None:
        self.did: Counter[str] = Counter()

    def do(self, effect: str, result: Any = None) -> Any:
        self.did[effect] += 1
        return result

    def routine(self, ctx: Context) -> events.submitted:
        number = ctx.step("charge", self.do, "charge", 7)
        label = ctx.respond("label", lambda _: self.do("ask"), timeout="2h", type=Order)
        ctx.step("print", self.do, "print")
        ctx["pages"] = number + label.pages
        return events.submitted()

    async def routine_on_a_loop(self, ctx: Context) -> events.submitted:
        number = await ctx.step("charge", self.do, "charge", 7)
        label = await ctx.respond("label", lambda _: self.do("ask"), timeout="2h", type=Order)
        await ctx.step("print", self.do, "print")
        ctx["pages"] = number + label.pages
        return events.submitted()


LABEL = {"title": "x", "pages": 3}


@pytest.mark.parametrize("workflow", [None, orders])
@pytest.mark.parametrize("name", ["routine", "routine_on_a_loop"])
def test_one_routine_is_run_on_with_the_responses(workflow: Any, name: str) -> None:
    work = Work()
    given: dict[str, Any] = {"state": states.draft, "context": {"title": "x"}}
    given |= {} if workflow is None else {"workflow": workflow}
    done = run_routine(getattr(work, name), **given)
    assert (done.waits, done.awaits, done.steps) == (True, "label", {"charge": 7})
    done = run_routine(getattr(work, name), responses={"label": Order("x", pages=3)}, **given)
    assert done.event == events.submitted()
    assert done.context["pages"] == 10
    assert done.steps == {"charge": 7, "label": LABEL, "print": None}
    assert work.did == {"charge": 2, "ask": 2, "print": 1}


@pytest.mark.parametrize("workflow", [None, orders])
@pytest.mark.parametrize("fault", [ResponseFailed, ResponseTimeout])
def test_a_response_may_not_come(workflow: Any, fault: type[Exception]) -> None:
    given: dict[str, Any] = {} if workflow is None else {"workflow": workflow}
    done = run_routine(
        Work().routine,
        state=states.draft,
        context={"title": "x"},
        responses={"label": fault("no paper")},
        **given,
    )
    assert done.error == f"{fault.__name__}: no paper"
    assert type(done.raised) is fault


@pytest.mark.parametrize("workflow", [None, orders])
def test_steps_that_are_done_are_given(workflow: Any) -> None:
    work = Work()
    given: dict[str, Any] = {} if workflow is None else {"workflow": workflow}
    steps = {"charge": 1}
    context = {"title": "x"}
    done = run_routine(
        work.routine, state=states.draft, steps=steps, context=context,
        responses={"label": LABEL}, **given,
    )  # fmt: skip
    assert done.context["pages"] == 4
    assert work.did == {"ask": 1, "print": 1}


@pytest.mark.parametrize("workflow", [None, orders])
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"responses": {"lable": LABEL}}, "response 'lable', which the test gives: it came to 'charge'. It awaits the response 'label'."),
        ({"responses": {"label": LABEL, "more": None}}, "response 'more', which the test gives: it came to 'charge', 'label', 'print'."),
        ({"children": {"label": None}}, "child 'label', which the test gives: it came to 'charge'. It awaits the response 'label'."),
        ({"steps": {"old": 1}}, "step 'old', which the test gives: it came to 'charge'. It awaits the response 'label'."),
    ],
)  # fmt: skip
def test_what_is_never_asked_for_cannot_be_given(
    workflow: Any, given: dict[str, Any], said: str
) -> None:
    more: dict[str, Any] = {} if workflow is None else {"workflow": workflow}
    with pytest.raises(CannotTest) as raised:
        run_routine(Work().routine, state=states.draft, context={"title": "x"}, **given, **more)
    assert str(raised.value) == f"routine never came to the {said}"


def test_what_a_routine_that_failed_never_asked_for_is_no_error() -> None:
    def routine(ctx: Context) -> None:
        ctx.step("charge", int, "x")
        ctx.respond("label", print)

    done = run_routine(routine, state=states.draft, responses={"label": LABEL})
    assert (done.error or "").startswith("ValueError: invalid literal")


async def test_a_routine_is_run_on_a_loop() -> None:
    done = await run_routine_async(
        Work().routine_on_a_loop, state=states.draft, responses={"label": LABEL}
    )
    assert done.event == events.submitted()


def test_a_forgotten_await_fails_the_attempt() -> None:
    work = Work()

    async def routine(ctx: Context) -> events.submitted:
        ctx.step("charge", work.do, "charge")  # pyright: ignore[reportUnusedCoroutine]
        return events.submitted()

    done = run_routine(routine, state=states.draft)
    said = "called ctx.step('charge') and never awaited it"
    assert done.event is None
    assert done.error is not None
    assert said in done.error
    world = Rehearsal(orders, stubs={states.draft: routine, states.review: None})
    token = world.start("A", {"title": "x"})
    world.run()
    assert [each for each in token.sentences if said in each]
    assert (token.state, work.did) == ("mend", Counter())


def test_what_is_no_json_is_said() -> None:
    with pytest.raises(NotJson, match="the response is a set"):
        run_routine(Work().routine, state=states.draft, responses={"label": {1}})


def test_a_failure_for_good_uses_no_retries() -> None:
    world = Rehearsal(
        orders, stubs={states.draft: FlowFailed("no such customer"), states.mend: None}
    )
    token = world.start("A", {"title": "x"})
    world.run()
    assert token.state == "mend"
    assert [entry.kind for entry in token.history].count("task_claimed") == 2


def rehearse(work: Work) -> Rehearsal:
    return Rehearsal(orders, stubs={states.draft: work.routine, states.review: None})


def test_a_whole_workflow_waits_for_a_response() -> None:
    work = Work()
    world = rehearse(work)
    token = world.start("A", {"title": "x"})
    world.run()
    assert (token.state, token.waits, token.awaits) == ("draft", True, "label")
    assert token.steps == {"charge": 7}
    world.respond(token, "label", LABEL)
    assert token.awaits is None
    world.run()
    assert (token.state, token.context["pages"]) == ("review", 10)
    assert work.did == {"charge": 1, "ask": 1, "print": 1}
    with pytest.raises(ResponseNotAwaited, match="no routine awaits the response 'label'"):
        world.respond(token, "label", LABEL)


def test_a_deadline_fails_the_attempt_and_the_next_one_asks_anew() -> None:
    work = Work()
    world = rehearse(work)
    token = world.start("A", {"title": "x"})
    world.run()
    world.advance("2h")
    world.run()
    assert token.awaits == "label"
    errors = [e.data["error"] for e in token.history if e.kind == "task_failed"]
    assert errors == ["ResponseTimeout: no response came within 2h"]
    world.respond(token, "label", LABEL)
    world.run()
    assert token.state == "review"
    assert work.did == {"charge": 1, "ask": 2, "print": 1}


def test_a_handled_fault_is_the_same_in_the_run_that_goes_on() -> None:
    asked: list[str] = []

    def routine(ctx: Context) -> events.submitted:
        try:
            ctx.respond("machine", lambda _: asked.append("machine"), timeout="2h")
        except ResponseTimeout:
            ctx["pages"] = ctx.respond("person", lambda _: asked.append("person"))
        return events.submitted()

    world = Rehearsal(orders, stubs={states.draft: routine, states.review: None})
    token = world.start("A", {"title": "x"})
    world.run()
    world.advance("2h")
    world.run()
    assert token.awaits == "person"
    world.respond(token, "person", 5)
    world.run()
    assert (token.state, token.context["pages"], asked) == ("review", 5, ["machine", "person"])


@pytest.mark.parametrize("step", ["refund", None])
def test_a_fault_behind_which_a_step_was_done_is_the_same_after_a_crash(step: str | None) -> None:
    did: list[str] = []

    def routine(ctx: Context) -> events.submitted:
        try:
            ctx.respond("label", lambda _: did.append("asked"), timeout="2h")
        except ResponseTimeout:
            ctx.step("refund", did.append, "refunded")
        return events.submitted()

    world = Rehearsal(orders, stubs={states.draft: routine, states.review: None})
    token = world.start("A", {"title": "x"})
    world.run()
    world.advance("2h")
    world.crash_after(states.draft, step=step)
    world.run()
    assert (token.state, token.awaits, did) == ("review", None, ["asked", "refunded"])
    assert "task_failed" in [entry.kind for entry in token.history]


@pytest.mark.parametrize("step", ["charge", "label", "print", None])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_wherever_it_is_killed_it_ends_alike(moment: Moment, step: str | None) -> None:
    work = Work()
    world = rehearse(work)
    token = world.start("A", {"title": "x"})
    crash: Callable[..., None] = getattr(world, f"crash_{moment}")
    crash(states.draft, step=step)
    for _ in range(2):
        world.run()
        if token.awaits is not None:
            world.respond(token, "label", LABEL)
    assert (token.state, token.context) == ("review", {"title": "x", "pages": 10})
    once: dict[str, int] = {"charge": 1, "ask": 1, "print": 1}
    if moment == "before" and step in {"charge", "print"}:
        once[step] += 1  # the one thing that is not guaranteed
    if (moment, step) == ("after", "label"):
        once["ask"] = 0  # it was open, and the trigger not called
    assert +work.did == +Counter(once)
