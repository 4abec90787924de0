"""A supervisor that sleeps past its lease: what it says when it wakes is refused, and the new attempt goes on untouched."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from stateous import Context
from stateous.client import AsyncClient
from stateous_supervisor.outbox import Outbox
from tests.e2e.processes import Running
from tests.supervisor.processes import exit_code, make_folder, says, supervise
from tests.supervisor.proxy import Late, Proxy, proxying
from tests.supervisor.running import Box, submitted, supervising

ROUTINES = """
import pathlib, time
from contract import events, states
from stateous import on_state

@on_state(states.draft)
def draft(ctx):
    while not pathlib.Path(__file__).with_name("go").exists():
        time.sleep(0.01)
    if ctx.token == "NOTES":
        ctx.note(f"attempt {ctx.attempt} woke up")
    ctx["title"] = f"of attempt {ctx.attempt}"
    return events.submitted
"""


@pytest.fixture
def lease_for() -> timedelta:
    return timedelta(seconds=2)


@pytest.fixture
async def proxy(url: str) -> AsyncGenerator[Proxy]:
    async with proxying(url) as made:
        yield made


@pytest.fixture
async def folder(proxy: Proxy, client: AsyncClient, tmp_path: Path) -> Path:
    checksum = (await client.health()).checksum
    return make_folder(tmp_path / "box", proxy.url, checksum=checksum, routines=ROUTINES)


@contextmanager
def asleep(running: Running) -> Generator[None]:
    os.kill(running.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(running.pid, signal.SIGCONT)


class Other:
    """A second supervisor, whose routine ends when it is told to."""

    def __init__(self, url: str, folder: Path) -> None:
        self.go = asyncio.Event()
        folder.mkdir()
        self.supervising = supervising(url, folder, {"draft": self._draft})

    async def _draft(self, ctx: Context) -> object:
        await self.go.wait()
        ctx["title"] = f"of attempt {ctx.attempt}"
        return submitted


async def finishes(other: Other, box: Box, client: AsyncClient, token: str) -> None:
    """The second attempt ends as if there had been no first one."""
    other.go.set()
    await box.says(f"task 1 of {token}: reported submitted")
    after = await client.get(token)
    assert (after.state, after.context) == ("review", {"title": "of attempt 2"})
    kinds = [entry.kind for entry in await client.history(token)]
    assert (kinds.count("task_done"), kinds.count("task_failed")) == (1, 1)
    box.stop.ask()
    assert await box.exit_code() == 0


async def test_a_report_that_was_on_its_way_is_refused(
    url: str, proxy: Proxy, client: AsyncClient, folder: Path, tmp_path: Path
) -> None:
    late = Late()
    proxy.then("/tasks/messages", late)
    await client.start("A")
    other = Other(url, tmp_path / "other")
    with supervise(folder) as running:
        await says(running, r"task 1: draft of A, attempt 1")
        (folder / "go").touch()
        async with asyncio.timeout(30):
            await late.reached.wait()
        with asleep(running):
            async with other.supervising as box:
                await box.says("task 1: draft of A, attempt 2")
                before = await client.history("A")
                os.kill(running.pid, signal.SIGCONT)
                late.go.set()
                await says(running, r"task 1 of A: the control plane refused the report: .*attempt")
                assert await client.history("A") == before
                await finishes(other, box, client, "A")
        os.kill(running.pid, signal.SIGTERM)
        assert await exit_code(running) == 0
    with Outbox(folder) as outbox:
        assert outbox.left == []


@pytest.mark.parametrize("token", ["QUIET", "NOTES"])
async def test_a_routine_that_slept_is_of_no_account_when_it_wakes(
    url: str, proxy: Proxy, client: AsyncClient, folder: Path, tmp_path: Path, token: str
) -> None:
    await client.start(token)
    other = Other(url, tmp_path / "other")
    with supervise(folder) as running:
        await says(running, rf"task 1: draft of {token}, attempt 1")
        with asleep(running):
            async with other.supervising as box:
                await box.says(f"task 1: draft of {token}, attempt 2")
                before = await client.history(token)
                (folder / "go").touch()
                os.kill(running.pid, signal.SIGCONT)
                await says(
                    running,
                    rf"task 1 of {token}: the control plane (took it back|refused the report)",
                )
                assert await client.history(token) == before
                await finishes(other, box, client, token)
        # It is as good as before.
        await client.start("NEXT")
        await says(running, r"of NEXT: reported submitted")
        os.kill(running.pid, signal.SIGTERM)
        assert await exit_code(running) == 0
    with Outbox(folder) as outbox:
        assert outbox.left == []
