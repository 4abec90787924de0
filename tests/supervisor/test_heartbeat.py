"""Heartbeats: from a thread with a connection of its own, for as long as routines run, whatever they do to the loop."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from stateous import Context
from stateous.client import AsyncClient, Client
from stateous_supervisor import heartbeat
from stateous_supervisor.heartbeat import Heartbeat
from stateous_supervisor.outage import Outage
from stateous_supervisor.run import Run
from tests.client.servers import CUT, ScriptedServer, answer, refusal
from tests.e2e.processes import Shell
from tests.supervisor.processes import make_folder, supervise
from tests.supervisor.proxy import Proxy, proxying
from tests.supervisor.running import Lines, submitted, supervising

BEAT = "/tasks/heartbeat"
BLOCKS = """
import asyncio
import time
from contract import events, states
from stateous import on_state

@on_state(states.draft)
async def draft(ctx):
    if ctx.token == "BLOCKS":
        # Meanwhile the supervisor asks for another task: it has room for one.
        await asyncio.sleep(1)
        time.sleep(3)
        until = time.monotonic() + 3
        while time.monotonic() < until:
            pass
    return events.submitted
"""


def test_a_routine_that_blocks_the_loop_and_computes_keeps_its_lease(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell.says("init", "workflow", "orders")
    with (
        shell.serve(f"sqlite:///{tmp_path}/orders.db", "--lease", "2s"),
        Client(shell.url) as client,
    ):
        checksum = client.health().checksum
        folder = make_folder(tmp_path / "box", shell.url, checksum=checksum, routines=BLOCKS)
        client.start("BLOCKS", {"title": "x"})
        with supervise(folder) as running:
            running.says(r"task 1: draft of BLOCKS, attempt 1")
            time.sleep(2)
            client.start("WAITS", {"title": "x"})
            # What is granted meanwhile is nobody's to begin: it is given back, and begun later.
            running.says(r"a routine blocks the loop of the supervisor")
            running.says(r"task 1 of BLOCKS: reported submitted")
            running.says(r"of WAITS: reported submitted")
            assert running.stop() == 0
        for token in ("BLOCKS", "WAITS"):
            kinds = [entry.kind for entry in client.history(token)]
            assert "task_failed" not in kinds


class TestShortLeases:
    """With a lease of two seconds, a heartbeat comes each half second."""

    @pytest.fixture
    def lease_for(self) -> timedelta:
        return timedelta(seconds=2)

    @pytest.fixture
    async def proxy(self, url: str) -> AsyncGenerator[Proxy]:
        async with proxying(url) as made:
            yield made

    async def test_it_goes_on_while_routines_may_end(
        self, proxy: Proxy, client: AsyncClient, tmp_path: Path
    ) -> None:
        go = asyncio.Event()

        async def draft(ctx: Context) -> object:
            await go.wait()
            return submitted

        await client.start("A")
        async with supervising(proxy.url, tmp_path, {"draft": draft}) as box:
            await box.says("task 1: draft of A")
            box.stop.ask()
            await box.says("stopping: no new tasks; waiting for 1 routine(s)")
            await proxy.passes(BEAT, times=len(proxy.bodies(BEAT)) + 5)
            go.set()
            await box.says("reported submitted")
            assert await box.exit_code() == 0
        assert "task_failed" not in [entry.kind for entry in await client.history("A")]

    async def test_nobody_beats_when_nothing_runs(
        self, proxy: Proxy, client: AsyncClient, tmp_path: Path
    ) -> None:
        async with supervising(proxy.url, tmp_path, {"draft": _never}):
            await proxy.passes("/tasks/claim")
            await asyncio.sleep(1.5)  # three heartbeats; what is waited for is that nothing happens
        assert proxy.bodies(BEAT) == []


async def _never(ctx: Context) -> object:
    raise AssertionError(ctx.token)


def _nothing(_client: Client, *, within: float) -> None:
    assert 0 < within <= 15


class Task:
    """As much of a run as a heartbeat knows."""

    def __init__(self, task: int) -> None:
        self.task = task


@contextmanager
def beating(
    lines: Lines, *script: bytes, tasks: int = 1
) -> Generator[tuple[ScriptedServer, list[int]]]:
    """Heartbeats for tasks 1, 2, 3 … each hundredth of a second; what the server heard, and which tasks were lost."""
    held, lost, ended = [Task(n + 1) for n in range(tasks)], list[int](), threading.Event()
    with ScriptedServer(routes={BEAT: script}) as server:
        made = Heartbeat(
            Client(server.url),
            name="box",
            held=lambda: cast("list[Run]", held),
            lost=lambda runs: lost.extend(run.task for run in runs),
            between=_nothing,
            ended=ended.set,
            outage=Outage(url=server.url, log=lines),
            log=lines,
        )
        made.lease_lasts(0.04)
        made.start()
        try:
            yield server, lost
        finally:
            made.stop()
            assert ended.wait(10)


async def test_a_heartbeat_without_an_answer_is_said_once_and_its_end(quickly: None) -> None:
    lines = Lines()
    fine = answer(200, {"lost": []})
    with beating(lines, CUT, answer(502), CUT, fine) as (server, _):
        why = f"cannot reach the control plane at {server.url}"
        assert (await lines.says("trying again")).startswith(why)
        await lines.says(f"the control plane at {server.url} answers again")
    assert len([line for line in lines.said if "answers again" in line]) == 1
    waits = [line.rpartition(" ")[2] for line in lines.said if "trying again" in line]
    assert waits == ["0.01s"]  # not longer than a quarter of the lease


async def test_a_refused_heartbeat_is_said_and_the_next_one_comes() -> None:
    lines = Lines()
    fine = answer(200, {"lost": []})
    with beating(lines, refusal(422, "invalid_argument", "Too long."), fine, CUT) as (_, _):
        await lines.says("the control plane refused a heartbeat: Too long.")
        await lines.says("cannot reach")


async def test_a_heartbeat_that_fails_otherwise_is_said_and_the_next_one_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = Lines()
    fails = [ZeroDivisionError("no")]

    def beat(name: str, tasks: Sequence[int]) -> object:
        if fails:
            raise fails.pop()
        return call(name, tasks)

    call = heartbeat.calls.beat
    monkeypatch.setattr(heartbeat.calls, "beat", beat)
    with beating(lines, answer(200, {"lost": [1]}), CUT) as (_, lost):
        await lines.says("a heartbeat failed")
        await lines.says("cannot reach")
    assert lost == [1]


async def test_more_than_a_thousand_tasks_are_told_in_parts() -> None:
    lines = Lines()
    fine = answer(200, {"lost": [7, 1400]})
    with beating(lines, fine, fine, CUT, tasks=1500) as (server, lost):
        await lines.says("cannot reach")
    assert [len(body["tasks"]) for body in server.bodies(BEAT)[:2]] == [1000, 500]  # type: ignore[arg-type]
    assert lost == [7, 1400]
