"""A call of an `async def` routine that is never awaited does nothing, and fails its attempt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from stateous_supervisor.flow import Suspended
from tests.supervisor.attempts import Plane, attempt, grant, report
from tests.supervisor.running import submitted


@pytest.fixture
def plane() -> Plane:
    return Plane()


def never() -> None:
    raise AssertionError("nobody awaited it")


FORGOTTEN: list[tuple[Callable[[Any], Any], str]] = [
    (lambda ctx: ctx.step("charge", never), "ctx.step('charge')"),
    (lambda ctx: ctx.respond("label", never), "ctx.respond('label')"),
    (lambda ctx: ctx.child("audit", "audit"), "ctx.child('audit')"),
    (lambda ctx: ctx.items.set("A"), "ctx.items.set('A')"),
    (lambda ctx: ctx.items.acquire(["A", "B"]), "ctx.items.acquire(…)"),
    (lambda ctx: ctx.items.list(), "ctx.items.list()"),
    (lambda ctx: ctx.items.run("A", "", never), "ctx.items.run('A')"),
    (
        lambda ctx: [ctx.step(f"{number}", never) for number in range(5)],
        "ctx.step('0'), ctx.step('1'), ctx.step('2') and 2 more",
    ),
]


@pytest.mark.parametrize("is_kept", [True, False])
@pytest.mark.parametrize(("use", "called"), FORGOTTEN)
async def test_a_forgotten_await_fails_the_attempt(
    plane: Plane, use: Callable[[Any], Any], called: str, *, is_kept: bool
) -> None:
    kept: list[Any] = []

    async def routine(ctx: Any) -> Any:
        kept.append(use(ctx))
        if not is_kept:
            kept.clear()
        await ctx.step("done", int)
        return submitted

    made = attempt(plane, grant(), routine, awaited=True)
    assert report(made.returned(await routine(made.context)))["error"] == (
        f"routine in routines.py called {called} and never awaited it: "
        "an async def routine writes await before such a call"
    )


async def test_what_is_returned_and_not_awaited_is_said(plane: Plane) -> None:
    async def routine(ctx: Any) -> Any:
        return ctx.step("charge", never)

    made = attempt(plane, grant(), routine, awaited=True)
    error = report(made.returned(await routine(made.context)))["error"]
    assert error.startswith("routine in routines.py called ctx.step('charge') and never awaited it")


@pytest.mark.parametrize("is_kept", [True, False])
async def test_a_run_that_ends_to_wait_may_await_later_what_it_kept(
    plane: Plane, *, is_kept: bool
) -> None:
    async def routine(ctx: Any) -> Any:
        later: Any = ctx.step("charge", int)
        if not is_kept:
            later = None
        await ctx.respond("label", str)
        await later

    made = attempt(plane, grant(), routine, awaited=True)
    with pytest.raises(Suspended) as raised:
        await routine(made.context)
    said = report(made.raised(raised.value))
    if is_kept:
        assert said["awaiting"] == ["label"]
    else:
        assert "called ctx.step('charge') and never awaited it" in said["error"]
