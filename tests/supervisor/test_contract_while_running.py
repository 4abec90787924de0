"""Another control plane, or another graph, in the place of the one that a supervisor began with."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from stateous import Context
from stateous.client import AsyncClient
from stateous_supervisor import claiming
from stateous_supervisor.folder import BadFolder
from stateous_supervisor.outbox import Outbox
from tests.client.planes import GRAPH, serving
from tests.databases import Database, new_database
from tests.supervisor.proxy import Proxy, proxying
from tests.supervisor.running import submitted, supervising

pytestmark = pytest.mark.usefixtures("quickly")

CLAIM = "/tasks/claim"


class Place:
    """Where a control plane listens; `serve` puts another one there."""

    def __init__(self, database: Database, proxy: Proxy) -> None:
        self.database = database
        self.proxy = proxy
        self._planes = AsyncExitStack()

    async def serve(self, graph: dict[str, Any] = GRAPH, **options: Any) -> AsyncClient:
        await self.close()
        url = await self._planes.enter_async_context(
            serving(options.pop("database", self.database), graph=graph, **options)
        )
        self.proxy.upstream = url
        return await self._planes.enter_async_context(AsyncClient(url))

    async def close(self) -> None:
        await self._planes.aclose()


@pytest.fixture
async def place(database: Database) -> AsyncGenerator[Place]:
    async with proxying("") as proxy:
        made = Place(database, proxy)
        yield made
        await made.close()


def changed(**changes: Any) -> dict[str, Any]:
    """The graph of `orders` with other settings."""
    return {**copy.deepcopy(GRAPH), **changes}


def elsewhere(folder: Path) -> Path:
    """A folder for a second database."""
    made = folder / "elsewhere"
    made.mkdir()
    return made


OTHER_RETRIES = changed()
OTHER_RETRIES["states"]["draft"]["retries"] = 5


async def test_another_version_of_the_graph_ends_the_supervisor_when_its_routines_have_ended(
    place: Place, tmp_path: Path
) -> None:
    client = await place.serve()
    serves = (await client.health()).checksum
    await client.start("A")
    go = asyncio.Event()

    async def draft(ctx: Context) -> object:
        await go.wait()
        return submitted

    async with supervising(place.proxy.url, tmp_path, {"draft": draft}, serves=serves) as box:
        await box.says("task 1: draft of A, attempt 1")
        await place.close()
        await box.says("trying again")
        client = await place.serve(OTHER_RETRIES)
        await client.start("B")
        await box.says("contract.py is for another version of the workflow")
        await box.says("stopping: no new tasks; waiting for 1 routine(s)")
        go.set()
        await box.says("task 1 of A: reported submitted")
        with pytest.raises(BadFolder, match="another version"):
            await box.exit_code()
    assert (await client.get("A")).state == "review"
    assert not [line for line in box.lines.said if "of B" in line]


async def test_another_version_is_noticed_also_when_no_call_fails(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claiming, "LOOK_EVERY", 0.0)
    client = await place.serve()
    serves = (await client.health()).checksum
    with new_database("sqlite", elsewhere(tmp_path)) as other:
        async with serving(other, graph=OTHER_RETRIES) as url, AsyncClient(url) as behind:
            await behind.start("B")
            async with supervising(place.proxy.url, tmp_path, SUBMITS, serves=serves) as box:
                await place.proxy.passes(CLAIM)
                place.proxy.upstream = url
                await client.start("A")
                await box.says("contract.py is for another version of the workflow")
                with pytest.raises(BadFolder):
                    await box.exit_code()
            assert (await behind.get("B")).state == "draft"
    assert not [line for line in box.lines.said if "of B" in line]


async def test_a_control_plane_of_another_workflow_is_told_nothing(
    place: Place, tmp_path: Path
) -> None:
    client = await place.serve()
    await client.start("A")
    serves = (await client.health()).checksum
    go = asyncio.Event()

    async def draft(ctx: Context) -> object:
        await go.wait()
        return submitted

    async with supervising(place.proxy.url, tmp_path, {"draft": draft}, serves=serves) as box:
        await box.says("task 1: draft of A, attempt 1")
        await place.close()
        await box.says("trying again")
        with new_database("sqlite", elsewhere(tmp_path)) as other:
            await place.serve(changed(workflow="invoices"), database=other)
            await box.says("contract.py is for another version of the workflow")
            go.set()
            await box.says("the report stays in the outbox for the next start")
            with pytest.raises(BadFolder):
                await box.exit_code()
            await place.close()
    with Outbox(tmp_path) as outbox:
        assert [message.kind for message in outbox.left] == ["report"]


async def test_the_lease_is_asked_for_again_when_a_control_plane_comes_back(
    place: Place, tmp_path: Path
) -> None:
    client = await place.serve()
    await client.start("A")
    go = asyncio.Event()

    async def draft(ctx: Context) -> object:
        await go.wait()
        return submitted

    async with supervising(place.proxy.url, tmp_path, {"draft": draft}) as box:
        await box.says("task 1: draft of A, attempt 1")
        await place.close()
        await box.says("trying again")
        await place.serve(lease_for=timedelta(seconds=2))
        await box.says("answers again")
        await place.proxy.passes("/tasks/heartbeat", times=2)
        go.set()
        await box.says("task 1 of A: reported submitted")


async def submits(ctx: Context) -> object:
    return submitted


SUBMITS = {"draft": submits}
