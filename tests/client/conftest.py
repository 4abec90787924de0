"""Retries without the waiting, and both clients behind one way to call them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from stateous.client import AsyncClient, Client, patience

Use = Callable[..., Any]


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits between tries are a hundredth of what they are."""
    monkeypatch.setattr(patience, "WAITS", tuple(wait / 100 for wait in patience.WAITS))


@pytest.fixture(params=["blocking", "asyncio"])
def use(request: pytest.FixtureRequest) -> Use:
    """`use(url, "method", …)` makes a client, calls its method, and closes it."""
    return _blocking if request.param == "blocking" else _asyncio


def _blocking(url: str, method: str, *values: Any, timeout: float = 5.0, **named: Any) -> Any:
    with Client(url, timeout=timeout) as client:
        return getattr(client, method)(*values, **named)


def _asyncio(url: str, method: str, *values: Any, timeout: float = 5.0, **named: Any) -> Any:
    async def call() -> Any:
        async with AsyncClient(url, timeout=timeout) as client:
            return await getattr(client, method)(*values, **named)

    return asyncio.run(call())
