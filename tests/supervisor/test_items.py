"""State logs of routines that run: on the loop, in a thread, in a process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest

from stateous import Event, Skipped, StateRef
from stateous.client import AsyncClient
from stateous_supervisor.routine import Routine
from tests.client.planes import serving
from tests.databases import Database
from tests.supervisor.dispatching import isolated, passed_over, routine, sent
from tests.supervisor.proxy import CUT, LOSE, Proxy, proxying
from tests.supervisor.running import supervising
from tests.testing.dispatching import GRAPH

pytestmark = pytest.mark.usefixtures("quickly")


@pytest.fixture
async def url(database: Database) -> AsyncGenerator[str]:
    async with serving(database, graph=GRAPH) as served:
        yield served


@pytest.fixture
async def proxy(url: str) -> AsyncGenerator[Proxy]:
    async with proxying(url) as made:
        yield made


# -- the same guard in each way of running -----------------------------------------------------------


def in_a_thread(_folder: Path, calls: list[str]) -> Routine:
    def dispatch(ctx: Any) -> Any:
        done = ctx.items.run("INV-1", "invoice", lambda: calls.append(ctx.token))
        return passed_over if isinstance(done, Skipped) else sent

    return routine(dispatch)


def on_the_loop(_folder: Path, calls: list[str]) -> Routine:
    async def dispatch(ctx: Any) -> Any:
        async with ctx.items.once("INV-1", "invoice") as item:
            if item.acquired:
                calls.append(ctx.token)
        return sent if item.acquired else passed_over

    return routine(dispatch)


def in_a_process(folder: Path, calls: list[str]) -> Routine:
    return isolated(
        folder,
        """def dispatch(ctx):
    with ctx.items.once("INV-1", "invoice") as item:
        if item.acquired:
            item.result = {"n": 2**70}
    assert ctx.items.exists("INV-1", "invoice")
    assert ctx.items.get("INV-1", "invoice").data == {"n": 2**70}
    assert [each.item for each in ctx.items.list()] == ["INV-1"]
    return sent if item.acquired else passed_over
""",
    )


def in_a_process_that_awaits(folder: Path, calls: list[str]) -> Routine:
    return isolated(
        folder,
        """async def dispatch(ctx):
    async def send():
        return ctx.token
    done = await ctx.items.run("INV-1", "invoice", send)
    return sent if done == ctx.token else passed_over
""",
        awaited=True,
    )


@pytest.mark.parametrize("make", [in_a_thread, on_the_loop, in_a_process, in_a_process_that_awaits])
async def test_of_two_tokens_one_does_the_work(
    url: str, client: AsyncClient, tmp_path: Path, make: Callable[[Path, list[str]], Routine]
) -> None:
    calls: list[str] = []
    async with supervising(url, tmp_path, {"dispatch": make(tmp_path, calls)}, tasks=1) as box:
        for token in ("A", "B"):
            await client.start(token)
            await box.says(f"of {token}: reported {'sent' if token == 'A' else 'passed_over'}")
    assert calls in (["A"], [])
    (item,) = (await client.stored_items()).items
    assert (item.item, item.entity, item.status, item.token) == (
        "INV-1",
        "invoice",
        "processed",
        "A",
    )
    assert await told(client, "A") == ["item_acquired", "item_processed"]
    assert await told(client, "B") == []


async def told(client: AsyncClient, token: str) -> list[str]:
    return [e.kind for e in await client.history(token) if e.kind.startswith("item_")]


async def test_many_items_cost_a_request_and_an_entry(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    async def dispatch(ctx: Any) -> Any:
        names = [f"INV-{number}" for number in range(500)]
        assert all(await ctx.items.acquire(names, "invoice"))
        await ctx.items.set({name: {"n": name} for name in names}, "invoice")
        assert await ctx.items.exists([*names, "INV-500"], "invoice") == [True] * 500 + [False]
        assert await ctx.items.acquire(names[:2], "invoice") == [False, False]
        return sent

    await client.start("A")
    async with supervising(url, tmp_path, {"dispatch": routine(dispatch)}) as box:
        await box.says("of A: reported sent")
    entries = [e for e in await client.history("A") if e.kind.startswith("item_")]
    assert [(e.kind, e.data["items"]) for e in entries] == [
        ("item_acquired", 500),
        ("item_processed", 500),
    ]


async def test_a_failure_is_told_to_the_next_attempt(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    reasons: list[str | None] = []

    def dispatch(ctx: Any) -> Any:
        with ctx.items.once("INV-1") as item:
            reasons.append(item.reason)
            if ctx.attempt == 1:
                raise ValueError("no paper")
        ctx.items.acquire("INV-2")  # and left open
        return sent

    await client.start("A")
    async with supervising(url, tmp_path, {"dispatch": routine(dispatch)}) as box:
        await box.says("of A: reported failed: ValueError: no paper")
        await box.says("of A: reported sent")
    assert reasons == [None, "ValueError: no paper"]
    items = (await client.stored_items()).items
    assert [(each.item, each.status, each.reason) for each in items] == [
        ("INV-1", "processed", None),
        ("INV-2", "failed", "the attempt ended"),
    ]


async def test_a_run_that_waits_for_a_response_keeps_its_lock(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    asked: asyncio.Queue[str] = asyncio.Queue()

    async def dispatch(ctx: Any) -> Any:
        async with ctx.items.once("INV-1") as item:
            assert item.acquired
            item.result = await ctx.respond("person", asked.put)
        return sent

    await client.start("A")
    async with supervising(url, tmp_path, {"dispatch": routine(dispatch)}) as box:
        correlation = await asked.get()
        await box.says("of A: reported waiting")
        (item,) = (await client.stored_items()).items
        assert item.status == "processing"
        await client.respond(correlation, {"paper": "A4"})
        await box.says("of A: reported sent")
    (item,) = (await client.stored_items()).items
    assert (item.status, item.data) == ("processed", {"paper": "A4"})


async def test_a_refusal_is_raised_in_the_routine(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    text = """def dispatch(ctx):
    ctx.items.set("INV-1", "invoice")
