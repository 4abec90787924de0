"""A routine in steps is killed before and after every checkpoint: it ends alike, and does nothing more than once more.

What a routine may be made of is in `Work.parts`; a plan is a list of such parts, by their kinds.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from inspect import isawaitable
from typing import Any, Final, Literal, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stateous import END, START, Context, Event, ResponseTimeout, Workflow
from stateous.testing import Rehearsal

kid = Workflow("kid")
played = kid.event("done")
play = kid.state("play", emits=[played])
kid.transition(START, play)
kid.transition(play, END, on=played)

jobs = Workflow("jobs")
done = jobs.event("done")
work = jobs.state("work", emits=[done], retries=20, children=[kid])
jobs.transition(START, work)
jobs.transition(work, END, on=done)


class Done(Event):
    """It as a contract has it."""

    name = "done"


EXAMPLES: Final = 3000 if os.environ.get("STATEOUS_DEEP") else 60
MOST_TURNS: Final = 60
"""So often a token is run on and answered: more than any plan and its crashes need."""
IN_TIME: Final = frozenset({"response", "person"})
"""What is answered whenever it is asked for; the rest is let wait until its time is over."""


class Crash(NamedTuple):
    """Before or after a step is written down; without a step, before a run begins, or after it ended."""

    moment: Literal["before", "after"]
    step: str | None


class Work:
    """A routine that goes through a plan, and what it did outside."""

    def __init__(self, plan: Sequence[str]) -> None:
        self.plan = [(kind, f"{kind} {number}") for number, kind in enumerate(plan)]
        self.did: Counter[str] = Counter()
        self.parts: dict[str, Callable[[Context, str], Any]] = {
            "step": self.step,
            "response": self.ask,
            "late": self.ask,
            "fallback": self.ask_another,
            "child": self.run_a_child,
        }

    def do(self, effect: str) -> str:
        self.did[effect] += 1
        return f"result of {effect}"

    def step(self, ctx: Context, name: str) -> Any:
        return ctx.step(name, self.do, name)

    def ask(self, ctx: Context, name: str) -> Any:
        return ctx.respond(name, lambda _: self.do(name), timeout="2h")

    async def ask_another(self, ctx: Context, name: str) -> Any:
        """Of whoever is asked first no answer comes in time, and somebody else is asked."""
        try:
            return await _awaited(self.ask(ctx, name))
        except ResponseTimeout:
            return await _awaited(self.ask(ctx, f"person for {name}"))

    async def run_a_child(self, ctx: Context, name: str) -> Any:
        number = name.rpartition(" ")[2]
        child = await _awaited(ctx.child(name, "kid", {"effect": name}, id=f"kid-{number}"))
        return child.context["did"]

    def play(self, ctx: Context) -> Any:
        """The routine of the child."""
        ctx["did"] = self.do(ctx["effect"])
        return Done()

    async def on_a_loop(self, ctx: Context) -> Any:
        for kind, name in self.plan:
            ctx[name] = await _awaited(self.parts[kind](ctx, name))
        return Done()

    def in_a_thread(self, ctx: Context) -> Any:
        for kind, name in self.plan:
            ctx[name] = _driven(self.parts[kind](ctx, name))
        return Done()

    @property
    def results(self) -> dict[str, str]:
        """What the context of the token is to be at the end."""
        return {
            name: f"response for person for {name}"
            if kind == "fallback"
            else f"result of {name}"
            if kind in {"step", "child"}
            else f"response for {name}"
            for kind, name in self.plan
        }

    @property
    def checkpoints(self) -> list[str]:
        """The names of what is written down."""
        return [
            each
            for kind, name in self.plan
            for each in ([name, f"person for {name}"] if kind == "fallback" else [name])
        ]


async def _awaited(value: Any) -> Any:
    return await value if isawaitable(value) else value


def _driven(value: Any) -> Any:
    """What a coroutine comes to in which nothing is awaited."""
    if not isawaitable(value):
        return value
    course = value.__await__()
    try:
        next(course)
    except StopIteration as end:
        return end.value
    raise AssertionError("it awaits something in a thread")


def check(plan: Sequence[str], crashes: Sequence[Crash], *, awaited: bool) -> None:
    """Whatever is killed when, the token ends as it does without, and effects are repeated as often as is said."""
    doing = Work(plan)
    routine = doing.on_a_loop if awaited else doing.in_a_thread
    world = Rehearsal(jobs, stubs={work: routine, play: doing.play})
    for crash in crashes:
        kill = world.crash_before if crash.moment == "before" else world.crash_after
        kill(work, step=crash.step)
    token = world.start("T")
    let_wait: set[str] = set()
    for _ in range(MOST_TURNS):
        world.run()
        name = token.awaits
        if token.status != "active":
            break
        assert name is not None, "somebody is left waiting"
        kind = name.partition(" ")[0]
        if kind in IN_TIME or (kind == "late" and name in let_wait):
            world.respond(token, name, f"response for {name}")
        else:
            let_wait.add(name)
            world.advance("2h")
    assert (token.status, token.context) == ("completed", doing.results)
    written = Counter(
        (entry.kind, entry.data["step"])
        for entry in token.history
        if entry.kind in {"step_done", "response_awaited", "child_awaited"}
    )
    planned = Counter(crashes)
    for name in doing.checkpoints:
        if name.startswith("step"):
            assert written["step_done", name] == 1
            assert doing.did[name] == 1 + planned[Crash("before", name)]
        elif name.startswith("child"):
            # Whoever comes to it gets the one that was begun, and runs no second one.
            assert (written["child_awaited", name], written["step_done", name]) == (1, 1)
            assert doing.did[name] == 1
        else:
            # Written down first: a crash in between leaves it open, and its trigger was not called.
            asked = written["response_awaited", name]
            assert doing.did[name] == asked - min(asked, planned[Crash("after", name)])
            least = 2 if name.startswith("late") else 1
            assert asked >= least if crashes else asked == least


PLAN: Final = ("step", "response", "step", "late", "child", "fallback", "step")
NAMES: Final = (None, *Work(PLAN).checkpoints)


@pytest.mark.parametrize("awaited", [True, False], ids=["loop", "thread"])
@pytest.mark.parametrize("step", NAMES)
@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_once_at_any_point(moment: Any, step: str | None, *, awaited: bool) -> None:
    for times in (1, 2):
        check(PLAN, [Crash(moment, step)] * times, awaited=awaited)


KINDS: Final = tuple(Work(()).parts)


@st.composite
def crashed(draw: st.DrawFn) -> tuple[list[str], list[Crash]]:
    """A plan, and where its run is killed."""
    plan = draw(st.lists(st.sampled_from(KINDS), max_size=5))
    points = st.sampled_from([None, *Work(plan).checkpoints])
    crashes = st.lists(st.builds(Crash, st.sampled_from(("before", "after")), points), max_size=5)
    return plan, draw(crashes)


@given(case=crashed(), awaited=st.booleans())
@settings(deadline=None, max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
def test_killed_anywhere_as_often_as_you_like(
    *, case: tuple[list[str], list[Crash]], awaited: bool
) -> None:
    check(*case, awaited=awaited)
