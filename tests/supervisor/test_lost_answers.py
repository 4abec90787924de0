"""Answers that are lost on their way from a real control plane: nothing is done twice, nothing is taken for refused."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from stateous import Context
from stateous.client import AsyncClient
from stateous_supervisor import outbox
from stateous_supervisor.outbox import Outbox
from tests.supervisor.proxy import CUT, LOSE, Late, Proxy, proxying
from tests.supervisor.running import reviewed, submitted, supervising

pytestmark = pytest.mark.usefixtures("quickly")

CLAIM, MESSAGES = "/tasks/claim", "/tasks/messages"


@pytest.fixture
async def proxy(url: str) -> AsyncGenerator[Proxy]:
    async with proxying(url) as made:
        yield made


def writes(ctx: Context) -> object:
    ctx.note("one")
    ctx.memory["page"] = 1
    ctx["title"] = "y"
    return submitted


async def approves(ctx: Context) -> object:
    return reviewed(approved=True)


ROUTINES = {"draft": writes, "review": approves}


async def kinds(client: AsyncClient, token: str) -> Counter[str]:
    return Counter(entry.kind for entry in await client.history(token))


async def test_messages_of_many_tasks_travel_in_one_request(
    proxy: Proxy, client: AsyncClient, tmp_path: Path
) -> None:
    go = asyncio.Event()

    async def draft(ctx: Context) -> object:
        await go.wait()
        return submitted

    for n in range(20):
        await client.start(f"T-{n}")
    async with supervising(proxy.url, tmp_path, {"draft": draft}, tasks=20) as box:
        for _ in range(20):
            await box.says("draft of T-")
        go.set()
        for _ in range(20):
            await box.says("reported submitted")
    sent = [len(body["messages"]) for body in proxy.bodies(MESSAGES)]
    assert sum(sent) == 20
    assert len(sent) <= 4
    ids = [message["id"] for body in proxy.bodies(MESSAGES) for message in body["messages"]]
    assert len(set(ids)) == 20
    # As many tasks as there are slots, in one claim.
    assert proxy.bodies(CLAIM)[0]["max"] == 20


async def test_a_lost_answer_to_messages_doubles_nothing_and_refuses_nothing(
    proxy: Proxy, client: AsyncClient, tmp_path: Path
) -> None:
    proxy.then(MESSAGES, LOSE, LOSE, CUT, LOSE)
    await client.start("A", {"title": "x"})
    async with supervising(proxy.url, tmp_path, ROUTINES) as box:
        await box.says("task 1 of A: reported submitted")
        await box.says("of A: reported reviewed")
    assert not [line for line in box.lines.said if "refused" in line]
    assert (await client.get("A")).status == "completed"
    counted = await kinds(client, "A")
    assert (counted["note"], counted["memory_set"], counted["context_changed"]) == (1, 1, 1)
    assert counted["task_done"] == 2
    assert "event_rejected" not in counted


async def test_a_lost_answer_to_a_claim_gives_the_same_tasks_again(
    proxy: Proxy, client: AsyncClient, tmp_path: Path
) -> None:
    proxy.then(CLAIM, LOSE, LOSE)
    for token in ("A", "B"):
        await client.start(token)
    async with supervising(proxy.url, tmp_path, ROUTINES) as box:
        await box.says("task 1: draft of A, attempt 1")
        await box.says("task 2: draft of B, attempt 1")
        for _ in range(2):
            await box.says("reported reviewed")
    requests = [body["request"] for body in proxy.bodies(CLAIM)]
    assert len(set(requests[:3])) == 1
    for token in ("A", "B"):
        assert (await kinds(client, token))["task_claimed"] == 2  # draft and review, once each


async def test_what_was_answered_just_before_a_kill_is_answered_once_more_and_as_before(
    url: str, client: AsyncClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "_REMOVED_WITHIN", 3600.0)
    killed, next_one = tmp_path / "killed", tmp_path / "next"
    killed.mkdir()
    await client.start("A", {"title": "x"})
    async with supervising(url, killed, {"draft": writes}) as box:
        await box.says("task 1 of A: reported submitted")
        shutil.copytree(killed, next_one)  # what a kill leaves
    before = await client.history("A")
    async with supervising(url, next_one, {"draft": writes}) as box:
        await box.says("sending 3 message(s) left in the outbox")
        await box.says("task 1 of A: reported submitted")
        box.stop.ask()
        assert await box.exit_code() == 0
    assert not [line for line in box.lines.said if "refused" in line]
    assert await client.history("A") == before
    with Outbox(next_one) as left:
        assert left.left == []


async def test_a_note_that_is_refused_after_the_routine_ended_is_told(
    proxy: Proxy, client: AsyncClient, tmp_path: Path
) -> None:
    late, go = Late(), asyncio.Event()
    proxy.then(MESSAGES, late)

    async def draft(ctx: Context) -> object:
        ctx.note("on its way")
        await go.wait()
        return submitted

    await client.start("A")
    async with supervising(proxy.url, tmp_path, {"draft": draft}) as box:
        async with asyncio.timeout(10):
            await late.reached.wait()
        await client.cancel("A")
        (routine,) = (task for task in asyncio.all_tasks() if task.get_name() == "task 1 of A")
        go.set()
        await routine  # its report stands behind the note
        late.go.set()
        await box.says("task 1 of A: the control plane took it back; its result is ignored")
        box.stop.ask()
        assert await box.exit_code() == 0
    assert len(proxy.bodies(MESSAGES)) == 1
