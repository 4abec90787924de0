"""Everything that cancelling a token can come to (docs/http.md, docs/ledger.md)."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import Any

import psycopg
import pytest

from tests.cards.entries import (
    CANCELLED,
    cancelled,
    dropped,
    rejected,
    task_cancelled,
)
from tests.cards.graphs import FAMILY, SDLC
from tests.cards.reports import claimed_task
from tests.cards.served import BOX, Served
from tests.databases import Database

GRAPH = SDLC
CHILD = (409, "child_token")
NOT_ACTIVE = (409, "token_not_active")
NOT_HELD = (409, "task_not_held")
NO_TOKEN = (404, "token_not_found")


async def test_a_cancelled_token_ends_with_its_task_and_its_timers(served: Served) -> None:
    await served.start("T")
    await served.fire("T", "coded")
    token = await served.token("T")
    task = await served.task("T")
    await served.read_up("T")
    served.clock.forward(minutes=1)
    reply = await served.post("/tokens/T/cancel")
    assert (reply.status, reply.json) == (200, {**token, "status": "cancelled"})
    assert await served.token("T") == reply.json
    assert await served.news("T") == [task_cancelled(task), CANCELLED]
    assert await served.claim() is None
    await served.pass_by(hours=3)
    assert await served.news("T") == []
    assert (await served.post("/tokens/T/events/coded")).refusal == NOT_ACTIVE
    assert await served.news("T") == [rejected("coded", "the token 'T' is cancelled")]


async def test_the_supervisor_of_a_claimed_task_learns_that_it_is_lost(served: Served) -> None:
    task = await claimed_task(served, events=("coded",))
    await served.steer("T", "cancel")
    assert await served.news("T") == [task_cancelled(task), CANCELLED]
    assert await served.beat(task) == [task]
    late: dict[str, Any] = {"attempt": 1, "supervisor": BOX}
    for kind in ({"kind": "failed", "error": "x"}, {"kind": "waiting"}):
        assert (await served.post(f"/tasks/{task}/report", {**kind, **late})).refusal == NOT_HELD
    assert (await served.post(f"/tasks/{task}/note", {"text": "x"})).refusal == NOT_HELD
    memory = {"key": "k", "value": 1}
    assert (await served.api.put(f"/tasks/{task}/memory", memory)).refusal == NOT_HELD
    # Its lease ends unnoticed.
    await served.pass_by(seconds=121)
    assert await served.news("T") == []


async def test_a_waiting_task_and_the_routines_timers_are_cancelled(served: Served) -> None:
    task = await claimed_task(served)
    await served.wait(task, schedules=[{"event": "coded", "after": "1m"}])
    await served.read_up("T")
    await served.steer("T", "cancel")
    assert await served.news("T") == [task_cancelled(task), CANCELLED]
    event = {"kind": "event", "event": "coded"}
    assert (await served.post(f"/tasks/{task}/report", event)).refusal == NOT_HELD
    await served.pass_by(minutes=1)
    assert await served.news("T") == []


async def test_the_memory_of_a_cancelled_family_is_deleted(served: Served) -> None:
    await served.start("T", size=0)
    await served.start("U")
    for _ in range(3):
        await served.remember((await served.claim())["task"], "k", 1)
    assert remembered(served.database) == 3
    await served.steer("T", "cancel")
    assert remembered(served.database) == 1
    await served.steer("U", "cancel")
    assert remembered(served.database) == 0


def remembered(database: Database) -> int:
    """How many keys are remembered for all tokens: of one that ended nobody is told any more."""
    if database.dialect == "sqlite":
        with contextlib.closing(
            sqlite3.connect(database.url.removeprefix("sqlite:///"))
        ) as connection:
            return connection.execute("select count(*) from memory").fetchone()[0]
    with psycopg.connect(database.url) as connection:
        found = connection.execute("select count(*) from stateous.memory").fetchone()
        assert found is not None
        return found[0]


async def test_the_live_children_are_cancelled_with_it(served: Served) -> None:
    await served.start("T", size=0)
    scan = (await served.claim())["task"]
    read = await served.task(FAMILY[3])
    await served.read_up(*FAMILY)
    assert (await served.steer("T", "cancel"))["status"] == "cancelled"
    assert await served.news("T") == [CANCELLED]
    why = "the parent was cancelled"
    assert await served.news(FAMILY[1]) == [task_cancelled(scan), cancelled(why)]
    assert await served.news(FAMILY[2]) == [cancelled(why)]
    assert await served.news(FAMILY[3]) == [
        task_cancelled(read),
        cancelled("the parent left 'inner': it was cancelled"),
    ]
    assert [await served.status(token) for token in FAMILY] == ["cancelled"] * 4
    assert await served.beat(scan) == [scan]
    assert await served.claim() is None


async def test_a_child_that_has_ended_is_let_alone(served: Served) -> None:
    await served.start("T", size=0)
    await served.fire(FAMILY[3], "liked")
    await served.read_up(*FAMILY)
    await served.steer("T", "cancel")
    assert await served.news(FAMILY[2]) == await served.news(FAMILY[3]) == []
    assert [await served.status(token) for token in FAMILY] == [
        "cancelled",
        "cancelled",
        "completed",
        "completed",
    ]


async def test_what_a_paused_token_holds_is_dropped(served: Served) -> None:
    task = await claimed_task(served)
    await served.steer("T", "pause")
    await served.fire("T", "again")
    await served.report(task, event="coded")
    await served.read_up("T")
    assert (await served.steer("T", "cancel"))["status"] == "cancelled"
    # The task was done as its outcome was held.
    why = "the token was cancelled"
    assert await served.news("T") == [dropped("again", why), dropped("coded", why), CANCELLED]
    assert (await served.post("/tokens/T/resume")).refusal == NOT_ACTIVE


async def test_what_is_held_for_paused_children_is_dropped(served: Served) -> None:
    await served.start("T", size=0)
    scan, read = [(await served.claim())["task"] for _ in range(2)]
    await served.steer("T", "pause")
    await served.report(scan, event="scanned", payload={"approved": True})
    await served.fire(FAMILY[3], "liked")
    await served.fire("T", "leave")
    await served.read_up(*FAMILY)
    await served.steer("T", "cancel")
    assert await served.news("T") == [dropped("leave", "the token was cancelled"), CANCELLED]
    why = "the parent was cancelled"
    nested = "the parent left 'inner': it was cancelled"
    assert await served.news(FAMILY[1]) == [dropped("scanned", why), cancelled(why)]
    assert await served.news(FAMILY[2]) == [cancelled(why)]
    assert await served.news(FAMILY[3]) == [
        dropped("liked", nested),
        task_cancelled(read),
        cancelled(nested),
    ]


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
async def test_an_ended_token_is_refused(served: Served, status: str) -> None:
    await served.start("T")
    if status == "cancelled":
        await served.steer("T", "cancel")
    elif status == "failed":
        await served.fire("T", "torn", {"approved": True, "note": "both"})
    else:
        await served.fire("T", "coded")
        await served.fire("T", "checked", {"approved": True})
    token = await served.token("T")
    await served.read_up("T")
    assert (await served.post("/tokens/T/cancel")).refusal == NOT_ACTIVE
    assert await served.news("T") == []
    assert await served.token("T") == token
    assert token["status"] == status


async def test_a_child_is_refused(served: Served) -> None:
    await served.start("T", size=0)
    await served.fire(FAMILY[3], "liked")
    await served.read_up(*FAMILY)
    # One that has ended, too.
    for child in FAMILY[1:]:
        assert (await served.post(f"/tokens/{child}/cancel")).refusal == CHILD
    assert [await served.news(token) for token in FAMILY] == [[], [], [], []]
    assert await served.status(FAMILY[1]) == "active"


async def test_a_token_that_nobody_has_is_not_found(served: Served) -> None:
    await served.start("T")
    await served.read_up("T")
    for token in ("U", "t"):
        assert (await served.post(f"/tokens/{token}/cancel")).refusal == NO_TOKEN
        assert not await served.exists(token)
    assert await served.news("T") == []
