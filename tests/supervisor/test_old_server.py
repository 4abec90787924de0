"""A supervisor of today and a control plane of yesterday, which knows single claims and messages only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec
import pytest

from stateous import Context
from stateous.client import AsyncClient
from tests.supervisor.proxy import CUT, LOSE, Hold, Instead, Proxy, proxying
from tests.supervisor.running import reviewed, submitted, supervising

pytestmark = pytest.mark.usefixtures("quickly")

CLAIM, MESSAGES = "/tasks/claim", "/tasks/messages"


@pytest.fixture
async def proxy(url: str) -> AsyncGenerator[Proxy]:
    async with proxying(url) as made:
        made.is_old()
        yield made


def writes(ctx: Context) -> object:
    ctx.note("one")
    ctx.memory["page"] = 1
    return submitted


async def approves(ctx: Context) -> object:
    return reviewed(approved=True)


ROUTINES = {"draft": writes, "review": approves}


async def test_tasks_are_claimed_and_reported_one_by_one(
    proxy: Proxy, client: AsyncClient, tmp_path: Path
) -> None:
    for token in ("A", "B", "C"):
        await client.start(token)
    async with supervising(proxy.url, tmp_path, ROUTINES) as box:
        for _ in range(3):
            await box.says("reported reviewed")
    for token in ("A", "B", "C"):
        assert (await client.get(token)).status == "completed"
    assert len(proxy.bodies(MESSAGES)) == 1  # it is not asked again
    assert len(proxy.bodies("/tasks/1/note")) == 1


async def test_messages_of_a_task_keep_their_order_when_answers_are_lost(
    proxy: Proxy, client: AsyncClient, tmp_path: Path
) -> None:
    proxy.then("/tasks/1/memory", LOSE, LOSE)
    await client.start("A")
    async with supervising(proxy.url, tmp_path, ROUTINES) as box:
        await box.says("task 1 of A: reported submitted")
    paths = [passed.path for passed in proxy.passed if passed.path.startswith("/tasks/1/")]
    assert paths == ["/tasks/1/note", *["/tasks/1/memory"] * 3, "/tasks/1/report"]


async def test_an_idle_supervisor_asks_each_second_and_not_more_often(
    proxy: Proxy, client: AsyncClient, tmp_path: Path
) -> None:
    loop = asyncio.get_running_loop()
    async with supervising(proxy.url, tmp_path, ROUTINES):
        begun_at = loop.time()
        await proxy.passes(CLAIM, times=3)
        assert loop.time() - begun_at > 1.5
        assert len(proxy.bodies(CLAIM)) == 3


async def test_what_is_granted_at_a_stop_is_run_as_it_cannot_be_given_back(
    proxy: Proxy, client: AsyncClient, tmp_path: Path
) -> None:
    answer = Hold()
    proxy.then(CLAIM, answer)
    await client.start("A")
    async with supervising(proxy.url, tmp_path, ROUTINES) as box:
        await answer.reached.wait()
        box.stop.ask()
        await proxy.passes("/tasks/release")
        answer.go.set()
        await box.says("task 1: draft of A, attempt 1")
        await box.says("task 1 of A: reported submitted")
        assert await box.exit_code() == 0
    assert (await client.get("A")).state == "review"


async def test_one_that_was_renewed_is_sent_many_at_once_from_then_on(
    proxy: Proxy, client: AsyncClient, tmp_path: Path
) -> None:
    health = msgspec.to_builtins(await client.health())
    await client.start("A")
    async with supervising(proxy.url, tmp_path, {"draft": writes}) as box:
        await box.says("task 1 of A: reported submitted")
        assert proxy.bodies("/tasks/1/report")
        proxy.is_renewed()
        proxy.then("/health", Instead(200, {**health, "version": "99"}))
        proxy.then(CLAIM, CUT)
        await box.says("trying again")
        await client.start("B")
        await box.says("task 3 of B: reported submitted")
    assert len(proxy.bodies(MESSAGES)) > 1
    assert proxy.bodies("/tasks/3/report") == []
