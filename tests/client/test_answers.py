"""What clients send, and what they make of each kind of answer, alike for both of them."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from stateous.client import FiredToken, NotStateous, StartedToken, Token, Unreachable
from stateous.client.errors import BY_CODE
from stateous.model.refusals import (
    BadRequest,
    EventNotAllowed,
    Refusal,
    TokenNotActive,
    TokenNotFound,
    Unexpected,
)
from tests.client.servers import TOKEN, ScriptedServer, answer, refusal

Use = Callable[..., Any]


def test_a_start_is_answered_with_the_token_and_whether_it_is_new(use: Use) -> None:
    with ScriptedServer(answer(201, TOKEN)) as server:
        token = use(server.url, "start", "A", {"title": "x"})
    assert isinstance(token, StartedToken)
    assert token.created
    assert token.entered_at == datetime(2026, 1, 2, 3, 4, 5, 6, UTC)
    assert server.received[0].path == "/tokens"
    assert server.received[0].json == {"token": "A", "context": {"title": "x"}}


def test_a_start_of_an_existing_token_is_not_new(use: Use) -> None:
    with ScriptedServer(answer(200, TOKEN)) as server:
        assert not use(server.url, "start", "A").created
    assert server.received[0].json == {"token": "A"}


def test_a_fired_event_carries_its_payload_and_key(use: Use) -> None:
    with ScriptedServer(answer(200, TOKEN)) as server:
        fired = use(server.url, "fire", "A", "paid", {"amount": 2**70}, key="k1")
    assert isinstance(fired, FiredToken)
    assert not fired.duplicate
    assert server.received[0].path == "/tokens/A/events/paid"
    assert server.received[0].headers["idempotency-key"] == "k1"
    assert server.received[0].json == {"payload": {"amount": 2**70}}


def test_a_duplicate_is_the_token_that_says_so(use: Use) -> None:
    with ScriptedServer(answer(200, {"duplicate": True, "token": TOKEN})) as server:
        fired = use(server.url, "fire", "A", "paid", key="k1")
    assert (fired.token, fired.duplicate) == ("A", True)


@pytest.mark.parametrize(
    ("called", "body"),
    [
        (
            {"event": "done", "payload": {"a": 1}},
            {"kind": "event", "event": "done", "payload": {"a": 1}},
        ),
        ({"error": "broken"}, {"kind": "failed", "error": "broken"}),
        ({"context": {"a": None}}, {"kind": "waiting", "context": {"a": None}}),
        (
            {
                "event": "done",
                "attempt": 2,
                "supervisor": "s",
                "schedules": [{"event": "e", "after": "1s"}],
            },
            {
                "kind": "event",
                "event": "done",
                "attempt": 2,
                "supervisor": "s",
                "schedules": [{"event": "e", "after": "1s"}],
            },
        ),
    ],
)
def test_a_report_is_what_it_was_called_with(
    use: Use, called: dict[str, Any], body: dict[str, Any]
) -> None:
    with ScriptedServer(answer(200, TOKEN)) as server:
        assert use(server.url, "report", 7, **called).token == "A"
    assert server.received[0].path == "/tasks/7/report"
    assert server.received[0].json == body


def test_a_report_of_an_event_and_an_error_is_a_mistake(use: Use) -> None:
    with pytest.raises(TypeError, match="not both"):
        use("http://127.0.0.1:1", "report", 7, "done", error="broken")


def test_lists_and_histories_are_asked_with_what_was_given(use: Use) -> None:
    entry = {"seq": 1, "at": "2026-01-02T03:04:05Z", "kind": "note", "data": {"text": "t"}}
    with ScriptedServer(answer(200, [TOKEN]), answer(200, [entry])) as server:
        assert [token.token for token in use(server.url, "tokens", status="active", limit=5)] == [
            "A"
        ]
        assert use(server.url, "history", "A", after=3)[0].kind == "note"
    assert [received.path for received in server.received] == [
        "/tokens?status=active&limit=5",
        "/tokens/A/history?after=3",
    ]


@pytest.mark.parametrize("verb", ["pause", "resume", "cancel"])
def test_steering_has_a_path_of_its_own(use: Use, verb: str) -> None:
    with ScriptedServer(answer(200, {**TOKEN, "later": 1})) as server:
        assert isinstance(use(server.url, verb, "A"), Token)
    assert (server.received[0].method, server.received[0].path) == ("POST", f"/tokens/A/{verb}")


def test_ids_and_events_are_percent_encoded(use: Use) -> None:
    with ScriptedServer(answer(200, TOKEN), answer(200, TOKEN)) as server:
        use(server.url, "get", "a b?c#d%2Fé")
        use(server.url, "fire", "A", "..x y")
    assert [received.path for received in server.received] == [
        "/tokens/a%20b%3Fc%23d%252F%C3%A9",
        "/tokens/A/events/..x%20y",
    ]


@pytest.mark.parametrize("token", ["", ".", "..", "a/history", "\ud800"])
def test_an_id_that_would_name_another_route_is_never_sent(use: Use, token: str) -> None:
    with ScriptedServer() as server, pytest.raises(TokenNotFound):
        use(server.url, "get", token)
    assert server.received == []


def test_an_event_that_would_name_another_route_is_never_sent(use: Use) -> None:
    with ScriptedServer() as server, pytest.raises(EventNotAllowed):
        use(server.url, "fire", "A", "a/../pause")
    assert server.received == []


def test_the_path_of_the_url_comes_before_the_routes(use: Use) -> None:
    with ScriptedServer(answer(200, {"workflow": "w", "checksum": "sha256:0"})) as server:
        health = use(f"{server.url}/orders/", "health")
    assert (health.workflow, health.lease_for) == ("w", None)
    assert server.received[0].path == "/orders/health"


def test_the_password_of_the_url_is_sent_and_never_shown(use: Use) -> None:
    with ScriptedServer(answer(200, {})) as server:
        url = f"http://user:s%3Acret@127.0.0.1:{server.port}"
        with pytest.raises(NotStateous) as caught:
            use(url, "health")
    assert server.received[0].headers["authorization"] == "Basic dXNlcjpzOmNyZXQ="
    assert "cret" not in str(caught.value)
    assert str(caught.value).startswith(
        f"http://127.0.0.1:{server.port} did not answer as a Stateous"
    )


@pytest.mark.parametrize("code", sorted(BY_CODE))
def test_a_refusal_comes_back_as_its_class(use: Use, code: str) -> None:
    with (
        ScriptedServer(refusal(409, code, "That cannot be.")) as server,
        pytest.raises(Refusal) as caught,
    ):
        use(server.url, "get", "A")
    assert type(caught.value) is BY_CODE[code]
    assert (caught.value.code, caught.value.sentence) == (code, "That cannot be.")


def test_bodies_that_are_too_large_are_bad_requests() -> None:
    assert BY_CODE["bad_request"] is BadRequest


def test_a_code_of_a_newer_control_plane_is_kept(use: Use) -> None:
    with (
        ScriptedServer(refusal(409, "not_invented_yet")) as server,
        pytest.raises(Refusal) as caught,
    ):
        use(server.url, "get", "A")
    assert caught.value.code == "not_invented_yet"
    assert Refusal.code == "unexpected"


@pytest.mark.parametrize(
    "foreign",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>",
        b"HTTP/1.1 404 No\r\nContent-Length: 6\r\n\r\n<html>",
        b"HTTP/1.1 301 Moved\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
        answer(200, []),
        answer(404, {"detail": "nothing here"}),
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 90000\r\n\r\n" + b'{"a":[' * 15_000,
        b"HTTP/1.1 404 No\r\nContent-Length: 90000\r\n\r\n" + b'{"a":[' * 15_000,
    ],
)
def test_what_is_no_control_plane_is_said_to_be_none(use: Use, foreign: bytes) -> None:
    with ScriptedServer(foreign) as server, pytest.raises(NotStateous, match="did not answer as"):
        use(server.url, "health")
    assert len(server.received) == 1


def test_values_that_json_cannot_hold_are_never_sent(use: Use) -> None:
    with ScriptedServer() as server, pytest.raises(ValueError, match=r"context\.price is nan"):
        use(server.url, "start", "A", {"price": float("nan")})
    assert server.received == []


def test_big_integers_come_back_exactly(use: Use) -> None:
    number = 10**399
    with ScriptedServer(answer(200, {**TOKEN, "context": {"n": number, "f": 1.0}})) as server:
        context = use(server.url, "get", "A").context
    assert context == {"n": number, "f": 1.0}
    assert json.dumps(context).endswith('"f": 1.0}')


def test_a_refused_connection_is_said_with_its_reason(use: Use) -> None:
    with ScriptedServer() as server:
        url = server.url
    with pytest.raises(Unreachable, match=r"cannot reach the control plane at http://127.*refused"):
        use(url, "get", "A", timeout=0.5)


def test_https_where_http_is_spoken_is_said_as_such(use: Use) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer_once() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

        answering = threading.Thread(target=answer_once)
        answering.start()
        with pytest.raises(Unreachable, match="does not speak TLS: is it http, not https"):
            use(f"https://127.0.0.1:{listening.getsockname()[1]}", "get", "A", timeout=0.5)
        answering.join()


def test_a_token_that_is_not_active_raises_what_its_code_says(use: Use) -> None:
    with ScriptedServer(refusal(409, "token_not_active")) as server, pytest.raises(TokenNotActive):
        use(server.url, "pause", "A")


def test_a_clock_is_moved_by_seconds_and_never_moved_again(use: Use) -> None:
    with ScriptedServer(answer(200, {"now": "2026-01-02T09:04:05.000006Z"})) as server:
        now = use(server.url, "advance", timedelta(hours=6, microseconds=1))
    assert now == datetime(2026, 1, 2, 9, 4, 5, 6, UTC)
    assert server.received[0].path == "/testing/clock"
    assert server.received[0].json == {"advance": 21600.000001}
    with ScriptedServer(refusal(500, "unexpected")) as server, pytest.raises(Unexpected):
        use(server.url, "advance", timedelta(hours=6))
    assert len(server.received) == 1