"""
    await client.start("A")
    async with supervising(url, tmp_path, {"dispatch": isolated(tmp_path, text)}) as box:
        await box.says("of A: reported failed: ItemMoveNotAllowed: ")


async def test_an_answer_that_was_lost_is_asked_for_again(
    proxy: Proxy, client: AsyncClient, tmp_path: Path
) -> None:
    calls: list[str] = []
    for call in ("acquire", "set"):
        proxy.then(f"/tasks/1/items/{call}", LOSE, CUT, LOSE)
    await client.start("A")
    routines = {"dispatch": in_a_thread(tmp_path, calls)}
    async with supervising(proxy.url, tmp_path, routines) as box:
        await box.says("of A: reported sent")
    assert calls == ["A"]
    assert await told(client, "A") == ["item_acquired", "item_processed"]


async def test_a_state_without_a_log_has_one_that_keeps_nothing(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    class thanked(Event):  # noqa: N801
        name = "thanked"

    async def thank(ctx: Any) -> Any:
        assert await ctx.items.acquire(["A", "B"], "note") == [True, True]
        assert await ctx.items.run("A", "note", lambda: 7) == 7
        await ctx.items.set("A", "note", "skipped")
        await ctx.items.upsert("A", "note", 1)
        await ctx.items.release_as_failed("A", "note", "no paper")
        assert await ctx.items.exists("A", "note") is False
        assert await ctx.items.get("A", "note") is None
        assert await ctx.items.list() == []
        return thanked

    def dispatch(ctx: Any) -> Any:
        return passed_over

    state = StateRef("thank", emits=("thanked",))
    routines = {"dispatch": routine(dispatch), "thank": routine(thank, state=state)}
    await client.start("A")
    async with supervising(url, tmp_path, routines) as box:
        await box.says("of A: reported thanked")
    assert (await client.stored_items()).items == ()
    assert await told(client, "A") == []


async def test_an_attempt_that_is_over_asks_nothing_more(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    begun, raised = asyncio.Event(), asyncio.Queue[str]()

    async def dispatch(ctx: Any) -> Any:
        begun.set()
        await client.cancel(ctx.token)
        try:
            await ctx.items.acquire("INV-1")
        except Exception as problem:
            raised.put_nowait(str(problem))
            raise

    await client.start("A")
    async with supervising(url, tmp_path, {"dispatch": routine(dispatch)}) as box:
        assert "1" in await raised.get()
        await box.says("the control plane took it back")
    assert (await client.stored_items()).items == ()
