"""The calls that supervisors make: claims of many tasks, messages, and tasks that are given back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from stateous.client import NotStateous, Token, calls
from stateous.client.answers import MessageResult
from stateous.client.messages import Message
from stateous.client.patience import TRY_FOR, longest_try
from stateous.model.refusals import NotFound
from tests.client.servers import TOKEN, ScriptedServer, answer, refusal

Use = Callable[..., Any]

GRANT = {
    "task": 7,
    "token": "A",
    "state": "draft",
    "visit": 1,
    "attempt": 1,
    "context": {},
    "memory": {},
    "entered_by": {"name": "__started__"},
}


def test_a_claim_says_how_long_it_waits_and_how_many_tasks_it_takes(use: Use) -> None:
    claim = calls.claim("s", ["draft"], "r-1", wait=20, most=8)
    with ScriptedServer(answer(200, {"grants": [GRANT, {**GRANT, "task": 8}]})) as server:
        grants = use(server.url, "send", claim)
    assert [grant.task for grant in grants] == [7, 8]
    assert server.received[0].json == {
        "supervisor": "s",
        "states": ["draft"],
        "request": "r-1",
        "max": 8,
        "wait": 20,
    }


def test_a_claim_that_got_nothing_is_empty(use: Use) -> None:
    with ScriptedServer(answer(204)) as server:
        assert use(server.url, "send", calls.claim("s", ["draft"], "r-1")) == ()
    assert server.received[0].json == {"supervisor": "s", "states": ["draft"], "request": "r-1"}


def test_one_task_without_a_list_is_what_an_older_control_plane_gives(use: Use) -> None:
    with ScriptedServer(answer(200, GRANT)) as server:
        (grant,) = use(server.url, "send", calls.claim("s", ["draft"], "r-1", most=8))
    assert grant.task == 7


def test_a_try_of_a_claim_may_take_as_long_as_it_waits_and_a_try_of_any_call() -> None:
    assert longest_try(calls.claim("s", [], "r", wait=20)) == 20 + TRY_FOR
    assert longest_try(calls.claim("s", [], "r")) == TRY_FOR


def test_messages_are_the_bodies_of_the_single_routes(use: Use) -> None:
    sent = calls.messages(
        "s",
        [
            Message(task=7, kind="note", body=b'{"text": "half way", "attempt": 1}', id="m-1"),
            Message(task=7, kind="memory", body=b'{"key": "page", "value": [1e16, 2]}'),
            Message(task=7, kind="report", body=b'{"kind": "event", "event": "done"}', id="m-2"),
        ],
    )
    results = [
        {"status": 204},
        {"status": 409, "code": "attempt_over", "error": "No."},
        {"status": 200, "token": TOKEN},
    ]
    with ScriptedServer(answer(200, {"results": results})) as server:
        told = use(server.url, "send", sent)
    assert server.received[0].path == "/tasks/messages"
    assert server.received[0].json == {
        "supervisor": "s",
        "messages": [
            {"task": 7, "kind": "note", "id": "m-1", "text": "half way", "attempt": 1},
            {"task": 7, "kind": "memory", "key": "page", "value": [1e16, 2]},
            {"task": 7, "kind": "report", "id": "m-2", "outcome": "event", "event": "done"},
        ],
    }
    assert told[:2] == (
        MessageResult(status=204),
        MessageResult(status=409, code="attempt_over", error="No."),
    )
    assert isinstance(told[2].token, Token)


@pytest.mark.parametrize(
    "call", [calls.note_as_written(1, b"{}"), calls.memory_as_written(1, b"{}")]
)
def test_the_page_of_a_proxy_takes_no_note(use: Use, call: object) -> None:
    page = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>"
    with ScriptedServer(page, answer(204)) as server:
        with pytest.raises(NotStateous):
            use(server.url, "send", call)
        assert use(server.url, "send", call) is None


def test_numbers_of_a_message_are_sent_as_they_were_written() -> None:
    sent = calls.messages(
        "s", [Message(task=7, kind="memory", body=b'{"key":"k","value":1.50e400}')]
    )
    assert sent.body is not None
    assert b'"value":1.50e400' in sent.body


def test_results_that_are_not_as_many_as_the_messages_are_no_answer(use: Use) -> None:
    sent = calls.messages("s", [Message(task=7, kind="note", body=b'{"text": "x"}')])
    with ScriptedServer(answer(200, {"results": []})) as server, pytest.raises(NotStateous):
        use(server.url, "send", sent)


@pytest.mark.parametrize("call", [calls.messages("s", []), calls.release("s")])
def test_a_control_plane_without_the_route_says_not_found(use: Use, call: object) -> None:
    with ScriptedServer(refusal(404, "not_found")) as server, pytest.raises(NotFound):
        use(server.url, "send", call)


def test_tasks_are_given_back_with_what_a_request_was_granted(use: Use) -> None:
    with ScriptedServer(answer(200, {"released": [7, 9]})) as server:
        answered = use(server.url, "send", calls.release("s", tasks=[9, 7], request="r-3"))
    assert answered.released == (7, 9)
    assert server.received[0].path == "/tasks/release"
    assert server.received[0].json == {"supervisor": "s", "tasks": [9, 7], "request": "r-3"}
