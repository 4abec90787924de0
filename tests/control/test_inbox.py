"""What programs ask for by SQL is done by a control plane: once, in order, and poison is refused where it lies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from stateous.control import inbox
from stateous.control.compose import open_plane
from stateous.control.plane import Plane
from stateous.engine.commands import Claim, Pause, Start
from stateous.model.graph import parse_graph
from stateous.model.refusals import TokenNotFound
from tests.databases import Clock, Database
from tests.engine.graphs import ORDERS
from tests.store.calls import Program, program

TITLE = '{"title": "Chair"}'


@asynccontextmanager
async def served(
    database: Database, clock: Clock, document: dict[str, Any] = ORDERS
) -> AsyncGenerator[Plane]:
    """A control plane that looks into its inbox only when it is told to."""
    plane = await open_plane(
        graph=parse_graph(document),
        db=database.url,
        lease_for=timedelta(seconds=120),
        clock=clock,
    )
    try:
        yield plane
    finally:
        await plane.stop()


@pytest.fixture
async def plane(
    postgres: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Plane]:
    monkeypatch.setattr(inbox, "LOOK_EVERY", 3600.0)
    async with served(postgres, clock) as made:
        yield made


@pytest.fixture
async def shop(postgres: Database) -> AsyncGenerator[Program]:
    async with program(postgres) as made:
        yield made


async def kinds(plane: Plane, token: str) -> list[str]:
    return [entry.kind for entry in await plane.history(token)]


async def test_a_start_and_an_event_are_done_as_if_they_had_come_by_http(
    plane: Plane, shop: Program, clock: Clock
) -> None:
    await shop.start("A", TITLE)
    await shop.fire("A", "submitted")
    assert await shop.inbox("kind", "token", "event", "status", "settled_at") == [
        ("start", "A", None, "pending", None),
        ("fire", "A", "submitted", "pending", None),
    ]
    await plane.inbox.empty()
    found = await shop.inbox("status", "duplicate", "code", "why", "settled_at")
    assert found == [("applied", False, None, None, clock())] * 2
    assert (await plane.token("A")).context["title"] == "Chair"
    assert (await kinds(plane, "A"))[:2] == ["started", "event_accepted"]
    assert "submitted" in [entry.data.get("event") for entry in await plane.history("A")]


async def test_what_was_rolled_back_never_happens(plane: Plane, shop: Program) -> None:
    await shop.run("begin")
    await shop.start("A", TITLE)
    await plane.inbox.empty()
    await shop.run("rollback")
    await plane.inbox.empty()
    with pytest.raises(TokenNotFound):
        await plane.token("A")
    assert await shop.inbox("id") == []


async def test_nothing_is_done_before_the_commit(plane: Plane, shop: Program) -> None:
    await shop.run("begin")
    await shop.start("A", TITLE)
    await plane.inbox.empty()
    with pytest.raises(TokenNotFound):
        await plane.token("A")
    await shop.run("commit")
    await plane.inbox.empty()
    assert (await plane.token("A")).state == "draft"


async def test_what_was_done_before_is_a_duplicate(plane: Plane, shop: Program) -> None:
    await plane.submit(Start("A", {"title": "Chair"}))
    await shop.start("A", '{"title": 5}')
    await shop.fire("A", "submitted", None, "k")
    await shop.fire("A", "submitted", None, "k")
    await plane.inbox.empty()
    assert await shop.inbox("status", "duplicate", "why") == [
        ("applied", True, "the token was there already"),
        ("applied", False, None),
        ("applied", True, "the event with this key was there already"),
    ]
    assert (await kinds(plane, "A")).count("event_accepted") == 2


async def test_a_refusal_that_records_records_once(plane: Plane, shop: Program) -> None:
    await shop.start("A", TITLE)
    await shop.fire("A", "nudge")
    for _ in range(3):
        await plane.inbox.empty()
    assert (await kinds(plane, "A")).count("event_rejected") == 1
    rejected = next(e for e in await plane.history("A") if e.kind == "event_rejected")
    assert (await shop.inbox("status", "code", "why"))[1] == (
        "refused",
        "event_not_allowed",
        rejected.data["reason"],
    )


async def test_an_event_for_a_paused_token_is_held(plane: Plane, shop: Program) -> None:
    await plane.submit(Start("A", {"title": "Chair"}))
    await plane.submit(Pause("A"))
    await shop.fire("A", "submitted")
    await plane.inbox.empty()
    assert (await kinds(plane, "A"))[-1] == "event_deferred"
    assert await shop.inbox("status") == [("applied",)]


async def until_settled(shop: Program) -> None:
    """Return when nothing is pending."""
    async with asyncio.timeout(30):
        while ("pending",) in await shop.inbox("status"):
            pass


DEEP = "[" * 70 + "]" * 70
DEEPEST = '{"title": "x", "a": ' + "[" * 62 + "]" * 62 + "}"
POISON = [
    ("start('P', '[1]')", "invalid_context"),
    ("start('P', '7'::json)", "invalid_context"),
    ("start('P', '\"text\"'::jsonb)", "invalid_context"),
    ("""start('P', '{"title": 5}')""", "invalid_context"),
    ("""start('P', '{"title": "a\\u0000b"}')""", "invalid_context"),
    ("""start('P', '{"title": "\\ud800"}'::json)""", "bad_request"),
    ("""start('P', '{"title": 1e999}'::json)""", "bad_request"),
    ("""start('P', ('{"title": ' || repeat('9', 5000) || '}')::jsonb)""", "bad_request"),
    (f"""start('P', '{{"title": {DEEP}}}')""", "bad_request"),
    ("""start('P', '{"title": "' || repeat('x', 1048576) || '"}')""", "bad_request"),
    ("start('', '{}')", "invalid_token_id"),
    ("start('no id', '{}')", "invalid_token_id"),
    ("start('A/../B', '{}')", "invalid_token_id"),
    ("start(repeat('x', 129), '{}')", "invalid_token_id"),
    ("start(repeat('é', 100000), '{}')", "invalid_token_id"),
    ("start(repeat('x', 2000000), '{}')", "bad_request"),
    ("start('good', '{\"title\": \"x\"}')", "invalid_token_id"),
    ("fire('nobody', 'submitted')", "token_not_found"),
    ("fire('', 'submitted')", "token_not_found"),
    ("fire('GOOD', '')", "event_not_allowed"),
    ("fire('GOOD', 'timeout')", "event_not_allowed"),
    ("fire('GOOD', E'a\\nb')", "event_not_allowed"),
    ("fire('GOOD', repeat('e', 2000000))", "bad_request"),
    ("fire('GOOD', 'submitted', '[]')", "invalid_payload"),
    ("fire('GOOD', 'submitted', '{\"n\": 1}')", "invalid_payload"),
    ("""fire('GOOD', 'submitted', '{"a": "\\u0000"}')""", "invalid_payload"),
    ("fire('GOOD', 'submitted', null, '')", "invalid_payload"),
    ("fire('GOOD', 'submitted', null, E'a\\tb')", "invalid_payload"),
    ("fire('GOOD', 'submitted', null, repeat('k', 257))", "invalid_payload"),
]


async def test_poison_is_refused_where_it_lies_and_the_rest_goes_on(
    plane: Plane, shop: Program
) -> None:
    await shop.start("GOOD", TITLE)
    for number, (call, _) in enumerate(POISON):
        await shop.run(f"select stateous.{call}")
        await shop.start(f"T{number}", DEEPEST)
    await shop.fire("GOOD", "submitted", "null")
    await plane.inbox.empty()
    found = await shop.inbox("status", "code")
    assert found[0] == found[-1] == ("applied", None)
    assert found[2:-1:2] == [("applied", None)] * len(POISON)
    assert found[1:-1:2] == [("refused", code) for _, code in POISON]
    why = [why for (why,) in await shop.inbox("why") if why is not None]
    assert len(why) == len(POISON)
    assert all(len(sentence) < 400 for sentence in why)
    assert (await plane.token("GOOD")).state != "draft"


async def test_rows_of_one_token_are_done_in_order_whatever_case_its_id_has(
    plane: Plane, shop: Program
) -> None:
    for _ in range(5):
        for token in ("a", "A", "b"):
            await shop.start(token, TITLE)
    await plane.inbox.empty()
    found = await shop.inbox("token", "status", "duplicate")
    assert found[:3] == [
        ("a", "applied", False),
        ("A", "refused", False),
        ("b", "applied", False),
    ]
    assert (
        found[3:] == [("a", "applied", True), ("A", "refused", False), ("b", "applied", True)] * 4
    )


async def test_many_rows_take_many_looks(plane: Plane, shop: Program) -> None:
    await shop.run("select stateous.start('T' || n, %s) from generate_series(1, 1000) n", TITLE)
    await plane.inbox.empty()
    # On a slow computer the look may have ended before the last was done.
    await until_settled(shop)
    assert set(await shop.inbox("status", "duplicate")) == {("applied", False)}
    assert len(await plane.tokens(limit=1000)) == 1000


async def test_large_rows_are_done_like_others(plane: Plane, shop: Program) -> None:
    for number in range(20):
        big = json.dumps({"title": "x" * 1_000_000})
        await shop.start(f"T{number}", big)
    await plane.inbox.empty()
    # Each is large enough that the look may have ended before the last was done.
    await until_settled(shop)
    assert await shop.inbox("status") == [("applied",)] * 20


async def test_a_task_of_such_a_token_wakes_who_waits(plane: Plane, shop: Program) -> None:
    claim = asyncio.create_task(plane.claim(Claim(supervisor="box", states=("draft",)), wait=30))
    while not plane.waiting:  # noqa: ASYNC110 - it is a matter of one turn of the loop
        await asyncio.sleep(0)
    await shop.start("A", TITLE)
    plane.inbox.wake()
    granted = await asyncio.wait_for(claim, 10)
    assert [grant.token for grant in granted.grants] == ["A"]


async def test_it_looks_by_itself(
    postgres: Database, clock: Clock, shop: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "LOOK_EVERY", 0.01)
    await shop.start("A", TITLE)
    async with served(postgres, clock):
        await until_settled(shop)
