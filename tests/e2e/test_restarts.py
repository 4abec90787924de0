"""Postgres is restarted without a word, under load: whoever serves goes on by itself, and all that it accepted is there once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.api.caller import Caller, Reply
from tests.clusters import Cluster
from tests.e2e.planes import LOST, Computer, Control

pytestmark = pytest.mark.postgres

LONG = 60.0
TOKENS = [f"ORDER-{n}" for n in range(8)]
HOLD = ("--hold", "2s")
BUSY = (503, "database_busy")
NOT_SERVING = (503, "not_serving")


@pytest.fixture
def computer(tmp_path: Path, cluster: Cluster) -> Computer:
    return Computer(tmp_path, cluster.url)


class Load:
    """Clients that fire an event without a key at each token, again and again, at whoever answers; it leads nowhere."""

    def __init__(self, *controls: Control) -> None:
        places = [urlsplit(control.url) for control in controls]
        self._callers = [Caller(str(place.hostname), place.port or 0) for place in places]
        self.accepted: Counter[str] = Counter()
        self.refused: Counter[tuple[int, str]] = Counter()
        self._more = asyncio.Event()
        self._ends = False
        self.served: set[int] = set()
        """Which of them accepted anything since this was emptied."""

    async def _send(self, caller: Caller, method: str, path: str, body: object) -> Reply | None:
        """The answer; None when there is nobody, or nobody any more before it was looked at."""
        try:
            return await caller.send(method, path, body)
        except (ConnectionError, IndexError):
            return None

    async def _fire(self, token: str) -> None:
        while not self._ends:
            for number, caller in enumerate(self._callers):
                reply = await self._send(caller, "POST", f"/tokens/{token}/events/leave", {})
                read = await self._send(caller, "GET", f"/tokens/{token}", {})
                if reply is not None and reply.status == 200:
                    self.accepted[token] += 1
                    self.served.add(number)
                    self._more.set()
                for each in (reply, read):
                    if each is not None and each.status != 200:
                        self.refused[each.refusal] += 1
                        # Whoever says so tells when to ask again.
                        if each.refusal == BUSY:
                            assert each.headers["retry-after"] == "1"

    async def until_more_are_accepted(self) -> None:
        """Return when each client has been answered at least ten times more."""
        asked = {token: self.accepted[token] + 10 for token in TOKENS}
        async with asyncio.timeout(LONG):
            while any(self.accepted[token] < count for token, count in asked.items()):
                self._more.clear()
                await self._more.wait()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        for token in TOKENS:
            started = {"token": token, "context": {"title": "Chair"}}
            assert (await self._callers[0].post("/tokens", started)).status == 201
        clients = [asyncio.create_task(self._fire(token)) for token in TOKENS]
        try:
            yield
        finally:
            self._ends = True
            await asyncio.gather(*clients)

    async def check(self) -> None:
        """What was accepted was applied, and nothing else."""
        assert set(self.refused) <= {BUSY, NOT_SERVING}, self.refused
        for token in TOKENS:
            for caller in self._callers:
                reply = await self._send(caller, "GET", f"/tokens/{token}/history", {})
                if reply is not None and reply.status == 200:
                    fired = [each for each in reply.json if each["data"].get("event") == "leave"]
                    kinds = Counter(each["kind"] for each in fired)
                    assert kinds == {"event_accepted": self.accepted[token]}
                    break
            else:
                raise AssertionError("nobody serves")


async def test_one_control_plane_goes_on(computer: Computer, cluster: Cluster) -> None:
    with computer.serving(*HOLD) as control:
        load = Load(control)
        async with load.running():
            for _ in range(2):
                await load.until_more_are_accepted()
                await asyncio.to_thread(cluster.restart)
                await load.until_more_are_accepted()
                await asyncio.to_thread(control.process.says, r"hold\.taken_back")
        assert NOT_SERVING not in load.refused
        await load.check()
        assert await asyncio.to_thread(control.process.stop) == 0


async def test_of_two_one_goes_on_and_the_other_knows(computer: Computer, cluster: Cluster) -> None:
    with computer.serving(*HOLD) as first, computer.waiting(*HOLD) as second:
        load = Load(first, second)
        async with load.running():
            await load.until_more_are_accepted()
            await asyncio.to_thread(cluster.restart)
            load.served.clear()
            await load.until_more_are_accepted()
        await load.check()
        assert len(load.served) == 1
        if load.served == {1}:
            assert first.process.ends() == 1
            assert first.process.said[-1] == LOST
            assert second.process.stop() == 0
        else:
            assert first.ask("GET", "/health").status == 200
            assert second.ask("GET", "/health").refusal == NOT_SERVING
            assert [control.process.stop() for control in (second, first)] == [0, 0]
