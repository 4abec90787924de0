"""Many messages in one request, over HTTP, on both databases: each answered as by its single route."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from stateous.model.refusals import DatabaseBusy, NotServing, Unexpected
from tests.api.caller import Caller, Reply
from tests.api.planes import EmptyPlane, FailingPlane
from tests.api.serving import served
from tests.api.story import claim, history_of, kinds_of, start

Json = dict[str, Any]


async def send(api: Caller, *messages: Any, supervisor: str = "s") -> list[Json]:
    reply = await post(api, messages, supervisor)
    assert reply.status == 200, reply
    assert list(reply.json) == ["results"]
    return reply.json["results"]


async def post(api: Caller, messages: Any, supervisor: Any = "s") -> Reply:
    return await api.post("/tasks/messages", {"supervisor": supervisor, "messages": messages})


def note(task: int, text: str = "half way", **more: Any) -> Json:
    return {"task": task, "kind": "note", "text": text, **more}


def memory(task: int, key: str, value: Any, **more: Any) -> Json:
    return {"task": task, "kind": "memory", "key": key, "value": value, **more}


def event(task: int, name: str = "submitted", **more: Any) -> Json:
    return {"task": task, "kind": "report", "outcome": "event", "event": name, **more}


async def tasks_of(api: Caller, *tokens: str) -> list[int]:
    """The tasks of new tokens, claimed by `s`."""
    for token in tokens:
        await start(api, token)
    return [grant["task"] for grant in (await claim(api, "s", max=len(tokens)))["grants"]]


async def test_messages_of_many_tasks_are_answered_in_their_order(api: Caller) -> None:
    a, b = await tasks_of(api, "A", "B")
    results = await send(
        api,
        note(a, attempt=1),
        memory(b, "page", [1e16, 2**70, None], attempt=1),
        event(a, attempt=1, context={"size": 4}),
        event(b, "reviewed"),
        {"task": b, "kind": "report", "outcome": "waiting"},
    )
    tokens = [(await api.get(f"/tokens/{token}")).json for token in ("A", "B")]
    assert results == [
        {"status": 204},
        {"status": 204},
        {"status": 200, "token": tokens[0]},
        {"status": 409, "code": "event_not_allowed", "error": results[3]["error"]},
        {"status": 200, "token": tokens[1]},
    ]
    assert (tokens[0]["state"], tokens[0]["context"]["size"]) == ("review", 4)
    assert (await kinds_of(api, "A"))[-6:] == [
        "note",
        "context_changed",
        "event_accepted",
        "task_done",
        "entered",
        "task_queued",
    ]
    assert (await kinds_of(api, "B"))[-3:] == ["memory_set", "event_rejected", "task_waiting"]


async def test_all_entries_of_a_request_for_one_token_have_one_time(api: Caller) -> None:
    (task,) = await tasks_of(api, "T")
    seen = len(await history_of(api, "T"))
    await send(api, note(task), memory(task, "k", 1), event(task))
    entries = (await history_of(api, "T"))[seen:]
    assert [entry["kind"] for entry in entries[:3]] == ["note", "memory_set", "event_accepted"]
    assert len({entry["at"] for entry in entries}) == 1


async def test_a_repeat_of_the_request_is_answered_as_the_first(api: Caller) -> None:
    a, b = await tasks_of(api, "A", "B")
    sent = [
        note(a, id="n-1", attempt=1),
        memory(a, "k", 1, id="m-1", attempt=1),
        event(a, id="r-1", attempt=1),
        event(b, "reviewed", id="r-1", attempt=1),
        {"task": b, "kind": "report", "outcome": "failed", "error": "no ink", "id": "r-2"},
    ]
    first = await send(api, *sent)
    written = [await history_of(api, token) for token in ("A", "B")]
    assert await send(api, *sent) == first
    assert await send(api, *reversed(sent)) == list(reversed(first))
    assert [await history_of(api, token) for token in ("A", "B")] == written
    assert "r-1" not in str(written)
    # Without an id it is another message.
    assert (await send(api, note(a, attempt=1)))[0]["code"] == "task_not_held"


async def test_of_two_equal_requests_at_once_one_is_decided_and_both_are_answered_alike(
    api: Caller,
) -> None:
    tokens = [f"T-{n}" for n in range(8)]
    tasks = await tasks_of(api, *tokens)
    sent = [
        message
        for task in tasks
        for message in (note(task, id="n"), event(task, id="r", attempt=1))
    ]
    first, second = await asyncio.gather(send(api, *sent), send(api, *sent))
    assert first == second
    assert {result["status"] for result in first} == {200, 204}
    for token in tokens:
        kinds = await kinds_of(api, token)
        assert (kinds.count("note"), kinds.count("task_done")) == (1, 1)


async def test_an_id_is_the_token_s_own_and_no_idempotency_key(api: Caller) -> None:
    a, b = await tasks_of(api, "A", "B")
    assert [each["status"] for each in await send(api, note(a, id="k"), note(b, id="k"))] == [
        204
    ] * 2
    assert (await kinds_of(api, "B"))[-1] == "note"
    fired = await api.post("/tokens/A/events/submitted", {}, [("Idempotency-Key", "k")])
    assert "duplicate" not in fired.json


async def test_a_report_is_the_one_of_the_request_s_supervisor(api: Caller) -> None:
    a, b = await tasks_of(api, "A", "B")
    not_held = await send(api, event(a), event(b, supervisor="s"), supervisor="other")
    assert [result["status"] for result in not_held] == [409, 200]
    assert not_held[0]["code"] == "task_not_held"
    (taken,) = await send(api, event(a, supervisor=None))
    assert taken["status"] == 200


# -- each with the refusal of its single route -------------------------------------------------------

SINGLE: list[Json] = [
    {},
    {"attempt": 0},
    {"attempt": 2},
    {"attempt": 2**63},
    {"attempt": 1.0},
    {"text": ""},
    {"text": "x" * 501},
    {"text": 7},
    {"text": "a\0b"},
    {"key": ""},
    {"key": "k\0", "value": 1},
    {"key": "k"},
    {"key": "k", "value": {"a": ["\0"]}},
    {"key": "k" * 129, "value": 1},
    {"outcome": "else"},
    {"outcome": "event"},
    {"outcome": "event", "event": "submitted\0"},
    {"outcome": "event", "event": "submitted", "payload": []},
    {"outcome": "event", "event": "submitted", "payload": {"a": "\0"}},
    {"outcome": "event", "event": "submitted", "payload": {"a": 1}},
    {"outcome": "event", "event": "submitted", "context": {"title": None}},
    {"outcome": "event", "event": "submitted", "context": {"\0": 1}},
    {"outcome": "event", "event": "submitted", "schedules": None},
    {"outcome": "event", "event": "submitted", "schedules": [{"event": "x", "after": "1h"}]},
    {"outcome": "event", "event": "submitted", "schedules": [{"event": "x", "after": "soon"}]},
    {"outcome": "event", "event": "submitted", "supervisor": ""},
    {"outcome": "event", "event": "submitted", "attempt": 2**64},
    {"outcome": "waiting", "supervisor": "other"},
    {"outcome": "failed"},
]


@pytest.mark.parametrize("kind", ["report", "note", "memory"])
async def test_a_message_is_refused_as_its_single_route_refuses_it(api: Caller, kind: str) -> None:
    (task,) = await tasks_of(api, "T")
    for each in SINGLE:
        if kind == "note" and "text" not in each and "attempt" not in each:
            continue
        fields = {"text": "x", **each} if kind == "note" and "attempt" in each else each
        before = await history_of(api, "T")
        (result,) = await send(api, {"task": task, "kind": kind, **fields})
        body: Json = {"supervisor": "s", **fields} if kind == "report" else dict(fields)
        if "outcome" in body:
            body["kind"] = body.pop("outcome")
        route = f"/tasks/{task}/{kind}"
        alone = await (api.put(route, body) if kind == "memory" else api.post(route, body))
        assert result["status"] == alone.status, each
        assert result["status"] >= 400, each
        assert (result["status"], result["code"]) == alone.refusal
        assert result["error"] == alone.json["error"].replace("'kind'", "'outcome'")
        assert await history_of(api, "T") == before


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (7, "invalid_body"),
        (None, "invalid_body"),
        ({}, "invalid_body"),
        ({"task": "7", "kind": "note", "text": "x"}, "invalid_body"),
        ({"task": 0, "kind": "note", "text": "x"}, "invalid_body"),
        ({"task": 2**63, "kind": "note", "text": "x"}, "invalid_body"),
        ({"task": 1.0, "kind": "note", "text": "x"}, "invalid_body"),
        ({"task": 1, "kind": "event"}, "invalid_body"),
        ({"task": 1}, "invalid_body"),
        ({"task": 1, "kind": "note", "text": "x", "id": ""}, "invalid_argument"),
        ({"task": 1, "kind": "note", "text": "x", "id": "a b"}, "invalid_argument"),
        ({"task": 1, "kind": "note", "text": "x", "id": "x" * 65}, "invalid_argument"),
        ({"task": 1, "kind": "note", "text": "x", "id": 7}, "invalid_argument"),
        ({"task": 2**63 - 1, "kind": "note", "text": "x", "id": None}, "task_not_found"),
    ],
)
async def test_a_message_that_is_not_right_is_refused_and_the_others_go_on(
    api: Caller, message: Any, code: str
) -> None:
    (task,) = await tasks_of(api, "T")
    first, refused, last = await send(api, note(task), message, note(task))
    assert (first, last) == ({"status": 204}, {"status": 204})
    assert refused["code"] == code
    assert (await kinds_of(api, "T")).count("note") == 2


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        ({}, (422, "invalid_argument")),
        ({"supervisor": ""}, (422, "invalid_argument")),
        ({"supervisor": "s\0", "messages": []}, (422, "invalid_argument")),
        ({"supervisor": "s"}, (422, "invalid_body")),
        ({"supervisor": "s", "messages": {}}, (422, "invalid_body")),
        ({"supervisor": "s", "messages": [None] * 1001}, (422, "invalid_argument")),
        ([], (422, "invalid_body")),
    ],
)
async def test_what_is_around_the_messages_is_refused_as_a_whole(
    body: Any, refusal: tuple[int, str]
) -> None:
    plane = EmptyPlane()
    async with served(plane) as caller:
        assert (await caller.post("/tasks/messages", body)).refusal == refusal
    assert plane.reached == []


async def test_a_body_that_cannot_be_read_is_refused_as_always() -> None:
    plane = EmptyPlane()
    async with served(plane) as caller:
        large = note(1, "x" * 1_048_576)
        assert (await post(caller, [large])).refusal == (413, "bad_request")
        assert (await caller.post("/tasks/messages", b'{"messages": [1e999]}')).refusal == (
            400,
            "bad_request",
        )
    assert plane.reached == []


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


async def test_a_message_may_be_as_deep_as_the_body_of_its_single_route(api: Caller) -> None:
    (task,) = await tasks_of(api, "T")
    assert (await api.put(f"/tasks/{task}/memory", {"key": "k", "value": deep(63)})).status == 204
    assert await send(api, memory(task, "k", deep(63))) == [{"status": 204}]
    assert (await post(api, [memory(task, "k", deep(64))])).refusal == (400, "bad_request")


async def test_a_thousand_messages_are_taken_at_once(api: Caller) -> None:
    (task,) = await tasks_of(api, "T")
    results = await send(api, *(note(task, f"line {n}", id=f"n-{n}") for n in range(1000)))
    assert results == [{"status": 204}] * 1000
    assert (await kinds_of(api, "T")).count("note") == 1000
    assert await send(api) == []


# -- when nothing can be decided ---------------------------------------------------------------------


class HalfBusyPlane(EmptyPlane):
    """A control plane whose database gets to every second task only."""

    async def tell(self, messages: Any, *, size: int = 0) -> Any:
        told = await super().tell(messages, size=size)
        return [DatabaseBusy("try again") if n % 2 else each for n, each in enumerate(told)]


async def test_tasks_that_the_database_did_not_get_to_are_told_one_by_one() -> None:
    async with served(HalfBusyPlane()) as caller:
        results = await send(caller, note(1), note(2), note(2), note(3))
        assert [result["status"] for result in results] == [404, 503, 503, 404]
        assert results[1]["code"] == "database_busy"


@pytest.mark.parametrize("fault", [DatabaseBusy("try again"), NotServing("not any more")])
async def test_the_request_is_refused_when_nothing_was_decided(
    fault: DatabaseBusy | NotServing,
) -> None:
    async with served(FailingPlane(fault)) as caller:
        reply = await post(caller, [note(1), note(2)])
        assert reply.refusal == (503, fault.code)
        assert ("retry-after" in reply.headers) == isinstance(fault, DatabaseBusy)
        body = {"supervisor": "s", "tasks": [1]}
        assert (await caller.post("/tasks/release", body)).refusal == (503, fault.code)


async def test_a_bug_is_told_to_nobody_but_the_log() -> None:
    class BrokenPlane(EmptyPlane):
        async def tell(self, messages: Any, *, size: int = 0) -> Any:
            return [Unexpected("secret") for _ in messages]

    async with served(BrokenPlane()) as caller:
        (result,) = await send(caller, note(1))
        assert (result["status"], result["code"]) == (500, "unexpected")
        assert "secret" not in msgspec.json.encode(result).decode()
