"""Both clients and a real control plane: every method, its answer, and the refusals that people meet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import pytest

from stateous.client import AsyncClient, Client, calls
from stateous.client.answers import Checkpointed, GrantFlow, Responded
from stateous.model.refusals import (
    EventNotAllowed,
    InvalidContext,
    InvalidPayload,
    InvalidTokenId,
    Refusal,
    ResponseNotAwaited,
    StaleRevision,
    StepOpen,
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


async def test_a_routine_writes_steps_and_somebody_answers(ask: Ask) -> None:
    await ask("start", "A", {"title": "x"})
    (grant,) = await ask("send", calls.claim("box", ["draft"], "r"))
    assert grant.flow == GrantFlow(revision=0)
    more = {"attempt": grant.attempt, "supervisor": "box"}
    done = await ask("checkpoint", grant.task, "charge", revision=0, result={"n": 2**70}, **more)
    assert done == Checkpointed(1)
    fields: calls.StepFields = {"timeout": "2h", "supervisor": "box"}
    label = calls.checkpoint(grant.task, "label", "response", fields, attempt=1, revision=1)
    opened = await ask("send", label)
    assert opened.correlation is not None
    with pytest.raises(StepOpen):
        await ask("checkpoint", grant.task, "other", revision=2, **more)
    await ask("report", grant.task, awaiting=["label"], supervisor="box")
    await ask("respond", opened.correlation, status="progress", message="printing")
    answered = await ask("respond", opened.correlation, {"url": "u"})
    assert answered == Responded("A", "draft", "label", duplicate=False)
    assert (await ask("respond", opened.correlation)).duplicate
    for odd in ("nobody", "", "a/b", "\ud800"):
        with pytest.raises(ResponseNotAwaited):
            await ask("respond", odd)
    flow = await ask("flow", "A")
    assert (flow.revision, flow.status_name, flow.last_message) == (3, "Running", "printing")
    assert flow.steps["label"].result_json == '{"url":"u"}'
    (again,) = await ask("send", calls.claim("box", ["draft"], "r2"))
    assert again.flow is not None
    assert again.flow.steps["charge"].result == {"n": 2**70}
    with pytest.raises(StaleRevision):
        await ask("checkpoint", again.task, "x", attempt=2, revision=1)
    failed = await ask("report", again.task, error="stolen", final=True, attempt=2)
    assert failed.status == "failed"
