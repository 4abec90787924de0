"""Each test has a control plane of its own that serves the graph of its file, or the one it is parametrised with."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from stateous.control import ticking
from tests.cards.served import Served, serving
from tests.databases import Clock, Database


@pytest.fixture
def graph(request: pytest.FixtureRequest) -> dict[str, Any]:
    found: Any = request.node
    return found.module.GRAPH


@pytest.fixture
def only_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of the control plane looks when a test says so, and at no other time."""
    monkeypatch.setattr(ticking, "TICK_EVERY", 3600.0)


@pytest.fixture
async def served(
    database: Database, clock: Clock, graph: dict[str, Any], only_by_hand: None
) -> AsyncGenerator[Served]:
    async with serving(database, clock, graph) as opened:
        yield opened
