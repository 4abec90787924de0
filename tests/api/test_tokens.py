"""Tokens over HTTP, on both databases: started, listed, told of, steered."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from tests.api.caller import Caller
from tests.api.story import claim, fire, history_of, kinds_of, report, start

NO_TOKEN = (404, "token_not_found")
BAD_CONTEXT = (422, "invalid_context")
BAD_ID = (422, "invalid_token_id")
BAD_PAYLOAD = (422, "invalid_payload")
NOT_ALLOWED = (409, "event_not_allowed")
NOT_ACTIVE = (409, "token_not_active")


async def test_a_token_is_started_and_told_of(api: Caller) -> None:
    reply = await api.post("/tokens", {"token": "T-1", "context": {"title": "a", "more": None}})
    assert reply.status == 201
    token = reply.json
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z", token.pop("entered_at"))
    assert token == {
        "token": "T-1",
        "state": "draft",
        "status": "active",
        "visit": 1,
        "context": {"title": "a", "more": None, "size": 1},
    }
    assert (await api.get("/tokens/T-1")).body == reply.body
    for unknown in ("T-2", "t-1", "T-1%20"):
        assert (await api.get(f"/tokens/{unknown}")).refusal == NO_TOKEN
        assert (await api.get(f"/tokens/{unknown}/history")).refusal == NO_TOKEN


async def test_a_second_start_changes_nothing(api: Caller) -> None:
    first = await api.post("/tokens", {"token": "T", "context": {"title": "a"}})
    for context in ({"title": "b"}, {"title": 1}, {}, None):
        again = await api.post("/tokens", {"token": "T", "context": context})
        assert (again.status, again.body) == (200, first.body)
    assert (await api.post("/tokens", {"token": "T", "context": []})).refusal == BAD_CONTEXT
    assert (await api.post("/tokens", {"token": "t", "context": {"title": 1}})).refusal == BAD_ID
    assert await kinds_of(api, "T") == ["started", "event_accepted", "entered", "task_queued"]


async def test_of_many_starts_at_once_exactly_one_makes_the_token(api: Caller) -> None:
    body = {"token": "T", "context": {"title": "a"}}
    replies = await asyncio.gather(*(api.post("/tokens", body) for _ in range(50)))
    assert sorted(reply.status for reply in replies) == [200] * 49 + [201]
    assert len({reply.body for reply in replies}) == 1


async def test_of_ids_that_differ_in_case_one_is_taken(api: Caller) -> None:
    ids = ("abc", "ABC", "Abc", "aBC")
    bodies = [{"token": token, "context": {"title": "a"}} for token in ids]
    replies = await asyncio.gather(*(api.post("/tokens", body) for body in bodies * 5))
    assert sorted(reply.status for reply in replies) == [200] * 4 + [201] + [422] * 15
    assert {reply.refusal for reply in replies if reply.status == 422} == {BAD_ID}


@pytest.mark.parametrize(
    "context", [None, {}, {"title": 1}, {"title": "a", "size": "b"}, {"title": "\0"}]
)
async def test_a_context_that_breaks_its_model_starts_nothing(api: Caller, context: Any) -> None:
    assert (await api.post("/tokens", {"token": "T", "context": context})).refusal == BAD_CONTEXT
    assert (await api.get("/tokens/T")).refusal == NO_TOKEN
    assert (await api.get("/tokens")).json == []


async def test_numbers_and_text_come_back_as_they_were_sent(api: Caller) -> None:
    digits = b"9" * 400
    sent = (
        b'{"title":"\\ud83d\\ude00 \\u2028 \\\\u0000","big":%s,"below":-%s,"power":1e16,"one":1.0,'
        b'"small":1e-300,"two70":1180591620717411303424,"deep":[[{"a":[null,true,-0.5]}]]}'
        % (digits, digits)
    )
    body = b'{"token":"T","context":%s}' % sent
    assert (await api.post("/tokens", body)).status == 201
    token = await api.get("/tokens/T")
    context = token.json["context"]
    assert context["title"] == "\U0001f600 \u2028 \\u0000"
    assert context["big"] == int(digits) == -context["below"]
    for literal in (
        b'"power":1e16,',
        b'"one":1.0,',
        b'"two70":1180591620717411303424,',
        b'"small":1e-300,',
    ):
        assert literal in token.body
    assert (await claim(api, "s"))["context"] == context
    assert (await history_of(api, "T"))[0]["data"] == {"context": context}


async def test_tokens_are_listed_newest_first_and_by_id(api: Caller) -> None:
    for token in ("b", "a", "C", "d"):
        await start(api, token)
    await fire(api, "a", "submitted")
    listed = (await api.get("/tokens")).json
    assert listed[0]["token"] == "a"
    keys = [(token["entered_at"], token["token"]) for token in listed]
    assert [at for at, _ in keys] == sorted((at for at, _ in keys), reverse=True)
    assert len((await api.get("/tokens?limit=2")).json) == 2
    await api.post("/tokens/b/cancel")
    await api.post("/tokens/C/pause")
    for status, found in (("cancelled", ["b"]), ("paused", ["C"]), ("failed", [])):
        listed = (await api.get(f"/tokens?status={status}")).json
        assert [token["token"] for token in listed] == found
    assert (await api.get("/tokens?parent=nobody")).json == []


async def test_a_child_says_whose_it_is(api: Caller) -> None:
    await start(api, "P")
    await fire(api, "P", "split")
    child = "P.checks.1.check"
    shown = (await api.get(f"/tokens/{child}")).json
    assert (shown["parent"], shown["state"], shown["context"]) == ("P", "look", {"title": "a"})
    assert "parent" not in (await api.get("/tokens/P")).json
    assert (await api.get("/tokens?parent=P")).json == [shown]
    assert (await api.get("/tokens?parent=P&status=paused")).json == []
    assert (await api.post("/tokens", {"token": child})).json == shown
    for action in ("pause", "resume", "cancel"):
        assert (await api.post(f"/tokens/{child}/{action}")).refusal == (409, "child_token")


async def test_a_history_is_numbered_and_read_in_parts(api: Caller) -> None:
    await start(api, "T")
    entries = await history_of(api, "T")
    assert [entry["seq"] for entry in entries] == [1, 2, 3, 4]
    assert len({entry["at"] for entry in entries}) == 1
    assert entries[2].keys() == {"seq", "at", "kind", "data"}
    assert entries[2]["data"] == {"state": "draft", "visit": 1}
    part = await api.get("/tokens/T/history?after=1&limit=2")
    assert part.json == entries[1:3]
    assert (await api.get("/tokens/T/history?after=4")).json == []


async def test_an_event_with_a_key_is_applied_once(api: Caller) -> None:
    await start(api, "T")
    key = [("Idempotency-Key", "é-secret".encode("latin-1"))]
    moved = await api.post("/tokens/T/events/submitted", headers=key)
    assert (moved.status, moved.json["state"]) == (200, "review")
    again = await api.post("/tokens/T/events/nothing", {"payload": {"x": 1}}, key)
    assert (again.status, again.json) == (200, {"duplicate": True, "token": moved.json})
    assert b"secret" not in (await api.get("/tokens/T/history")).body
    assert (await api.post("/tokens/T/events/submitted")).refusal == NOT_ALLOWED


async def test_an_event_that_cannot_move_the_token_is_recorded(api: Caller) -> None:
    await start(api, "T")
    for event in (
        "reviewed",
        "timeout",
        "error",
        "joined",
        "__started__",
        "nobody%20knows",
        "a%00b",
    ):
        body = {"payload": {"approved": True}}
        assert (await api.post(f"/tokens/T/events/{event}", body)).refusal == NOT_ALLOWED
    rejected = [e["data"] for e in await history_of(api, "T") if e["kind"] == "event_rejected"]
    assert [data["event"] for data in rejected][-2:] == ["nobody knows", "a\ufffdb"]
    assert all(data.keys() == {"event", "reason"} and data["reason"] for data in rejected)
    before = await kinds_of(api, "T")
    for payload in ({"x": 1}, {"x": "\0"}, 1):
        reply = await api.post("/tokens/T/events/submitted", {"payload": payload})
        assert reply.refusal == BAD_PAYLOAD
    assert await kinds_of(api, "T") == before


async def test_two_guards_that_hold_fail_the_token(api: Caller) -> None:
    await start(api, "T", size=3)
    failed = await fire(api, "T", "torn")
    assert (failed["status"], failed["state"], failed["visit"]) == ("failed", "draft", 1)


async def test_a_paused_token_holds_what_arrives(api: Caller) -> None:
    await start(api, "T")
    assert (await api.post("/tokens/T/resume")).refusal == NOT_ACTIVE
    assert (await api.post("/tokens/T/pause")).json["status"] == "paused"
    assert (await api.post("/tokens/T/pause")).refusal == NOT_ACTIVE
    held = await fire(api, "T", "submitted")
    assert (held["state"], held["status"]) == ("draft", "paused")
    resumed = (await api.post("/tokens/T/resume")).json
    assert (resumed["state"], resumed["status"]) == ("review", "active")


async def test_an_ended_token_takes_nothing(api: Caller) -> None:
    await start(api, "T")
    await fire(api, "T", "submitted")
    ended = await fire(api, "T", "reviewed", {"approved": True})
    assert (ended["status"], ended["state"]) == ("completed", "review")
    for action in ("pause", "resume", "cancel", "events/submitted", "events/timeout"):
        assert (await api.post(f"/tokens/T/{action}")).refusal == NOT_ACTIVE
    assert (await api.post("/tokens", {"token": "T"})).json == ended
    assert await claim(api, "s") is None


async def test_a_loop_counts_visits(api: Caller) -> None:
    await start(api, "T")
    await fire(api, "T", "submitted")
    back = await fire(api, "T", "reviewed", {"approved": False})
    assert (back["state"], back["visit"]) == ("draft", 2)
    grant = await claim(api, "s")
    assert grant["entered_by"] == {"name": "reviewed", "payload": {"approved": False}}
    assert grant["visit"] == 2
    assert (await report(api, grant, "submitted"))["state"] == "review"
