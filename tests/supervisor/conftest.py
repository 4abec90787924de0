"""A control plane of the test's own, over HTTP, on each kind of database; and retries without the waiting."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import timedelta

import pytest

from stateous.client import AsyncClient, patience
from tests.client.planes import serving
from tests.databases import Database


@pytest.fixture
def lease_for() -> timedelta:
    """How long a lease lasts; a test may have its own."""
    return timedelta(seconds=120)


@pytest.fixture
async def url(database: Database, lease_for: timedelta) -> AsyncGenerator[str, None]:
    """The URL of a control plane that serves `orders`."""
    async with serving(database, lease_for=lease_for) as served:
        yield served


@pytest.fixture
async def client(url: str) -> AsyncGenerator[AsyncClient, None]:
    async with AsyncClient(url) as made:
        yield made


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits between tries are a hundredth of what they are."""
    monkeypatch.setattr(patience, "WAITS", tuple(wait / 100 for wait in patience.WAITS))
