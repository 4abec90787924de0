"""A supervisor and a real control plane over HTTP: routines run, and their ends become history."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from stateous import Context
from stateous.client import AsyncClient
from stateous_supervisor.mailbox import AttemptEnded
from tests.supervisor.running import nudged, reviewed, skipped, submitted, supervising


def submits(ctx: Context) -> object:
    return submitted


async def approves(ctx: Context) -> object:
    return reviewed(approved=True)


async def kinds(client: AsyncClient, token: str) -> list[str]:
    return [entry.kind for entry in await client.history(token)]


async def reason(client: AsyncClient, token: str) -> str:
    failed = [e.data["reason"] for e in await client.history(token) if e.kind == "failed"]
    return failed[0]


async def test_two_kinds_of_routines_take_a_token_to_its_end(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    def draft(ctx: Context) -> object:
        ctx.note("begun")
        ctx.memory["page"] = 1
        ctx["title"] = f"{ctx['title']}!"
        return submitted()

    seen: list[Any] = []

    async def review(ctx: Context) -> object:
        seen.extend(
            [ctx["title"], ctx.token, ctx.state, ctx.visit, ctx.attempt, ctx.entered_by.name]
        )
        return reviewed({"approved": True})

    await client.start("A", {"title": "x"})
    async with supervising(url, tmp_path, {"draft": draft, "review": review}) as box:
        await box.says("box serves draft, review; the control plane is http://127.0.0.1:")
        await box.says("task 1: draft of A, attempt 1")
        await box.says("task 1 of A: reported submitted")
        await box.says("of A: reported reviewed")
    assert seen == ["x!", "A", "review", 1, 1, "submitted"]
    assert (await client.get("A")).status == "completed"
    assert await kinds(client, "A") == [
        *("started", "event_accepted", "entered", "task_queued", "task_claimed"),
        *("note", "memory_set", "context_changed", "event_accepted", "task_done"),
        *("entered", "task_queued", "task_claimed", "event_accepted", "task_done", "completed"),
    ]


async def test_a_routine_that_raises_is_tried_again_with_its_memory(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    def draft(ctx: Context) -> object:
        if ctx.attempt == 1:
            ctx.memory["got to"] = "page 4"
            ctx["title"] = "half"
            raise RuntimeError("no\x00 paper")
        assert ctx.memory["got to"] == "page 4"
        assert ctx["title"] == "x"
        return submitted

    await client.start("A", {"title": "x"})
    async with supervising(url, tmp_path, {"draft": draft}) as box:
        await box.says("its routine raised")
        await box.says("task 1 of A: reported failed: RuntimeError: no\ufffd paper")
        await box.says("task 1: draft of A, attempt 2")
        await box.says("task 1 of A: reported submitted")
    assert (await client.get("A")).state == "review"


async def test_a_task_that_waits_is_ended_from_outside(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    async def draft(ctx: Context) -> None:
        ctx["title"] = "waits"

    await client.start("A", {"title": "x"})
    async with supervising(url, tmp_path, {"draft": draft}) as box:
        await box.says("task 1 of A: reported waiting")
        assert (await client.get("A")).context == {"title": "waits"}
        token = await client.report(1, "submitted")
    assert token.state == "review"


async def test_a_schedule_is_a_timer_of_the_state(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    def review(ctx: Context) -> None:
        ctx.schedule(nudged, after="1s")

    await client.start("A")
    async with supervising(url, tmp_path, {"draft": submits, "review": review}) as box:
        await box.says("reported waiting")
        await box.says("draft of A, attempt 1")  # again, when the timer has fired
    assert "timer_fired" in await kinds(client, "A")


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (reviewed({"approved": "perhaps"}), "the control plane refused the report: "),
        (skipped, "the control plane refused the report: "),
        (
            nudged,
            "review in routines.py returned the event 'nudged', which the state 'review' does not emit",
        ),
        (
            "approved",
            "review in routines.py returned a str: it must return an event, or None to wait",
        ),
        (reviewed({"score": float("inf")}), "payload.score is inf, which JSON cannot hold"),
    ],
)
async def test_an_outcome_that_nobody_takes_is_a_failed_attempt(
    url: str, client: AsyncClient, tmp_path: Path, result: object, said: str
) -> None:
    async def review(ctx: Context) -> object:
        return result

    await client.start("A")
    async with supervising(url, tmp_path, {"draft": submits, "review": review}) as box:
        await box.says("of A: reported failed")
    assert (await client.get("A")).status == "failed"
    assert said in await reason(client, "A")


async def test_a_context_that_breaks_its_model_is_a_failed_attempt(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    def draft(ctx: Context) -> object:
        if ctx.attempt == 1:
            ctx["title"] = 7
        return submitted

    await client.start("A", {"title": "x"})
    async with supervising(url, tmp_path, {"draft": draft}) as box:
        await box.says("task 1 of A: the control plane refused the report: ")
        await box.says("task 1 of A: reported failed: the control plane refused the report: ")
        await box.says("task 1 of A: reported submitted")
    assert "task_retrying" in await kinds(client, "A")


async def test_system_exit_ends_the_attempt_and_not_the_supervisor(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    async def draft(ctx: Context) -> object:
        if ctx.attempt == 1:
            raise SystemExit(3)
        return submitted

    def review(ctx: Context) -> object:
        raise KeyboardInterrupt

    await client.start("A")
    async with supervising(url, tmp_path, {"draft": draft, "review": review}) as box:
        await box.says("reported failed: SystemExit: 3")
        await box.says("reported submitted")
        await box.says("reported failed: KeyboardInterrupt")


async def test_no_more_routines_than_tasks_run_at_once(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    running, most, full, go = 0, 0, asyncio.Event(), asyncio.Event()

    async def draft(ctx: Context) -> object:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 2:
            full.set()
        await go.wait()
        running -= 1
        return submitted

    for n in range(5):
        await client.start(f"T-{n}")
    async with supervising(url, tmp_path, {"draft": draft}, tasks=2) as box:
        async with asyncio.timeout(20):
            await full.wait()
        claimed = [line for line in box.lines.said if "attempt 1" in line]
        assert len(claimed) == 2
        go.set()
        for _ in range(5):
            await box.says("reported submitted")
    assert most == 2


class TestShortLeases:
    """With a lease of one second, heartbeats and what they tell can be watched."""

    @pytest.fixture
    def lease_for(self) -> timedelta:
        return timedelta(seconds=1)

    async def test_a_routine_keeps_its_lease_as_long_as_it_runs(
        self, url: str, client: AsyncClient, tmp_path: Path
    ) -> None:
        async def draft(ctx: Context) -> object:
            await asyncio.sleep(3)  # three leases; what is waited for is that nothing happens
            return submitted

        await client.start("A")
        async with supervising(url, tmp_path, {"draft": draft}) as box:
            await box.says("task 1 of A: reported submitted")
        assert "task_failed" not in await kinds(client, "A")

    async def test_a_cancelled_token_takes_its_task_back(
        self, url: str, client: AsyncClient, tmp_path: Path
    ) -> None:
        cancelled = asyncio.Event()

        async def draft(ctx: Context) -> object:
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()

        await client.start("A")
        async with supervising(url, tmp_path, {"draft": draft}) as box:
            await box.says("task 1: draft of A")
            await client.cancel("A")
            await box.says("task 1 of A: the control plane took it back; cancelling its routine")
            async with asyncio.timeout(10):
                await cancelled.wait()
            box.stop.ask()
            assert await box.exit_code() == 0
        assert not any("reported" in line for line in box.lines.said)

    async def test_a_thread_whose_task_was_taken_back_can_write_nothing_more(
        self, url: str, client: AsyncClient, tmp_path: Path
    ) -> None:
        go, told = threading.Event(), threading.Event()

        def draft(ctx: Context) -> object:
            go.wait(20)
            try:
                ctx.note("too late")
            except AttemptEnded:
                told.set()
            return submitted

        await client.start("A")
        async with supervising(url, tmp_path, {"draft": draft}) as box:
            await box.says("task 1: draft of A")
            await client.cancel("A")
            await box.says("task 1 of A: the control plane took it back; its result is ignored")
            go.set()
            box.stop.ask()
            assert await box.exit_code() == 0
        assert told.is_set()
        assert not any("reported" in line for line in box.lines.said)

    async def test_a_note_that_finds_the_task_gone_ends_the_attempt(
        self, url: str, client: AsyncClient, tmp_path: Path
    ) -> None:
        go = asyncio.Event()

        async def draft(ctx: Context) -> object:
            await go.wait()
            ctx.note("is anybody there")
            await asyncio.Event().wait()
            return submitted

        await client.start("A")
        async with supervising(url, tmp_path, {"draft": draft}) as box:  # heartbeats each 30 s
            await box.says("task 1: draft of A")
            await client.cancel("A")
            go.set()
            await box.says("task 1 of A: the control plane took it back; cancelling its routine")


async def test_the_first_signal_waits_for_what_runs(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    go = asyncio.Event()

    async def draft(ctx: Context) -> object:
        await go.wait()
        return submitted

    await client.start("A")
    async with supervising(url, tmp_path, {"draft": draft, "review": approves}) as box:
        await box.says("task 1: draft of A")
        box.stop.ask()
        await box.says(
            "stopping: no new tasks; waiting for 1 routine(s) (signal again to stop now)"
        )
        go.set()
        await box.says("reported submitted")
        assert await box.exit_code() == 0
    assert (await client.get("A")).state == "review"


async def test_the_second_signal_cancels_what_runs(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    async def draft(ctx: Context) -> object:
        await asyncio.Event().wait()
        return submitted

    await client.start("A")
    async with supervising(url, tmp_path, {"draft": draft}) as box:
        await box.says("task 1: draft of A")
        box.stop.ask()
        await box.says("stopping: no new tasks")
        box.stop.ask()
        await box.says("stopping now: cancelling 1 routine(s)")
        assert await box.exit_code() == 1
    assert await kinds(client, "A") == [
        *("started", "event_accepted", "entered", "task_queued", "task_claimed")
    ]
