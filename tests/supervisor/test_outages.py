"""Outages: told once with their end, whoever waits; and what a stop does when nobody answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from stateous import Context
from stateous.client import AsyncClient
from stateous_supervisor import link
from stateous_supervisor.outage import Outage
from stateous_supervisor.outbox import Outbox
from tests.client.servers import ScriptedServer, answer, refusal
from tests.supervisor.proxy import CUT, Hold, Instead, Proxy, proxying, refuse
from tests.supervisor.running import Lines, submitted, supervising

CLAIM, HEALTH, MESSAGES = "/tasks/claim", "/health", "/tasks/messages"
ALL = (CLAIM, HEALTH, MESSAGES, "/tasks/release", "/tasks/heartbeat")
URL = "http://127.0.0.1:8080"


@pytest.fixture
async def proxy(url: str) -> AsyncGenerator[Proxy]:
    async with proxying(url) as made:
        yield made


async def test_each_longer_wait_is_said_once_and_the_end_when_nobody_waits() -> None:
    lines = Lines()
    outage = Outage(url=URL, log=lines)
    for sender, wait in [("a", 1.0), ("b", 1.0), ("a", 2.0), ("b", 2.0), ("b", 4.0), ("a", 4.0)]:
        outage.failed(sender, f"{sender} cannot", wait=wait)
    outage.answered("a")
    outage.failed("b", "b cannot", wait=8.0)
    outage.answered("b")
    outage.answered("b")
    outage.failed("a", "a cannot", wait=1.0)
    assert lines.said == [
        "a cannot; trying again in 1s",
        "a cannot; trying again in 2s",
        "b cannot; trying again in 4s",
        "b cannot; trying again in 8s",
        f"the control plane at {URL} answers again",
        "a cannot; trying again in 1s",
    ]


async def test_nobody_who_gave_up_ends_an_outage() -> None:
    lines = Lines()
    outage = Outage(url=URL, log=lines)
    outage.failed("a", "a cannot", wait=1.0)
    outage.forget("a")
    outage.answered("a")
    outage.failed("b", "b cannot", wait=1.0)
    assert lines.said == ["a cannot; trying again in 1s", "b cannot; trying again in 1s"]


@pytest.mark.usefixtures("quickly")
async def test_many_routines_that_end_in_an_outage_tell_of_it_once(
    proxy: Proxy, client: AsyncClient, tmp_path: Path
) -> None:
    go = asyncio.Event()

    async def draft(ctx: Context) -> object:
        ctx.note("one")
        await go.wait()
        return submitted

    for n in range(8):
        await client.start(f"T-{n}")
    async with supervising(proxy.url, tmp_path, {"draft": draft}, tasks=8) as box:
        for _ in range(8):
            await box.says("attempt 1")
        await proxy.passes(MESSAGES)
        for path in ALL:
            proxy.always(path, CUT)
        go.set()
        await box.says("trying again in 0.04s")
        for path in ALL:
            proxy.always(path, None)
        for _ in range(8):
            await box.says("reported submitted")
        said = box.lines.said
    waits = [line.rpartition(" ")[2] for line in said if "trying again" in line]
    assert waits == sorted(set(waits))
    assert len([line for line in said if "answers again" in line]) == 1


async def test_a_control_plane_may_ask_for_more_time(tmp_path: Path) -> None:
    busy = refusal(503, "database_busy", "Busy.", retry_after="1.5")
    routes = {
        CLAIM: [busy, answer(204)],
        HEALTH: [answer(200, {"workflow": "orders", "checksum": "sha256:1"})],
        "/tasks/release": [answer(200, {"released": []})],
    }
    with ScriptedServer(routes=routes) as server:
        async with supervising(server.url, tmp_path, {"draft": _never}) as box:
            why = f"the control plane at {server.url} cannot answer now (Busy.)"
            assert await box.says("trying again") == f"{why}; trying again in 1.5s"
            await box.says("answers again")


async def _never(ctx: Context) -> object:
    raise AssertionError(ctx.token)


@pytest.mark.usefixtures("quickly")
class TestOfSomeMessages:
    """What is the matter with one message, or with one task's, is no matter of the others'."""

    async def test_one_that_cannot_be_decided_now_waits_and_those_behind_it(
        self, proxy: Proxy, client: AsyncClient, tmp_path: Path
    ) -> None:
        def draft(ctx: Context) -> object:
            ctx.note("one")
            ctx.note("two")
            return submitted

        busy = Instead(
            200, {"results": [{"status": 503, "code": "database_busy", "error": "Busy."}]}
        )
        proxy.then(MESSAGES, busy, busy)
        await client.start("A")
        async with supervising(proxy.url, tmp_path, {"draft": draft}) as box:
            await box.says("cannot answer now (Busy.); trying again in 0.01s")
            await box.says("task 1 of A: reported submitted")
        history = await client.history("A")
        assert [e.data["text"] for e in history if e.kind == "note"] == ["one", "two"]
        assert "task_failed" not in [entry.kind for entry in history]

    async def test_a_request_that_is_answered_late_does_not_hold_up_the_others(
        self, proxy: Proxy, client: AsyncClient, tmp_path: Path
    ) -> None:
        late = Hold()
        proxy.then(MESSAGES, late)
        await client.start("A")
        async with supervising(proxy.url, tmp_path, {"draft": _submits}) as box:
            await late.reached.wait()
            await client.start("B")
            await box.says("of B: reported submitted")
            late.go.set()
            await box.says("of A: reported submitted")

    async def test_a_request_that_is_refused_as_a_whole_goes_message_by_message(
        self, proxy: Proxy, client: AsyncClient, tmp_path: Path
    ) -> None:
        proxy.always(MESSAGES, refuse(413, "bad_request"))
        await client.start("A")
        async with supervising(proxy.url, tmp_path, {"draft": _submits}) as box:
            await box.says("task 1 of A: reported submitted")
        assert len(proxy.bodies("/tasks/1/report")) == 1

    async def test_a_report_of_a_megabyte_goes_alone_and_a_larger_one_fails(
        self, proxy: Proxy, client: AsyncClient, tmp_path: Path
    ) -> None:
        def draft(ctx: Context) -> object:
            ctx["title"] = "x" * (1_000_000 if ctx.token == "FITS" else 1_100_000)
            return submitted

        for token in ("FITS", "LARGE"):
            await client.start(token)
        async with supervising(proxy.url, tmp_path, {"draft": draft}, tasks=1) as box:
            await box.says("of FITS: reported submitted")
            await box.says("of LARGE: reported failed: the report has 1100")
        assert [body["kind"] for body in proxy.bodies("/tasks/1/report")] == ["event"]
        assert proxy.bodies("/tasks/2/report") == []  # it was not tried

    async def test_a_bug_is_asked_six_times_and_the_attempt_has_failed(
        self, proxy: Proxy, client: AsyncClient, tmp_path: Path
    ) -> None:
        bug = Instead(200, {"results": [{"status": 500, "code": "unexpected", "error": "A bug."}]})
        proxy.then(MESSAGES, *[bug] * 6)
        await client.start("A")
        async with supervising(proxy.url, tmp_path, {"draft": _submits}) as box:
            await box.says("task 1 of A: the control plane refused the report: A bug.")
            await box.says("reported failed: the control plane refused the report: A bug.")
        assert len(proxy.bodies(MESSAGES)) >= 7


async def _submits(ctx: Context) -> object:
    return submitted


async def test_a_stop_does_not_wait_for_a_control_plane_that_has_fallen_asleep(
    proxy: Proxy, client: AsyncClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "LAST_TRY_FOR", 0.2)
    go = asyncio.Event()

    async def draft(ctx: Context) -> object:
        await go.wait()
        return submitted

    await client.start("A")
    async with supervising(proxy.url, tmp_path, {"draft": draft}) as box:
        await box.says("task 1: draft of A")
        for path in ALL:
            proxy.always(path, Hold())
        go.set()
        await proxy.passes(MESSAGES)
        box.stop.ask()
        async with asyncio.timeout(10):  # a try takes 15 s at other times
            await box.says("the report stays in the outbox for the next start")
            assert await box.exit_code() == 0
    with Outbox(tmp_path) as outbox:
        assert [message.kind for message in outbox.left] == ["report"]
