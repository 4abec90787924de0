"""Claims: they wait at the control plane, and whatever a stop comes between, no task is left to wait for its lease."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from stateous import Context
from stateous.client import AsyncClient, calls
from tests.supervisor.proxy import CUT, LOSE, Hold, Instead, Late, Proxy, Step, proxying, refuse
from tests.supervisor.running import submitted, supervising

pytestmark = pytest.mark.usefixtures("quickly")

CLAIM, RELEASE = "/tasks/claim", "/tasks/release"


@pytest.fixture
async def proxy(url: str) -> AsyncGenerator[Proxy]:
    async with proxying(url) as made:
        yield made


async def submits(ctx: Context) -> object:
    return submitted


async def attempt_after(client: AsyncClient) -> int:
    """The attempt that the next supervisor is granted now; it does not wait for a lease to end."""
    (grant,) = await client.send(calls.claim("other", ["draft"], "r-1"))
    return grant.attempt


async def failures(client: AsyncClient, token: str) -> int:
    return sum(entry.kind == "task_failed" for entry in await client.history(token))


async def test_a_claim_sleeps_at_the_control_plane_and_a_task_wakes_it(
    proxy: Proxy, client: AsyncClient, tmp_path: Path
) -> None:
    async with supervising(proxy.url, tmp_path, {"draft": submits}, tasks=3) as box:
        await proxy.passes(CLAIM)
        assert proxy.bodies(CLAIM)[0]["wait"] == 30
        await client.start("A")
        await box.says("task 1: draft of A, attempt 1")
        await box.says("task 1 of A: reported submitted")
        await proxy.passes(CLAIM, times=2)
    assert proxy.bodies(CLAIM)[0]["max"] == 3
    assert len(proxy.bodies(CLAIM)) <= 3


async def test_a_stop_ends_a_claim_that_waits_at_once(
    proxy: Proxy, client: AsyncClient, tmp_path: Path
) -> None:
    async with supervising(proxy.url, tmp_path, {"draft": submits}) as box:
        await proxy.passes(CLAIM)
        box.stop.ask()
        async with asyncio.timeout(15):  # the claim would wait for 30
            assert await box.exit_code() == 0
    assert proxy.bodies(RELEASE)[0]["request"] == proxy.bodies(CLAIM)[0]["request"]
    await client.start("A")
    assert await attempt_after(client) == 1


async def test_what_was_granted_when_the_stop_came_is_given_back(
    proxy: Proxy, client: AsyncClient, tmp_path: Path
) -> None:
    answer = Hold()
    proxy.then(CLAIM, answer)
    for token in ("A", "B"):
        await client.start(token)
    async with supervising(proxy.url, tmp_path, {"draft": submits}) as box:
        await answer.reached.wait()
        box.stop.ask()
        await box.says("task 1: given back, it was not begun")
        await box.says("task 2: given back, it was not begun")
        answer.go.set()
        assert await box.exit_code() == 0
    assert not [line for line in box.lines.said if "attempt" in line]
    assert await attempt_after(client) == 2
    assert await failures(client, "A") == 0


async def test_a_claim_that_comes_after_its_own_withdrawal_gets_nothing(
    proxy: Proxy, client: AsyncClient, tmp_path: Path
) -> None:
    claim = Late()
    proxy.then(CLAIM, claim)
    await client.start("A")
    async with supervising(proxy.url, tmp_path, {"draft": submits}) as box:
        await claim.reached.wait()
        box.stop.ask()
        await proxy.passes(RELEASE)
        claim.go.set()
        assert await box.exit_code() == 0
    assert await attempt_after(client) == 1


async def test_what_such_a_claim_gets_from_a_simpler_control_plane_is_given_back(
    proxy: Proxy, client: AsyncClient, tmp_path: Path
) -> None:
    claim = Late()
    proxy.then(CLAIM, claim)
    proxy.then(RELEASE, Instead(200, {"released": []}))
    await client.start("A")
    async with supervising(proxy.url, tmp_path, {"draft": submits}) as box:
        await claim.reached.wait()
        box.stop.ask()
        await proxy.passes(RELEASE)
        claim.go.set()
        await box.says("task 1: given back, it was not begun")
        assert await box.exit_code() == 0
    assert await attempt_after(client) == 2


@pytest.mark.parametrize("step", [CUT, LOSE])
async def test_what_is_given_back_in_bad_weather_is_given_back_again(
    proxy: Proxy, client: AsyncClient, tmp_path: Path, step: Step
) -> None:
    answer = Hold()
    proxy.then(CLAIM, answer)
    proxy.then(RELEASE, step, step)
    await client.start("A")
    async with supervising(proxy.url, tmp_path, {"draft": submits}) as box:
        await answer.reached.wait()
        box.stop.ask()
        await proxy.passes(RELEASE, times=3)
        assert await box.exit_code() == 0
    assert await attempt_after(client) == 2
    assert await failures(client, "A") == 0


async def test_a_second_signal_gives_back_what_was_granted_too(
    proxy: Proxy, client: AsyncClient, tmp_path: Path
) -> None:
    answer = Hold()
    proxy.then(CLAIM, answer)
    await client.start("A")
    async with supervising(proxy.url, tmp_path, {"draft": submits}) as box:
        await answer.reached.wait()
        box.stop.ask()
        box.stop.ask()
        await box.says("task 1: given back, it was not begun")
        answer.go.set()
        assert await box.exit_code() in (0, 1)  # it had nothing to cancel
    assert await attempt_after(client) == 2


async def test_a_stop_while_the_control_plane_is_away_does_not_wait_for_it(
    proxy: Proxy, tmp_path: Path
) -> None:
    for path in (CLAIM, RELEASE, "/health"):
        proxy.always(path, CUT)
    async with supervising(proxy.url, tmp_path, {"draft": submits}) as box:
        await box.says("trying again in 0.02s")
        box.stop.ask()
        async with asyncio.timeout(10):
            assert await box.exit_code() == 0


async def test_a_refused_release_is_said(proxy: Proxy, client: AsyncClient, tmp_path: Path) -> None:
    proxy.always(RELEASE, refuse(422, "invalid_body"))
    async with supervising(proxy.url, tmp_path, {"draft": submits}) as box:
        await proxy.passes(CLAIM)
        box.stop.ask()
        await box.says("the control plane refused to take tasks back: No.")
        assert await box.exit_code() == 0
