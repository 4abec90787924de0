"""The supervisor as a process: what it never says, what does not keep it from ending, and what it leaves when it is killed."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from stateous.client import AsyncClient
from stateous_supervisor.outbox import Outbox
from tests.client.servers import ScriptedServer, answer
from tests.supervisor.processes import exit_code, make_folder, says, supervise

STUBBORN = """
import asyncio
from contract import events, states
from stateous import on_state

@on_state(states.draft)
async def draft(ctx):
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass
"""
HEALTH = {"workflow": "orders", "checksum": "sha256:1"}


@pytest.fixture
async def folder(url: str, tmp_path: Path) -> Path:
    async with AsyncClient(url) as client:
        health = await client.health()
    return make_folder(tmp_path / "box", url, checksum=health.checksum)


def refused(folder: Path) -> str:
    with supervise(folder) as running:
        assert running.ends() == 1
    assert len(running.said) == 1, running.said
    assert running.said[0].startswith("error: ")
    return running.said[0].removeprefix("error: ")


def test_a_folder_without_settings_is_refused(tmp_path: Path) -> None:
    (tmp_path / "box").mkdir()
    assert refused(tmp_path / "box").startswith("box has no stateous.yaml")


def test_a_password_in_the_url_is_never_said(tmp_path: Path) -> None:
    with ScriptedServer(
        answer(502), answer(200, HEALTH), routes={"/tasks/claim": [answer(204)]}
    ) as server:
        url = server.url.replace("//", "//user:s3cret@")
        with supervise(make_folder(tmp_path / "box", url)) as running:
            running.says(r"cannot reach")
            running.says(rf"box serves draft; the control plane is {server.url}$")
            assert running.stop() == 0
    assert "s3cret" not in "\n".join(running.said)
    assert all("authorization" in received.headers for received in server.received)


async def test_the_second_signal_ends_a_routine_that_does_not_let_itself_be_cancelled(
    url: str, folder: Path
) -> None:
    (folder / "routines.py").write_text(STUBBORN)
    async with AsyncClient(url) as client:
        await client.start("A")
        with supervise(folder) as running:
            await says(running, r"task 1: draft of A, attempt 1")
            os.kill(running.pid, signal.SIGINT)
            await says(running, r"stopping: no new tasks")
            os.kill(running.pid, signal.SIGINT)
            assert await exit_code(running) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_file_that_takes_its_time_to_be_imported_does_not_keep_it(
    folder: Path, number: signal.Signals
) -> None:
    (folder / "routines.py").write_text(
        "import time\nprint('is imported', flush=True)\ntime.sleep(600)\n"
    )
    with supervise(folder) as running:
        await says(running, "is imported")
        assert await asyncio.to_thread(running.stop, number) == 0
    assert running.said == ["is imported"]


async def test_what_a_killed_supervisor_left_is_sent_by_the_next(url: str, folder: Path) -> None:
    async with AsyncClient(url) as client:
        await client.start("A")
        with supervise(folder) as running:
            await says(running, r"task 1: draft of A, attempt 1")
            os.kill(running.pid, signal.SIGKILL)
            await exit_code(running)
        report = b'{"kind": "event", "event": "submitted", "attempt": 1, "supervisor": "box"}'
        with Outbox(folder) as outbox:  # as it is when the kill comes between writing and sending
            outbox.put(task=1, token="A", kind="report", body=report)
        with supervise(folder) as running:
            await says(running, r"sending \d message\(s\) left in the outbox")
            await says(running, r"task 1 of A: reported submitted")
            os.kill(running.pid, signal.SIGINT)
            assert await exit_code(running) == 0
        assert (await client.get("A")).state == "review"
    with Outbox(folder) as outbox:
        assert outbox.left == []
