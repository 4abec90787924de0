"""A control plane that is told to stop answers who waits at once, and is gone soon."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from pathlib import Path

import pytest

from tests.api.caller import Caller, Reply
from tests.api.graph import GRAPH
from tests.e2e.processes import Running

SOON = 2.0
"""Seconds. Most of it is the end of a Python process on a busy computer."""


async def waiting(caller: Caller, count: int) -> list[asyncio.Task[Reply]]:
    """So many claims that wait: each has come in, since it took the place of one of the same request."""

    def ask(number: int) -> asyncio.Task[Reply]:
        body = {"supervisor": f"box-{number}", "request": "r", "states": ["draft"], "wait": 60}
        return asyncio.ensure_future(caller.post("/tasks/claim", body))

    both = [(ask(number), ask(number)) for number in range(count)]
    waiting: list[asyncio.Task[Reply]] = []
    for pair in both:
        done, still = await asyncio.wait(pair, return_when=asyncio.FIRST_COMPLETED)
        assert [each.result().status for each in done] == [204]
        waiting += still
    return waiting


@pytest.mark.parametrize("signal_sent", [signal.SIGTERM, signal.SIGINT])
async def test_claims_that_wait_are_answered_at_a_stop_and_hold_nobody_up(
    database_url: str, tmp_path: Path, signal_sent: signal.Signals
) -> None:
    graph = tmp_path / "orders.json"
    graph.write_text(json.dumps(GRAPH))
    serve = ("serve", str(graph), "--listen", "127.0.0.1:0", "--db", database_url)
    with Running(*serve, cwd=tmp_path) as serving:
        port = int(serving.says(r"^serving on http://127\.0\.0\.1:(\d+) ")[1])
        asked = await waiting(Caller("127.0.0.1", port), 20)
        begun = time.monotonic()
        os.kill(serving.pid, signal_sent)
        replies = await asyncio.gather(*asked)
        assert time.monotonic() - begun < SOON
        assert [reply.status for reply in replies] == [204] * 20
        assert await asyncio.to_thread(serving.ends) == 0
        assert time.monotonic() - begun < SOON
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)
