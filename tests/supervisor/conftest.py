"""A control plane of the test's own, over HTTP, on each kind of database; and retries without the waiting."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from stateous.api.app import build_app
from stateous.api.server import Server, bind_socket
from stateous.client import AsyncClient, patience
from stateous.control.compose import open_plane
from stateous.model.graph import parse_graph
from tests.databases import Database
from tests.supervisor.running import GRAPH


@pytest.fixture
def lease_for() -> timedelta:
    """How long a lease lasts; a test may have its own."""
    return timedelta(seconds=120)


@pytest.fixture
async def url(database: Database, lease_for: timedelta) -> AsyncGenerator[str, None]:
    """The URL of a control plane that serves `orders`."""
    async with _served(database, lease_for) as served:
        yield served


@pytest.fixture
async def client(url: str) -> AsyncGenerator[AsyncClient, None]:
    async with AsyncClient(url) as made:
        yield made


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits between tries are a hundredth of what they are."""
    monkeypatch.setattr(patience, "WAITS", tuple(wait / 100 for wait in patience.WAITS))


@asynccontextmanager
async def _served(database: Database, lease_for: timedelta) -> AsyncGenerator[str, None]:
    plane = await open_plane(graph=parse_graph(GRAPH), db=database.url, lease_for=lease_for)
    listening = bind_socket("127.0.0.1", 0)
    server = Server(build_app(plane), listening)
    serving = asyncio.create_task(server.serve())
    await server.ready()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.stop()
        await serving
        await plane.stop()
