"""Rehearsals in tests that run on a loop: routines run on it, or in threads."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from stateous import (
    Context,
)
from stateous.testing import CannotTest, Rehearsal
from tests.testing import orders as flow
from tests.testing.orders import events, orders, states

WAITS: Any = {states.draft: events.submitted, states.review: None}


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
