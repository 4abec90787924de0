"""What routines can do to the process that they share with the supervisor: it goes on, and can be stopped."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from stateous.client import AsyncClient
from tests.supervisor.processes import exit_code, make_folder, says, supervise

ON_THE_LOOP = """
import asyncio, os, signal, sys, threading, time
from contract import events, states
from stateous import on_state

signal.signal(signal.SIGTERM, signal.SIG_IGN)  # as some libraries do when they are imported

async def leaves():
    raise SystemExit(7)

async def interrupts():
    raise ZeroDivisionError("nobody asks for this")

@on_state(states.draft)
async def draft(ctx) -> events.submitted:
    match ctx.token:
        case "signals":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.default_int_handler)
        case "task":
            asyncio.create_task(leaves())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        case "group":
            async with asyncio.TaskGroup() as group:
                group.create_task(interrupts())
        case "stops":
            asyncio.get_running_loop().stop()
            await asyncio.sleep(0)
        case "closes":
            asyncio.get_running_loop().close()
        case "itself":
            asyncio.current_task().cancel()
            await asyncio.sleep(0)
        case "generator":
            raise GeneratorExit
        case "forks":
            pid = os.fork()
            if pid == 0:
                return events.submitted()
            os.waitpid(pid, 0)
        case "streams":
            sys.stdout.close()
            sys.stderr.close()
            os.close(2)
        case "folder":
            os.chdir("/")
        case "threads":
            threading.Thread(target=time.sleep, args=(600,)).start()
            await asyncio.sleep(0)
            asyncio.get_running_loop().run_in_executor(None, time.sleep, 600)
    return events.submitted()
"""
FAILS = {
    "closes": "RuntimeError: Cannot close a running event loop",
    "group": (
        "ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception): "
        "ZeroDivisionError: nobody asks for this"
    ),
    "itself": "CancelledError",
    "generator": "GeneratorExit",
}


@pytest.fixture
def dialect() -> str:
    """No routine knows a database."""
    return "sqlite"


async def test_nothing_that_a_routine_does_on_the_loop_ends_the_supervisor(
    url: str, tmp_path: Path
) -> None:
    tokens = [
        "signals",
        "task",
        "group",
        "stops",
        "closes",
        "itself",
        "generator",
        "forks",
        "streams",
    ]
    async with AsyncClient(url) as client:
        health = await client.health()
        make_folder(tmp_path / "box", url, checksum=health.checksum, routines=ON_THE_LOOP)
        with supervise(tmp_path / "box") as running:
            await says(running, r"box serves draft")
            for token in [*tokens, "folder", "threads", "last"]:
                await client.start(token)
                end = FAILS.get(token)
                said = "submitted" if end is None else f"failed: {end}"
                line = await says(running, rf"of {token}: reported (.*)")
                assert line[1] == said
            os.kill(running.pid, signal.SIGTERM)
            await says(running, r"stopping: no new tasks")
            assert await exit_code(running) == 0
    said = "\n".join(running.said)
    assert said.count("a routine took the signals that stop the supervisor") == 1
    assert said.count("a routine ended the loop of the supervisor") == 2


IN_THREADS = """
import asyncio, signal
from contract import events, states
from stateous import on_state

async def submits():
    return events.submitted()

@on_state(states.draft)
def draft(ctx):
    match ctx.token:
        case "runs":
            return asyncio.run(submits())
        case "signals":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        case "stops":
            raise StopIteration
        case "recursion":
            return draft(ctx)
        case "memory":
            raise MemoryError
        case "megabytes":
            raise ValueError("é\\x00" * 2_500_000)
"""


async def test_nothing_that_a_routine_does_in_a_thread_ends_the_supervisor(
    url: str, tmp_path: Path
) -> None:
    ends = {
        "runs": "submitted",
        "signals": "failed: ValueError: signal only works in main thread",
        "stops": "failed: StopIteration",
        "recursion": "failed: RecursionError: maximum recursion depth exceeded",
        "memory": "failed: MemoryError",
        "megabytes": "failed: ValueError: é\ufffdé\ufffd",
    }
    async with AsyncClient(url) as client:
        health = await client.health()
        make_folder(tmp_path / "box", url, checksum=health.checksum, routines=IN_THREADS)
        with supervise(tmp_path / "box") as running:
            for token, end in ends.items():
                await client.start(token)
                line = await says(running, rf"of {token}: reported (.*)")
                assert line[1].startswith(end)
            os.kill(running.pid, signal.SIGTERM)
            assert await exit_code(running) == 0
        failed = [e.data for e in await client.history("megabytes") if e.kind == "task_failed"]
        assert len(failed[0]["error"]) == 10_000
