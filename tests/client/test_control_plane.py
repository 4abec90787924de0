"""Both clients and a real control plane: every method, its answer, and the refusals that people meet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import pytest

from stateous.client import AsyncClient, Client
from stateous.model.refusals import (
    EventNotAllowed,
    InvalidContext,
    InvalidPayload,
    InvalidTokenId,
    Refusal,
    TaskNotFound,
    TaskNotHeld,
    TokenNotActive,
    TokenNotFound,
)
from tests.client.planes import serving
from tests.databases import Database

Ask = Callable[..., Awaitable[Any]]


@pytest.fixture
async def ask(database: Database, use: Callable[..., Any]) -> AsyncGenerator[Ask, None]:
    """Call with the method's name and its values: it is called in a thread, as a program outside does."""
    async with serving(database) as url:

        async def call(method: str, *values: Any, **named: Any) -> Any:
            return await asyncio.to_thread(use, url, method, *values, **named)

        yield call


async def test_a_token_is_started_moved_steered_and_looked_at(ask: Ask) -> None:
    assert (await ask("start", "A", {"title": "x", "n": 10**399, "f": 1.0})).created
    again = await ask("start", "A")
    assert (again.created, again.context) == (False, {"title": "x", "n": 10**399, "f": 1.0})
    assert (await ask("pause", "A")).status == "paused"
    assert (await ask("resume", "A")).status == "active"
    fired = await ask("fire", "A", "submitted", key="k")
    assert (fired.state, fired.duplicate) == ("review", False)
    assert (await ask("fire", "A", "submitted", key="k")).duplicate
    assert (await ask("fire", "A", "reviewed", {"approved": True})).status == "completed"
    await ask("start", "B")
    assert (await ask("cancel", "B")).status == "cancelled"
    assert [token.token for token in await ask("tokens", status="completed")] == ["A"]
    assert len(await ask("tokens", limit=1)) == 1
    entries = await ask("history", "A")
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    assert (await ask("history", "A", after=2, limit=1)) == entries[2:3]
    health = await ask("health")
    assert (health.workflow, health.lease_for) == ("orders", 120)
    assert (await ask("workflow"))["workflow"] == "orders"


REFUSED: list[tuple[str, tuple[Any, ...], dict[str, Any], type[Refusal]]] = [
    ("get", ("B",), {}, TokenNotFound),
    ("get", ("a b/../c",), {}, TokenNotFound),
    ("get", ("é ?#%41",), {}, TokenNotFound),
    ("get", ("x" * 5000,), {}, TokenNotFound),
    ("history", ("a",), {}, TokenNotFound),
    ("pause", ("B",), {}, TokenNotFound),
    ("start", ("a",), {}, InvalidTokenId),
    ("start", ("",), {}, InvalidTokenId),
    ("start", ("B", {"title": 7}), {}, InvalidContext),
    ("start", ("B", {"title": "\x00"}), {}, InvalidContext),
    ("fire", ("A", "nothing"), {}, EventNotAllowed),
    ("fire", ("A", "a\x00b ?"), {}, EventNotAllowed),
    ("fire", ("A", "timeout"), {}, EventNotAllowed),
    ("fire", ("A", "reviewed", {"approved": "perhaps"}), {}, InvalidPayload),
    ("fire", ("A", "submitted"), {"key": "k" * 257}, InvalidPayload),
    ("fire", ("A", "submitted"), {"key": ""}, InvalidPayload),
    ("fire", ("A", "submitted"), {"key": "a\r\nb: c"}, InvalidPayload),
    ("fire", ("A", "submitted"), {"key": "\ud800"}, InvalidPayload),
    ("resume", ("A",), {}, TokenNotActive),
    ("report", (99, "submitted"), {}, TaskNotFound),
    ("report", (2**80, "submitted"), {}, TaskNotFound),
    ("report", (1, "submitted"), {}, TaskNotHeld),
]


async def test_refusals_come_back_as_their_classes(ask: Ask) -> None:
    await ask("start", "A", {"title": "x"})
    for method, values, named, kind in REFUSED:
        with pytest.raises(Refusal) as caught:
            await ask(method, *values, **named)
        assert type(caught.value) is kind, (method, values)


async def test_a_key_is_the_same_key_for_both_clients(database: Database) -> None:
    async with serving(database) as url, AsyncClient(url) as client:
        await client.start("A")
        await client.fire("A", "submitted", key="é 😀")

        def again() -> bool:
            with Client(url) as other:
                return other.fire("A", "submitted", key="é 😀").duplicate

        assert await asyncio.to_thread(again)
