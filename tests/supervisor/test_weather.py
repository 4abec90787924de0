"""A network that cuts, loses and stalls on every route: each token ends as if there had been none of it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final

import msgspec
import pytest

from stateous import Context
from stateous.client import AsyncClient, patience
from tests.supervisor.proxy import CUT, LOSE, PASS, Instead, Proxy, Stall, Step, proxying
from tests.supervisor.running import Function, reviewed, submitted, supervising

pytestmark = pytest.mark.usefixtures("quickly")

TOKENS: Final = tuple(f"T-{n}" for n in range(20))
BEAT, CLAIM, HEALTH = "/tasks/heartbeat", "/tasks/claim", "/health"
MESSAGES, RELEASE = "/tasks/messages", "/tasks/release"
TRY_FOR: Final = 1.0


@pytest.fixture
async def proxy(url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Proxy]:
    monkeypatch.setattr(patience, "TRY_FOR", TRY_FOR)
    async with proxying(url) as made:
        yield made


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    """The same weather for the same `--randomly-seed`."""
    return random.Random(int(str(request.config.getoption("randomly_seed"))))


def weather(chance: random.Random, *, steps: int, stall: float) -> list[Step]:
    """What happens to the next requests; nothing does to half of them."""
    kinds = (PASS, PASS, PASS, CUT, LOSE, Stall(stall))
    return [chance.choice(kinds) for _ in range(steps)]


async def beats_often(proxy: Proxy, client: AsyncClient) -> None:
    """Say that leases are so short that heartbeats come each tenth of a second. They are not."""
    health = msgspec.to_builtins(await client.health())
    proxy.always(HEALTH, Instead(200, {**health, "lease_for": 0.4}))


def routines(proxy: Proxy) -> dict[str, Function]:
    async def draft(ctx: Context) -> object:
        ctx.note("one")
        ctx.memory["page"] = 1
        if ctx.token == TOKENS[0]:
            await proxy.passes(BEAT, times=12)
        ctx.note("two")
        ctx["title"] = "y"
        return submitted

    def review(ctx: Context) -> object:
        return reviewed(approved=True)

    return {"draft": draft, "review": review}


async def runs(
    proxy: Proxy, client: AsyncClient, folder: Path, *, stops_after: int | None = None
) -> list[str]:
    """A supervisor works for all tokens; another one goes on when it stops. What they said."""
    for token in TOKENS:
        await client.start(token)
    said: list[str] = []
    if stops_after is not None:
        async with supervising(proxy.url, folder, routines(proxy)) as first:
            for _ in range(stops_after):
                await first.says("reported")
            first.stop.ask()
            assert await first.exit_code() == 0
        said += first.lines.said
    async with supervising(proxy.url, folder, routines(proxy)) as last:
        while await client.tokens(status="active", limit=1):
            await last.says("report")  # it was taken, or looks refused
        last.stop.ask()
        assert await last.exit_code() == 0
    return said + last.lines.said


async def history_of(client: AsyncClient, token: str) -> tuple[Counter[str], list[str]]:
    """How many entries there are of each kind, and the notes."""
    entries = await client.history(token)
    notes = [entry.data["text"] for entry in entries if entry.kind == "note"]
    return Counter(entry.kind for entry in entries), notes


async def test_nothing_is_doubled_and_nothing_looks_refused(
    proxy: Proxy, client: AsyncClient, tmp_path: Path, chance: random.Random
) -> None:
    await beats_often(proxy, client)
    proxy.then(HEALTH, CUT, LOSE)
    proxy.then(CLAIM, *weather(chance, steps=12, stall=0.2))
    proxy.then(MESSAGES, *weather(chance, steps=12, stall=2 * TRY_FOR))
    proxy.then(BEAT, *weather(chance, steps=10, stall=2 * TRY_FOR))
    proxy.then(RELEASE, CUT, LOSE)
    said = await runs(proxy, client, tmp_path, stops_after=10)
    assert [line for line in said if "refused" in line or "took it back" in line] == []
    for token in TOKENS:
        kinds, notes = await history_of(client, token)
        assert notes == ["one", "two"]
        assert (kinds["memory_set"], kinds["context_changed"], kinds["task_done"]) == (1, 1, 2)
        assert not {"task_failed", "event_rejected"} & set(kinds), kinds
        assert kinds["completed"] == 1


async def test_an_old_control_plane_gets_each_report_once(
    proxy: Proxy, client: AsyncClient, tmp_path: Path, chance: random.Random
) -> None:
    await beats_often(proxy, client)
    proxy.is_old()
    proxy.then(HEALTH, CUT, LOSE)
    proxy.then(CLAIM, *weather(chance, steps=30, stall=0.2))
    proxy.then(BEAT, *weather(chance, steps=10, stall=2 * TRY_FOR))
    for task in range(1, 3 * len(TOKENS)):
        for kind in ("note", "memory", "report"):
            proxy.then(f"/tasks/{task}/{kind}", *weather(chance, steps=2, stall=1.2 * TRY_FOR))
    # A message that was taken and is sent again has no id there: a note may be twice, a report be said to be refused.
    await runs(proxy, client, tmp_path)
    for token in TOKENS:
        kinds, notes = await history_of(client, token)
        assert list(dict.fromkeys(notes)) == ["one", "two"]
        assert (kinds["context_changed"], kinds["task_done"], kinds["completed"]) == (1, 2, 1)
        assert not {"task_failed", "event_rejected"} & set(kinds), kinds
