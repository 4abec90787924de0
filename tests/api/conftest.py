"""A whole control plane behind real HTTP, on each database."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from stateous.control.compose import open_plane
from stateous.control.plane import Plane
from stateous.model.graph import parse_graph
from tests.api.caller import Caller
from tests.api.graph import GRAPH
from tests.api.serving import served
from tests.databases import Database


@pytest.fixture
async def plane(database: Database) -> AsyncGenerator[Plane]:
    opened = await open_plane(graph=parse_graph(GRAPH), db=database.url)
    try:
        yield opened
    finally:
        await opened.stop()


@pytest.fixture
async def api(plane: Plane) -> AsyncGenerator[Caller]:
    async with served(plane) as caller:
        yield caller
