"""Steps and responses of routines, written down by a real control plane: on the loop, in a thread, in a process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from stateous import FlowFailed
from stateous.client import AsyncClient
from stateous_supervisor import loop
from tests.supervisor.proxy import CUT, LOSE, Hold, Instead, Proxy, proxying
from tests.supervisor.running import submitted, supervising
from tests.supervisor.test_isolation import isolated

pytestmark = pytest.mark.usefixtures("quickly")


@pytest.fixture
async def proxy(url: str) -> AsyncGenerator[Proxy]:
    async with proxying(url) as made:
        yield made


def in_a_thread(calls: list[str]) -> Callable[[Any], Any]:
    def draft(ctx: Any) -> Any:
        number = ctx.step("charge", lambda: calls.append("charge") or 7)
        if ctx.attempt == 1:
            raise ValueError("no paper")
        ctx.step("print", lambda: calls.append(f"print {number}"))
        return submitted

    return draft


def on_the_loop(calls: list[str]) -> Callable[[Any], Any]:
    async def charge() -> int:
        calls.append("charge")
        return 7

    async def draft(ctx: Any) -> Any:
        number = await ctx.step("charge", charge)
        if ctx.attempt == 1:
            raise ValueError("no paper")
        await ctx.step("print", lambda: calls.append(f"print {number}"))
        return submitted

    return draft


async def steps_of(client: AsyncClient, token: str = "A") -> list[str]:
    told = {"step_done", "step_faulted", "response_awaited", "response_received", "flow_failed"}
    return [f"{e.kind} {e.data.get('step')}" for e in await client.history(token) if e.kind in told]


@pytest.mark.parametrize("make", [in_a_thread, on_the_loop])
async def test_a_later_attempt_does_not_repeat_what_is_done(
    url: str, client: AsyncClient, tmp_path: Path, make: Callable[[list[str]], Any]
) -> None:
    calls: list[str] = []
    await client.start("A")
    async with supervising(url, tmp_path, {"draft": make(calls)}) as box:
        await box.says("task 1 of A: reported failed: ValueError: no paper")
        await box.says("task 1 of A: reported submitted")
    assert calls == ["charge", "print 7"]
    assert await steps_of(client) == ["step_done charge", "step_done print"]


async def test_an_answer_that_was_lost_is_asked_for_again(
    proxy: Proxy, client: AsyncClient, tmp_path: Path
) -> None:
    calls: list[str] = []
    proxy.then("/tasks/1/steps", LOSE, CUT, LOSE)
    await client.start("A")
    async with supervising(proxy.url, tmp_path, {"draft": in_a_thread(calls)}) as box:
        await box.says("task 1 of A: reported submitted")
    assert calls == ["charge", "print 7"]
    assert await steps_of(client) == ["step_done charge", "step_done print"]


async def test_who_cuts_off_a_checkpoint_does_not_do_the_step_again(
    proxy: Proxy, client: AsyncClient, tmp_path: Path
) -> None:
    calls: list[str] = []
    cutting: list[asyncio.Task[None]] = []
    hold = Hold()

    def charge() -> int:
        calls.append("does")
        return len(calls)

    async def draft(ctx: Any) -> Any:
        with suppress(TimeoutError):
            async with asyncio.timeout(None) as limit:
                if ctx.attempt == 1:
                    proxy.then("/tasks/1/steps", hold)
                    cutting.append(asyncio.create_task(cut(limit)))
                calls.append(f"is {await ctx.step('charge', charge)}")
                return submitted
        calls.append("goes on")
        calls.append(f"is {await ctx.step('charge', charge)}")
        return submitted

    async def cut(limit: asyncio.Timeout) -> None:
        await hold.reached.wait()
        limit.reschedule(asyncio.get_running_loop().time())

    await client.start("A")
    async with supervising(proxy.url, tmp_path, {"draft": draft}) as box:
        await box.says(
            "task 1 of A: reported failed: stopped: the checkpoint of 'charge' was cut off"
        )
        await box.says("task 1 of A: reported submitted")
    assert calls == ["does", "goes on", "is 1"]


class Asking:
    """A routine that asks for a label; each time its correlation id is put into `asked`."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[str] = asyncio.Queue()
        self.labels: list[Any] = []

    async def __call__(self, ctx: Any) -> Any:
        ctx["title"] = "asked"
        self.labels.append(await ctx.respond("label", self.asked.put, timeout="2h"))
        return submitted


