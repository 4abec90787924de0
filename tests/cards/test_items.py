"""Business items over HTTP: acquired by one, done once, failed when the attempt ends; each as the life cycle allows."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from tests.api.caller import Reply
from tests.cards.served import Served

Json = dict[str, Any]

GRAPH: Json = {
    "stateous": 1,
    "workflow": "billing",
    "states": {
        "dispatch": {
            "emits": ["sent", "again"],
            "retries": 2,
            "state_log": {
                "handler": "built-in",
                "scope": "element",
                "options": {"retention": "90d", "lock": "30m"},
            },
        },
        "plain": {"emits": ["sent"]},
        "own": {"emits": ["sent"], "state_log": {"handler": "redis", "options": {"url": "r"}}},
        "visit": {"emits": ["sent", "again"], "state_log": {"scope": "execution"}},
    },
    "events": {"sent": {}, "again": {}},
    "transitions": [
        {"from": "__start__", "to": "dispatch", "when": "ctx['to'] == null"},
        {"from": "__start__", "to": "plain", "when": "ctx['to'] == 'plain'"},
        {"from": "__start__", "to": "own", "when": "ctx['to'] == 'own'"},
        {"from": "__start__", "to": "visit", "when": "ctx['to'] == 'visit'"},
        {"from": "dispatch", "to": "__end__", "on": "sent"},
        {"from": "dispatch", "to": "dispatch", "on": "again"},
        {"from": "visit", "to": "visit", "on": "again"},
        *({"from": state, "to": "__end__", "on": "sent"} for state in ("plain", "own", "visit")),
    ],
    "schemas": {},
}


async def working(served: Served, token: str, **context: Any) -> int:
    """The claimed task of a new token."""
    await served.start(token, **context)
    task = (await served.claim())["task"]
    await served.read_up(token)
    return task


async def call(served: Served, task: int, what: str, *items: Json | str, **fields: Any) -> Reply:
    sent = [
        {"item": each, "entity": "invoice"} if isinstance(each, str) else each for each in items
    ]
    body = {"attempt": 1, "items": sent, **fields}
    return await served.post(f"/tasks/{task}/items/{what}", body)


async def ask(served: Served, task: int, what: str, *items: Json | str, **fields: Any) -> list[Any]:
    """What is answered for each item."""
    reply = await call(served, task, what, *items, **fields)
    assert reply.status == 200, reply.json
    return reply.json["items"]


async def stored(served: Served, **asked: str) -> list[Json]:
    query = "&".join(f"{name}={value}" for name, value in asked.items())
    reply = await served.api.get(f"/items?{query}")
    assert reply.status == 200, reply.json
    return reply.json["items"]


async def statuses(served: Served) -> dict[str, str]:
    return {item["item"]: item["status"] for item in await stored(served)}


async def changes(served: Served, item: str) -> list[Json]:
    asked = f"scope=element&place=dispatch&entity=invoice&item={item}"
    reply = await served.api.get(f"/items/history?{asked}")
    assert reply.status == 200, reply.json
    return reply.json["changes"]


def said(reply: Reply) -> tuple[int, str]:
    return reply.status, reply.json["code"]


def done(item: str, **fields: Any) -> Json:
    return {"item": item, "entity": "invoice", "status": "processed", **fields}


async def test_an_item_is_acquired_by_one_and_done_once(served: Served) -> None:
    mine, other = await working(served, "A"), await working(served, "B")
    assert await ask(served, mine, "exists", "INV-1") == [{"exists": False}]
    assert await ask(served, mine, "acquire", "INV-1") == [{"outcome": "acquired"}]
    until = served.clock.now.isoformat()[:10]
    (busy,) = await ask(served, other, "acquire", "INV-1")
    assert busy["outcome"] == "busy"
    assert busy["until"].startswith(until)
    assert await ask(served, mine, "exists", "INV-1") == [{"exists": False}]
    receipt = {"number": 2**70, "at": 1.0}
    assert await ask(served, mine, "set", done("INV-1", data=receipt)) == [{"status": "processed"}]
    assert await ask(served, other, "exists", "INV-1") == [{"exists": True}]
    assert await ask(served, other, "acquire", "INV-1") == [
        {"outcome": "done", "status": "processed", "data": receipt}
    ]
    named = {"task": mine, "item": "INV-1", "entity": "invoice"}
    assert await served.news("A") == [("item_acquired", named), ("item_processed", named)]
    assert await served.news("B") == []
    (item,) = await stored(served)
    assert item == {
        "scope": "element",
        "place": "dispatch",
        "entity": "invoice",
        "item": "INV-1",
        "status": "processed",
        "data": receipt,
        "reason": None,
        "token": "A",
        "seq": item["seq"],
        "task": mine,
        "attempt": 1,
        "lockedUntil": None,
        "changedAt": item["changedAt"],
        "expiresAt": item["expiresAt"],
    }
    assert [change["status"] for change in await changes(served, "INV-1")] == [
        "processing",
        "processed",
    ]


async def test_a_call_of_many_items_is_one_entry_and_all_or_nothing(served: Served) -> None:
    mine, other = await working(served, "A"), await working(served, "B")
    names = [f"I{number}" for number in range(20)]
    assert await ask(served, other, "acquire", "I7") == [{"outcome": "acquired"}]
    told = await ask(served, mine, "acquire", *names)
    assert [each["outcome"] for each in told] == ["acquired"] * 7 + ["busy"] + ["acquired"] * 12
    assert await served.news("A") == [
        ("item_acquired", {"task": mine, "items": 19, "entity": "invoice"})
    ]
    reply = await call(served, mine, "set", *(done(name) for name in names))
    assert said(reply) == (409, "item_busy")
    assert "'I7'" in reply.json["error"]
    assert set((await statuses(served)).values()) == {"processing"}
    assert await served.news("A") == []
    await ask(served, mine, "set", *(done(name) for name in names if name != "I7"))
    assert await served.news("A") == [
        ("item_processed", {"task": mine, "items": 19, "entity": "invoice"})
    ]


@pytest.mark.parametrize("how", ["again", "failed", "released", "lease", "cancel", "paused"])
async def test_the_end_of_an_attempt_fails_what_it_had_locked(served: Served, how: str) -> None:
    mine = await working(served, "A")
    await ask(served, mine, "acquire", "INV-1", "INV-2", "INV-3")
    await ask(served, mine, "set", done("INV-2"))
    match how:
        case "again":
            await served.report(mine, event="again")
        case "failed":
            await served.report(mine, "failed", error="no paper")
        case "released":
            await served.post("/tasks/release", {"supervisor": "build-box-1", "tasks": [mine]})
        case "lease":
            await served.pass_by(minutes=3)
        case "cancel":
            await served.steer("A", "cancel")
        case _:
            await served.steer("A", "pause")
            await served.report(mine, event="sent")
    assert await statuses(served) == {"INV-1": "failed", "INV-2": "processed", "INV-3": "failed"}
    failed = {
        "task": mine,
        "items": 2,
        "entity": "invoice",
        "reason": "the attempt ended",
    }
    assert ("item_failed", failed) in await served.news("A")
    assert (await changes(served, "INV-1"))[-1]["reason"] == "the attempt ended"


async def test_who_waits_keeps_his_locks_and_a_later_attempt_completes_them(served: Served) -> None:
    mine, other = await working(served, "A"), await working(served, "B")
    await ask(served, mine, "acquire", "INV-1", "INV-2")
    await served.wait(mine)
    (busy,) = await ask(served, other, "acquire", "INV-1")
    assert busy["outcome"] == "busy"
    reply = await call(served, mine, "set", done("INV-1"))
    assert said(reply) == (409, "task_not_held")
    await served.report(mine, event="sent", attempt=1)
    assert set((await statuses(served)).values()) == {"failed"}


async def test_who_is_not_on_the_task_any_more_is_refused(served: Served) -> None:
    mine = await working(served, "A")
    await served.report(mine, "failed", error="no paper")
    again = await served.claim()
    assert again["attempt"] == 2
    assert said(await call(served, mine, "acquire", "INV-1")) == (409, "attempt_over")
    assert said(await call(served, mine, "acquire", "INV-1", attempt=3)) == (409, "task_not_held")
    assert said(await call(served, mine, "acquire", "INV-1", attempt=2, supervisor="x")) == (
        409,
        "task_not_held",
    )
    assert said(await call(served, 999, "acquire", "INV-1")) == (404, "task_not_found")
    assert await stored(served) == []


@pytest.mark.parametrize("to", ["plain", "own"])
async def test_a_task_without_a_state_log_of_ours_has_no_items(served: Served, to: str) -> None:
    mine = await working(served, "A", to=to)
    for what in ("exists", "acquire", "set", "release", "upsert"):
        reply = await call(served, mine, what, done("INV-1"))
        assert said(reply) == (409, "no_state_log")


async def test_a_grant_says_where_its_items_are(served: Served) -> None:
    await served.start("A")
    assert (await served.claim())["stateLog"] == {
        "handler": "built-in",
        "scope": "element",
        "scopeId": 4,
        "place": "dispatch",
        "options": {"retention": "90d", "lock": "30m"},
        "tenant": "default",
        "app": "default",
    }
    await served.start("P", to="plain")
    assert (await served.claim())["stateLog"] is None
    await served.start("V", to="visit")
    granted = await served.claim()
    assert (granted["stateLog"]["scopeId"], granted["stateLog"]["place"]) == (5, "V/visit/1")
    await ask(served, granted["task"], "acquire", "INV-1")
    (item,) = await stored(served)
    assert (item["scope"], item["place"]) == ("execution", "V/visit/1")


async def test_a_lock_that_ran_out_is_ended_by_the_clock(served: Served) -> None:
    mine = await working(served, "A")
    await working(served, "B")
    await ask(served, mine, "acquire", "INV-1", "INV-2")
    await served.wait(mine)
    await served.read_up("A")
    await served.pass_by(minutes=30)
    assert set((await statuses(served)).values()) == {"processing"}
    await served.pass_by(seconds=1)
    assert set((await statuses(served)).values()) == {"failed"}
    assert await served.news("A") == [
        (
            "item_failed",
            {"task": mine, "items": 2, "entity": "invoice", "reason": "the lock ran out"},
        )
    ]
    again = await served.claim()
    (acquired,) = await ask(served, again["task"], "acquire", "INV-1", attempt=again["attempt"])
    assert acquired == {"outcome": "acquired", "reason": "the lock ran out"}


async def test_who_comes_after_a_lock_ran_out_need_not_wait_for_the_clock(served: Served) -> None:
    mine = await working(served, "A")
    await ask(served, mine, "acquire", "INV-1", "INV-2")
    await served.wait(mine)
    served.clock.forward(minutes=30, seconds=1)
    other = await working(served, "B")
    assert await ask(served, other, "acquire", "INV-1") == [
        {"outcome": "acquired", "reason": "the lock ran out"}
    ]
    told = [(each["status"], each["token"]) for each in await changes(served, "INV-1")]
    assert told == [("processing", "A"), ("failed", "A"), ("processing", "B")]


async def test_what_was_kept_long_enough_is_forgotten(served: Served) -> None:
    mine = await working(served, "A")
    names = [f"I{number:04}" for number in range(1200)]
    await ask(served, mine, "upsert", *names)
    await served.pass_by(days=89)
    assert await ask(served, mine, "exists", "I0000") == [{"exists": True}]
    served.clock.forward(days=1)
    assert await ask(served, mine, "exists", "I0000") == [{"exists": False}]
    await served.pass_by(days=0)
    assert {item["status"] for item in await stored(served, limit="1000")} == {"expired"}
    assert await stored(served, limit="1000", status="processed") == []


@pytest.mark.parametrize("cursor", ["", "x", "null", "[4]", '[0,"","",""]', f'[{10**30},"","",""]'])
async def test_a_page_begins_only_where_the_one_before_ended(served: Served, cursor: str) -> None:
    reply = await served.api.get(f"/items?after={quote(cursor)}")
    assert said(reply) == (422, "invalid_argument")
