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
    ItemMoveNotAllowed,
    ItemNotFound,
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


ITEMS: dict[str, Any] = {
    "stateous": 1,
    "workflow": "billing",
    "states": {
        "dispatch": {"emits": ["sent"], "state_log": {"scope": "app", "options": {"lock": "1h"}}}
    },
    "events": {"sent": {}},
    "transitions": [
        {"from": "__start__", "to": "dispatch"},
        {"from": "dispatch", "to": "__end__", "on": "sent"},
    ],
    "schemas": {},
}


async def test_business_items_are_acquired_done_and_looked_at(
    database: Database, use: Callable[..., Any]
) -> None:
    async with serving(database, graph=ITEMS) as url:

        async def ask(method: str, *values: Any, **named: Any) -> Any:
            return await asyncio.to_thread(use, url, method, *values, **named)

        await ask("start", "A")
        (grant,) = await ask("send", calls.claim("box", ["dispatch"], "r1"))
        log = grant.stateLog
        assert (log.handler, log.scope, log.scope_id, log.place) == (
            "built-in",
            "app",
            2,
            "default/default",
        )
        at = (log.scope, log.place)
        names = [{"item": "I-1", "entity": "invoice"}, {"item": "I-2"}]
        assert await ask("items_exist", grant.task, names) == (False, False)
        told = await ask("items", grant.task, "acquire", names, attempt=1, supervisor="box")
        assert [each.outcome for each in told] == ["acquired", "acquired"]
        done = [{**names[0], "status": "processed", "data": {"n": 2**70}}]
        assert (await ask("items", grant.task, "set", done, attempt=1))[0].status == "processed"
        (again,) = await ask("items", grant.task, "acquire", names[:1], attempt=1)
        assert (again.outcome, again.status, again.data) == ("done", "processed", {"n": 2**70})
        assert await ask("items_exist", grant.task, names) == (True, False)
        found = await ask("items_found", grant.task, [*names, {"item": "I-3"}])
        assert [each and (each.item, each.data) for each in found] == [
            ("I-1", {"n": 2**70}),
            ("I-2", None),
            None,
        ]
        page = await ask("stored_items", limit=1)
        assert [item.item for item in page.items] == ["I-2"]
        page = await ask("stored_items", limit=1, after=page.next, token="A")
        assert [(item.item, item.entity, item.data) for item in page.items] == [
            ("I-1", "invoice", {"n": 2**70})
        ]
        await ask("reset_item", *at, "I-2")
        told = [each.status for each in await ask("item_history", *at, "I-2")]
        assert told == ["processing", "failed"]
        await ask("expire_item", *at, "I-1", "invoice")
        assert await ask("items_exist", grant.task, names) == (False, False)
        with pytest.raises(ItemNotFound):
            await ask("item_history", *at, "I-1")
        with pytest.raises(ItemMoveNotAllowed, match="'I-2' is failed"):
            await ask(
                "items", grant.task, "set", [{"item": "I-2", "status": "processed"}], attempt=1
            )


async def test_operators_look_at_items_and_steer_them(
    database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    from stateous.cli.main import command

    async with serving(database, graph=ITEMS) as url:
        async with AsyncClient(url) as client:
            await client.start("A")
            (grant,) = await client.send(calls.claim("box", ["dispatch"], "r1"))
            items = [{"item": "I-1", "entity": "invoice"}, {"item": "I-2", "entity": "invoice"}]
            await client.items(grant.task, "acquire", items, attempt=1)
            done = [{**items[0], "status": "processed", "data": [1]}]
            await client.items(grant.task, "set", done, attempt=1)

        async def says(*arguments: str) -> str:
            code = await asyncio.to_thread(command, ["items", *arguments, "--url", url])
            assert code == 0, capsys.readouterr().err
            return capsys.readouterr().out

        app = ("--scope", "app", "--entity", "invoice")
        assert (await says("list")).splitlines() == [
            "app default/default: I-1 of invoice, processed by A",
            "app default/default: I-2 of invoice, processing by A",
        ]
        assert await says("reset", "default/default", "I-2", *app) == ""
        shown = (await says("show", "default/default", "I-2", *app)).splitlines()
        assert shown[0].endswith("  processing by A (entry 6)")
        assert shown[1].endswith("  failed: reset by an operator")
        assert await says("expire", "default/default", "I-1", *app) == ""
        listed = await says("list", "--status", "expired")
        assert listed == "app default/default: I-1 of invoice, expired\n"
        assert (await asyncio.to_thread(command, ["items", "show", "p", "i", "--url", url])) == 1
        assert "error: nothing is known of the item 'i' in 'p'" in capsys.readouterr().err
