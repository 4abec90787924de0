"""Which calls are sent again after a cut or an answer of 5xx, how often, and after how long."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from stateous.client import Client, Unreachable, calls
from stateous.client.errors import Again
from stateous.client.patience import Patience, nominal_wait, spread
from stateous.model.refusals import DatabaseBusy, TokenNotActive, Unexpected
from tests.client.servers import CUT, TOKEN, ScriptedServer, TricklingServer, answer, refusal

Use = Callable[..., Any]

pytestmark = pytest.mark.usefixtures("quickly")

REPEATED: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("get", ("A",), {}),
    ("start", ("A",), {}),
    ("fire", ("A", "paid"), {"key": "k"}),
    ("report", (7, "done"), {"attempt": 1}),
]
SENT_ONCE: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("fire", ("A", "paid"), {}),
    ("report", (7, "done"), {}),
    ("pause", ("A",), {}),
    ("cancel", ("A",), {}),
]


@pytest.mark.parametrize(("method", "values", "named"), REPEATED)
def test_a_call_that_may_be_carried_out_twice_is_repeated(
    use: Use, method: str, values: tuple[Any, ...], named: dict[str, Any]
) -> None:
    script = [CUT, refusal(500, "unexpected"), answer(502), answer(200, TOKEN)]
    with ScriptedServer(*script) as server:
        assert use(server.url, method, *values, **named).token == "A"
    assert len(server.received) == 4
    assert len({(each.method, each.path, each.body) for each in server.received}) == 1


@pytest.mark.parametrize(("method", "values", "named"), SENT_ONCE)
def test_a_call_that_must_not_be_carried_out_twice_is_not_repeated_after_a_cut(
    use: Use, method: str, values: tuple[Any, ...], named: dict[str, Any]
) -> None:
    with ScriptedServer(CUT, answer(200, TOKEN)) as server, pytest.raises(Unreachable):
        use(server.url, method, *values, **named)
    assert len(server.received) == 1


@pytest.mark.parametrize(("method", "values", "named"), [*SENT_ONCE, *REPEATED])
@pytest.mark.parametrize("code", ["database_busy", "not_serving"])
def test_every_call_is_repeated_when_surely_nothing_was_done(
    use: Use, method: str, values: tuple[Any, ...], named: dict[str, Any], code: str
) -> None:
    with ScriptedServer(refusal(503, code), answer(200, TOKEN)) as server:
        use(server.url, method, *values, **named)
    assert len(server.received) == 2


def test_an_outcome_that_cannot_be_known_is_told_at_once_for_a_call_that_cannot_be_repeated(
    use: Use,
) -> None:
    with (
        ScriptedServer(refusal(500, "unexpected"), answer(200, TOKEN)) as server,
        pytest.raises(Unexpected),
    ):
        use(server.url, "fire", "A", "paid")
    assert len(server.received) == 1


def test_a_refusal_is_an_answer_and_is_not_repeated(use: Use) -> None:
    with ScriptedServer(refusal(409, "token_not_active")) as server, pytest.raises(TokenNotActive):
        use(server.url, "get", "A")
    assert len(server.received) == 1


def test_a_call_goes_on_until_its_time_is_over(use: Use) -> None:
    with (
        ScriptedServer(*[refusal(503, "database_busy", "Busy.")] * 50) as server,
        pytest.raises(DatabaseBusy, match="Busy"),
    ):
        use(server.url, "get", "A", timeout=0.2)
    assert 3 <= len(server.received) <= 6


def test_a_server_that_asks_for_more_time_than_there_is_is_not_asked_again(use: Use) -> None:
    with (
        ScriptedServer(refusal(503, "database_busy", retry_after="60")) as server,
        pytest.raises(DatabaseBusy),
    ):
        use(server.url, "get", "A", timeout=5)
    assert len(server.received) == 1


def test_half_an_answer_is_a_cut(use: Use) -> None:
    half = b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\nConnection: close\r\n\r\n{"
    with ScriptedServer(half, answer(200, TOKEN)) as server:
        assert use(server.url, "get", "A").token == "A"


def test_a_server_that_does_not_answer_in_time_is_unreachable(use: Use) -> None:
    with ScriptedServer(b"HTTP/1.1 200 OK\r\n") as server, pytest.raises(Unreachable):
        use(server.url, "get", "A", timeout=0.2)


@pytest.mark.parametrize(
    "head", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n"]
)
def test_an_answer_that_trickles_in_is_not_waited_for(use: Use, head: bytes) -> None:
    with TricklingServer(head) as server, pytest.raises(Unreachable):
        use(server.url, "get", "A", timeout=0.2)


def test_a_connection_is_kept_for_the_next_call() -> None:
    with ScriptedServer(*[answer(200, TOKEN)] * 3) as server, Client(server.url) as client:
        for _ in range(3):
            client.get("A")
    assert server.connections == 1


def test_a_connection_that_the_server_closed_is_not_used_for_what_cannot_be_repeated() -> None:
    script = [answer(200, TOKEN), CUT, answer(200, TOKEN), answer(200, TOKEN)]
    with ScriptedServer(*script) as server, Client(server.url) as client:
        client.get("A")
        client.get("A")  # cut, and asked again on a new connection
        client.fire("A", "paid")
    assert server.connections == 2
    assert len(server.received) == 4


def test_threads_share_a_client() -> None:
    with ScriptedServer(*[answer(200, TOKEN)] * 40) as server, Client(server.url) as client:
        threads = [
            threading.Thread(target=lambda: [client.get("A") for _ in range(10)]) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(server.received) == 40
    assert server.connections <= 4


@pytest.mark.parametrize(
    ("tries", "retry_after", "wait"),
    [
        (1, None, 0.01),
        (2, None, 0.02),
        (6, None, 0.3),
        (99, None, 0.3),
        (1, 7.0, 7.0),
        (6, 0.1, 0.3),
        (1, 1e9, 300.0),
    ],
)
def test_waits_double_until_they_are_long_and_are_what_the_server_asks_for(
    tries: int, retry_after: float | None, wait: float
) -> None:
    assert nominal_wait(tries, retry_after=retry_after) == wait


def test_waits_are_spread_and_never_shorter() -> None:
    chances = iter([0.0, 0.5, 1.0])
    assert [spread(10, chance=lambda: next(chances)) for _ in range(3)] == [10, 11, 12]


def test_patience_ends_before_a_wait_that_would_pass_its_end() -> None:
    now = 100.0
    patience = Patience(0.05, clock=lambda: now)
    failed = Again(Unreachable("away"), done=True)
    assert 0.01 <= patience.wait_for(calls.get("A"), failed) <= 0.012
    now = 100.04
    assert patience.try_for(calls.get("A")) == pytest.approx(0.01)
    with pytest.raises(Unreachable, match="away"):
        patience.wait_for(calls.get("A"), failed)


def test_a_client_that_is_given_one_try_says_at_once_what_came_of_it() -> None:
    with ScriptedServer(refusal(503, "database_busy"), answer(200, TOKEN)) as server:
        with Client(server.url, tries=1) as client, pytest.raises(DatabaseBusy):
            client.get("A")
        assert len(server.received) == 1