async def test_a_response_is_awaited_without_a_worker(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    asking = Asking()
    await client.start("A")
    async with supervising(url, tmp_path, {"draft": asking.__call__}, tasks=1) as box:
        correlation = await asking.asked.get()
        await box.says("task 1 of A: reported waiting")
        token = await client.get("A")
        assert (token.state, token.context) == ("draft", {"title": "asked"})
        await client.respond(correlation, {"number": 7})
        await box.says("task 1 of A: reported submitted")
    assert asking.labels == [{"number": 7}]
    assert asking.asked.empty()
    assert len(correlation) == 32
    assert await steps_of(client) == ["response_awaited label", "response_received label"]


async def test_an_answer_that_comes_before_the_run_ended_is_not_lost(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    labels: list[Any] = []

    async def draft(ctx: Any) -> Any:
        async def answered(correlation: str) -> None:
            await client.respond(correlation, 7)

        labels.append(await ctx.respond("label", answered, type=int))
        return submitted

    await client.start("A")
    async with supervising(url, tmp_path, {"draft": draft}) as box:
        await box.says("task 1 of A: reported waiting")
        await box.says("task 1 of A: reported submitted")
    assert labels == [7]


async def test_a_response_that_failed_fails_the_attempt_and_the_next_one_asks_afresh(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    asking = Asking()
    await client.start("A")
    async with supervising(url, tmp_path, {"draft": asking.__call__}) as box:
        first = await asking.asked.get()
        await box.says("task 1 of A: reported waiting")
        await client.respond(first, status="failed", message="no paper")
        await box.says("task 1 of A: reported failed: ResponseFailed: no paper")
        second = await asking.asked.get()
        await box.says("task 1 of A: reported waiting")
        await client.respond(second, 1)
        await box.says("task 1 of A: reported submitted")
    assert first != second
    assert asking.labels == [1]


async def test_a_trigger_that_raises_is_called_again_by_the_next_attempt(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    asked: asyncio.Queue[str] = asyncio.Queue()

    async def draft(ctx: Any) -> Any:
        def ask(correlation: str) -> None:
            if ctx.attempt == 1:
                raise ValueError("no address")
            asked.put_nowait(correlation)

        await ctx.respond("label", ask)
        return submitted

    await client.start("A")
    async with supervising(url, tmp_path, {"draft": draft}) as box:
        await box.says("task 1 of A: reported failed: ValueError: no address")
        correlation = await asked.get()
        await client.respond(correlation)
        await box.says("task 1 of A: reported submitted")


async def test_a_failure_for_good_is_not_tried_again(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    def draft(ctx: Any) -> Any:
        raise FlowFailed("no such customer")

    await client.start("A")
    async with supervising(url, tmp_path, {"draft": draft}) as box:
        await box.says("task 1 of A: reported failed: FlowFailed: no such customer")
    assert (await client.get("A")).status == "failed"
    assert await steps_of(client) == ["flow_failed None"]


@pytest.mark.parametrize("kind", ["thread", "loop"])
async def test_a_routine_whose_task_is_lost_stops_at_its_next_step(
    url: str, client: AsyncClient, tmp_path: Path, kind: str
) -> None:
    begun, go, after = threading.Event(), threading.Event(), list[str]()

    def draft(ctx: Any) -> Any:
        begun.set()
        go.wait(30)
        try:
            ctx.step("charge", int)
        except Exception:  # noqa: BLE001 - as routines do
            after.append("caught")
        after.append("went on")

    async def draft_on_the_loop(ctx: Any) -> Any:
        begun.set()
        await asyncio.to_thread(go.wait, 30)
        await ctx.step("charge", int)
        after.append("went on")

    await client.start("A")
    routine = draft if kind == "thread" else draft_on_the_loop
    async with supervising(url, tmp_path, {"draft": routine}) as box:
        await asyncio.to_thread(begun.wait, 30)
        await client.cancel("A")
        go.set()
        await box.says("task 1 of A: the control plane took it back")
        box.stop.ask()
        assert await box.exit_code() == 0
    assert after == []
    assert await steps_of(client) == []


async def test_a_run_that_is_stale_is_stopped_and_said(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    async def draft(ctx: Any) -> Any:
        if ctx.attempt == 1:
            await client.checkpoint(ctx.task, "other", attempt=1, revision=0, supervisor="box")
        await ctx.step("charge", int)
        return submitted

    await client.start("A")
    async with supervising(url, tmp_path, {"draft": draft}) as box:
        await box.says("task 1 of A: its routine is stopped: the flow of task 1 is at revision 1")
        await box.says("task 1 of A: reported failed: stopped: the flow of task 1 is at revision 1")
        await box.says("task 1 of A: reported submitted")


GRANTED = {
    "task": 1,
    "token": "A",
    "state": "draft",
    "visit": 1,
    "attempt": 1,
    "context": {},
    "memory": {},
    "entered_by": {"name": "__started__"},
}


async def test_a_control_plane_of_before_is_told_at_the_first_step(
    proxy: Proxy, client: AsyncClient, tmp_path: Path
) -> None:
    proxy.then("/tasks/claim", Instead(200, {"grants": [GRANTED]}))
    async with supervising(proxy.url, tmp_path, {"draft": in_a_thread([])}) as box:
        await box.says("task 1 of A: its routine raised")
        await proxy.passes("/tasks/messages")
    (report,) = proxy.bodies("/tasks/messages")
    assert "the control plane knows no steps yet: upgrade it first" in str(report)


@pytest.mark.parametrize("kind", ["def", "async def"])
async def test_a_process_has_steps_too(
    url: str, client: AsyncClient, tmp_path: Path, kind: str
) -> None:
    wait = "await " if kind == "async def" else ""
    text = f"""{kind} draft(ctx):
    number = {wait}ctx.step("count", lambda: (here / "counted").open("a").write("x"))
    {wait}ctx.respond("label", lambda correlation: (here / "asked").write_text(correlation))
    if ctx.attempt == 2:
        {wait}ctx.step("fail", int, "x")
    return submitted
"""
    routine = isolated(tmp_path, text, awaited=kind != "def")
    await client.start("A")
    async with supervising(url, tmp_path, {"draft": routine}) as box:
        await box.says("task 1 of A: reported waiting")
        await client.respond((tmp_path / "asked").read_text())
        await box.says("task 1 of A: reported failed: ValueError: invalid literal")
        await box.says("task 1 of A: reported submitted")
    assert (tmp_path / "counted").read_text() == "x"
    assert await steps_of(client) == [
        "step_done count", "response_awaited label", "response_received label", "step_faulted fail",
    ]  # fmt: skip


async def test_a_process_whose_task_is_lost_is_stopped_at_its_next_step(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    text = """def draft(ctx):
    (here / "begun").touch()
    while not (here / "go").exists(): time.sleep(0.01)
    ctx.step("count", int)
    (here / "went on").touch()
"""
    await client.start("A")
    async with supervising(url, tmp_path, {"draft": isolated(tmp_path, text)}) as box:
        while not (tmp_path / "begun").exists():  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.01)
        await client.cancel("A")
        (tmp_path / "go").touch()
        await box.says("task 1 of A: the control plane took it back; ending its process")
        box.stop.ask()
        assert await box.exit_code() == 0
    assert not (tmp_path / "went on").exists()


async def test_a_flow_that_cannot_be_read_is_not_begun_anew(
    proxy: Proxy, client: AsyncClient, tmp_path: Path
) -> None:
    flow = {"unreadable": True, "schemaVersion": 9}
    proxy.then("/tasks/claim", Instead(200, {"grants": [{**GRANTED, "flow": flow}]}))
    calls: list[str] = []
    async with supervising(proxy.url, tmp_path, {"draft": in_a_thread(calls)}):
        await proxy.passes("/tasks/messages")
    (sent,) = proxy.bodies("/tasks/messages")
    (report,) = sent["messages"]
    assert report["final"] is True
    assert report["error"].startswith(
        "the flow of task 1 is kept in a form that is not known here (9)"
    )
    assert calls == []


@pytest.mark.parametrize("kind", ["thread", "loop"])
async def test_a_step_that_raises_is_reported_though_nobody_writes_it_down(
    proxy: Proxy, client: AsyncClient, tmp_path: Path, kind: str
) -> None:
    def draft(ctx: Any) -> Any:
        ctx.step("charge", int, "x")

    async def draft_on_the_loop(ctx: Any) -> Any:
        await ctx.step("charge", int, "x")

    proxy.then("/tasks/1/steps", *[CUT] * 20)
    await client.start("A")
    routine = draft if kind == "thread" else draft_on_the_loop
    async with supervising(proxy.url, tmp_path, {"draft": routine}) as box:
        await box.says("task 1 of A: reported failed: ValueError")
        await box.says("task 1 of A: reported failed: ValueError")
    assert (await client.get("A")).status == "failed"


@pytest.mark.parametrize("kind", ["thread", "loop", "process"])
async def test_a_step_that_waits_does_not_hold_up_who_stops_now(
    proxy: Proxy,
    client: AsyncClient,
    tmp_path: Path,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loop, "CANCEL_FOR", 60.0)  # so long it would be held up

    def draft(ctx: Any) -> Any:
        ctx.step("charge", int)

    async def draft_on_the_loop(ctx: Any) -> Any:
        await ctx.step("charge", int)

    ways = {"thread": draft, "loop": draft_on_the_loop}
    process = isolated(tmp_path, """def draft(ctx): ctx.step("charge", int)""")
    held = Hold()
    proxy.then("/tasks/1/steps", held)
    await client.start("A")
    async with supervising(proxy.url, tmp_path, {"draft": ways.get(kind, process)}) as box:
        await held.reached.wait()
        box.stop.ask()
        box.stop.ask()
        async with asyncio.timeout(4):
            assert await box.exit_code() == 1
        held.go.set()
