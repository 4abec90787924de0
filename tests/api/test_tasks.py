"""Tasks over HTTP, on both databases: claimed, kept alive, reported, noted, remembered."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.api.caller import Caller
from tests.api.story import claim, fire, history_of, kinds_of, report, start

NO_TASK = (404, "task_not_found")
NOT_HELD = (409, "task_not_held")
OVER = (409, "attempt_over")
BAD_PAYLOAD = (422, "invalid_payload")


async def test_a_claim_grants_all_that_a_routine_needs(api: Caller) -> None:
    assert await claim(api, "s") is None
    token = await start(api, "T")
    grant = await claim(api, "s")
    task = grant.pop("task")
    assert isinstance(task, int)
    assert grant == {
        "token": "T",
        "state": "draft",
        "visit": 1,
        "attempt": 1,
        "context": token["context"],
        "memory": {},
        "entered_by": {"name": "__started__"},
        "flow": {"revision": 0, "steps": {}},
        "ambient": None,
        "stateLog": None,
    }
    assert await claim(api, "s") is None


async def test_a_claim_takes_the_lowest_task_of_its_states(api: Caller) -> None:
    for token in ("A", "B", "C"):
        await start(api, token)
    await fire(api, "A", "submitted")
    assert await claim(api, "s", "nothing", "orders/draft") is None
    assert (await claim(api, "s", "draft"))["token"] == "B"
    assert (await claim(api, "s", "/review"))["token"] == "A"
    await api.post("/tokens/C/pause")
    assert await claim(api, "s") is None


async def test_a_childs_state_has_its_workflow_before_it(api: Caller) -> None:
    await start(api, "P")
    await fire(api, "P", "split")
    assert await claim(api, "s", "look", "check", "/check/look") is None
    grant = await claim(api, "s", "check/look")
    assert (grant["state"], grant["token"]) == ("check/look", "P.checks.1.check")
    await report(api, grant, "looked")
    parent = (await api.get("/tokens/P")).json
    assert (parent["state"], parent["visit"]) == ("review", 1)
    joined = (await claim(api, "s", "review"))["entered_by"]
    assert joined["name"] == "joined"
    assert joined["payload"]["branches"][0]["status"] == "completed"


async def test_a_claim_with_max_is_answered_with_a_list(api: Caller) -> None:
    assert await claim(api, "s", max=2) is None
    for token in ("A", "B", "C"):
        await start(api, token)
    grants = (await claim(api, "s", max=2))["grants"]
    assert [grant["token"] for grant in grants] == ["A", "B"]
    assert [grant["token"] for grant in (await claim(api, "s", max=1000))["grants"]] == ["C"]


async def test_the_same_request_gives_the_same_grant(api: Caller) -> None:
    await start(api, "A")
    await start(api, "B")
    first = await claim(api, "s", request="r-1")
    assert await claim(api, "s", "review", request="r-1") == first
    assert (await claim(api, "other", request="r-1"))["token"] == "B"
    assert await claim(api, "s", request="r-2") is None
    assert await claim(api, "s", request="r-1") is None
    assert (await kinds_of(api, "A")).count("task_claimed") == 1


async def test_no_task_is_given_twice(api: Caller) -> None:
    for number in range(10):
        await start(api, f"T-{number}")
    grants = await asyncio.gather(*(claim(api, f"s-{number}") for number in range(20)))
    tasks = [grant["task"] for grant in grants if grant is not None]
    assert len(tasks) == len(set(tasks)) == 10


async def test_a_heartbeat_tells_what_is_lost(api: Caller) -> None:
    await start(api, "A")
    task = (await claim(api, "s"))["task"]
    body = {"supervisor": "s", "tasks": [2**63 - 1, task, 10**6, 10**6]}
    assert (await api.post("/tasks/heartbeat", body)).json == {"lost": [10**6, 2**63 - 1]}
    other = {"supervisor": "other", "tasks": [task]}
    assert (await api.post("/tasks/heartbeat", other)).json == {"lost": [task]}
    assert (await api.post("/tasks/heartbeat", {"supervisor": "s", "tasks": []})).json == {
        "lost": []
    }
    await api.post("/tokens/A/pause")
    assert (await api.post("/tasks/heartbeat", {"supervisor": "s", "tasks": [task]})).json == {
        "lost": []
    }
    await api.post("/tokens/A/cancel")
    assert (await api.post("/tasks/heartbeat", {"supervisor": "s", "tasks": [task]})).json == {
        "lost": [task]
    }


async def test_an_unknown_task_is_not_found(api: Caller) -> None:
    for task in (0, 10**6, 2**63 - 1):
        waiting = {"kind": "waiting", "supervisor": "s"}
        assert (await api.post(f"/tasks/{task}/report", waiting)).refusal == NO_TASK
        assert (await api.post(f"/tasks/{task}/note", {"text": "x"})).refusal == NO_TASK
        memory = {"key": "k", "value": 1}
        assert (await api.put(f"/tasks/{task}/memory", memory)).refusal == NO_TASK


async def test_only_who_works_on_a_task_may_speak_of_it(api: Caller) -> None:
    await start(api, "T")
    (queued,) = [
        e["data"]["task"] for e in await history_of(api, "T") if e["kind"] == "task_queued"
    ]
    path = f"/tasks/{queued}"
    failed = {"kind": "failed", "error": "x"}
    assert (await api.post(f"{path}/report", failed)).refusal == NOT_HELD
    assert (await api.post(f"{path}/note", {"text": "x"})).refusal == NOT_HELD
    await claim(api, "s")
    assert (await api.post(f"{path}/report", {**failed, "attempt": 2})).refusal == NOT_HELD
    assert (await api.post(f"{path}/report", {**failed, "attempt": 2**70})).refusal == NOT_HELD
    assert (await api.post(f"{path}/report", {**failed, "supervisor": "o"})).refusal == NOT_HELD
    assert (await api.post(f"{path}/report", {"kind": "waiting"})).refusal == NOT_HELD
    before = await kinds_of(api, "T")
    event = {"kind": "event", "event": "submitted", "supervisor": "s", "attempt": 1}
    assert (await api.post(f"{path}/report", event)).json["state"] == "review"
    assert (await api.post(f"{path}/report", event)).refusal == NOT_HELD
    assert before == (await kinds_of(api, "T"))[: len(before)]


async def test_an_older_attempt_is_over(api: Caller) -> None:
    await start(api, "T")
    await fire(api, "T", "submitted")
    first = await claim(api, "s")
    path = f"/tasks/{first['task']}"
    retried = await api.post(f"{path}/report", {"kind": "failed", "error": "a\0b"})
    assert retried.json["status"] == "active"
    assert (await history_of(api, "T"))[-2]["data"]["error"] == "a\ufffdb"
    second = await claim(api, "s")
    assert (second["task"], second["attempt"]) == (first["task"], 2)
    old: dict[str, Any] = {"attempt": 1}
    assert (
        await api.post(f"{path}/report", {"kind": "failed", "error": "x", **old})
    ).refusal == OVER
    assert (await api.post(f"{path}/note", {"text": "x", **old})).refusal == OVER
    assert (await api.put(f"{path}/memory", {"key": "k", "value": 1, **old})).refusal == OVER
    failed = await api.post(f"{path}/report", {"kind": "failed", "error": "", "attempt": 2})
    assert (failed.status, failed.json["status"]) == (200, "failed")


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        ({"event": "reviewed", "payload": {"approved": True}}, (409, "event_not_allowed")),
        ({"event": "nothing"}, (409, "event_not_allowed")),
        ({"event": "submitted", "context": {"title": 1}}, (422, "invalid_context")),
        ({"event": "submitted", "context": {"title": None}}, (422, "invalid_context")),
        ({"event": "submitted", "context": {"x": "\0"}}, (422, "invalid_context")),
        ({"event": "submitted", "payload": {"x": 1}}, BAD_PAYLOAD),
        ({"event": "submitted", "payload": {"x": "\0"}}, BAD_PAYLOAD),
        ({"event": "submitted", "schedules": [{"event": "timeout", "after": "1s"}]}, BAD_PAYLOAD),
        ({"event": "submitted", "schedules": [{"event": "nothing", "after": "1s"}]}, BAD_PAYLOAD),
        ({"event": "submitted", "schedules": [{"event": "reviewed", "after": "1s"}]}, BAD_PAYLOAD),
    ],
)
async def test_a_report_that_is_refused_saves_no_change(
    api: Caller, body: dict[str, Any], refusal: tuple[int, str]
) -> None:
    await start(api, "T")
    task = (await claim(api, "s"))["task"]
    before = await kinds_of(api, "T")
    reply = await api.post(f"/tasks/{task}/report", {"kind": "event", **body})
    assert reply.refusal == refusal
    recorded = ["event_rejected"] if refusal[0] == 409 else []
    assert await kinds_of(api, "T") == before + recorded
    assert (await api.get("/tokens/T")).json["context"] == {"title": "a", "size": 1}


async def test_a_waiting_task_keeps_what_it_brought(api: Caller) -> None:
    await start(api, "T")
    task = (await claim(api, "s"))["task"]
    body = {
        "kind": "waiting",
        "supervisor": "s",
        "context": {"size": 2**70},
        "schedules": [{"event": "submitted", "after": "6h"}],
    }
    waiting = await api.post(f"/tasks/{task}/report", body)
    assert waiting.json["context"] == {"title": "a", "size": 2**70}
    assert (await kinds_of(api, "T"))[-3:] == ["context_changed", "timer_set", "task_waiting"]
    assert (await fire(api, "T", "submitted"))["state"] == "review"


async def test_notes_and_memory_are_kept(api: Caller) -> None:
    await start(api, "T")
    await fire(api, "T", "submitted")
    task = (await claim(api, "s"))["task"]
    note = await api.post(f"/tasks/{task}/note", {"text": "  half way ", "attempt": 1})
    assert (note.status, note.body) == (204, b"")
    for key, value in (
        ("k", {"a": 1.0}),
        ("é" * 128, 2**70),
        ("gone", 1),
        ("gone", None),
        ("none", None),
    ):
        stored = await api.put(f"/tasks/{task}/memory", {"key": key, "value": value})
        assert (stored.status, stored.body) == (204, b"")
    entries = (await history_of(api, "T"))[-5:]
    assert entries[0]["data"] == {"task": task, "text": "half way"}
    assert [entry["kind"] for entry in entries[1:]] == ["memory_set"] * 3 + ["memory_deleted"]
    assert entries[1]["data"] == {"state": "review", "memory_key": "k"}
    await api.post(f"/tasks/{task}/report", {"kind": "failed", "error": "x"})
    grant = await claim(api, "s")
    assert grant["memory"] == {"k": {"a": 1.0}, "é" * 128: 2**70}
    await report(api, grant, "reviewed", {"approved": False})
    assert (await claim(api, "s"))["memory"] == {}
