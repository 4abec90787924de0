"""What is captured around a start is kept with the token, told in each grant, and passed on to the children."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.caller import Reply
from tests.cards.graphs import SDLC
from tests.cards.served import BOX, Served

GRAPH = SDLC
TRACE = {
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "tenant": "ärzte",
}


async def start(served: Served, ambient: Any, token: str = "T", **context: Any) -> Reply:
    body = {"token": token, "context": {"title": "a", **context}, "ambient": ambient}
    return await served.post("/tokens", body)


async def flow_context(served: Served, token: str) -> Any:
    return (await served.api.get(f"/tokens/{token}/flow")).json["context"]


async def test_each_attempt_is_told_and_the_flow_shows_it(served: Served) -> None:
    started = await start(served, TRACE)
    assert (started.status, started.json) == (201, served.answer("T", "coding"))
    for attempt in (1, 2):
        grant = await served.claim("coding")
        assert (grant["attempt"], grant["ambient"]) == (attempt, TRACE)
        assert await flow_context(served, "T") == TRACE
        await served.post("/tasks/release", {"supervisor": BOX, "tasks": [grant["task"]]})
    await served.fire("T", "coded")
    assert (await served.claim("testing"))["ambient"] == TRACE


@pytest.mark.parametrize("ambient", [None, {}])
async def test_nothing_captured_is_null(served: Served, ambient: Any) -> None:
    assert (await start(served, ambient)).status == 201
    assert (await served.claim("coding"))["ambient"] is None
    assert await flow_context(served, "T") is None


async def test_the_first_start_counts(served: Served) -> None:
    await start(served, TRACE)
    assert (await start(served, {"tenant": "other"})).status == 200
    assert (await served.claim("coding"))["ambient"] == TRACE


async def test_children_and_theirs_inherit_it(served: Served) -> None:
    await start(served, TRACE, size=0)
    granted = {}
    while grant := await served.claim():
        granted[grant["state"]] = grant["ambient"]
    assert granted == {"security/scan": TRACE, "style/read": TRACE}


async def test_it_is_kept_as_it_was_sent_and_outlives_moves(served: Served) -> None:
    captured = {str(number): "x" * 200 for number in range(63)} | {"n" * 128: "\n\t ü"}
    await start(served, captured)
    await served.fire("T", "again")
    await served.steer("T", "pause")
    await served.steer("T", "resume")
    assert (await served.claim("coding"))["ambient"] == captured


@pytest.mark.parametrize(
    ("ambient", "code", "sentence"),
    [
        ("x", "invalid_body", "'ambient' is an object or null, not a string"),
        (["x"], "invalid_body", "'ambient' is an object or null, not a list"),
        ({"a": 7}, "invalid_body", "'ambient' has strings only, and 'a' is a number"),
        ({"a": None}, "invalid_body", "'ambient' has strings only, and 'a' is null"),
        (
            {str(number): "" for number in range(65)},
            "invalid_argument",
            "'ambient' has at most 64 entries",
        ),
        ({"": "x"}, "invalid_argument", "a name in 'ambient' has 1 to 128 characters"),
        ({"n" * 129: "x"}, "invalid_argument", "a name in 'ambient' has 1 to 128 characters"),
        (
            {"a": "ü" * 8192},
            "invalid_argument",
            "'ambient' has at most 16384 bytes, names and values together",
        ),
        (
            {"a": "\0"},
            "invalid_argument",
            "'ambient' holds the character \\u0000, which no database keeps",
        ),
    ],
)
async def test_what_cannot_be_kept_is_refused(
    served: Served, ambient: Any, code: str, sentence: str
) -> None:
    reply = await start(served, ambient)
    assert (reply.status, reply.json) == (422, {"code": code, "error": sentence})
    assert not await served.exists("T")


async def test_it_may_be_as_large_as_is_said(served: Served) -> None:
    assert (await start(served, {"ab": "ü" * 8191})).status == 201


async def test_id_and_context_are_looked_at_before_it(served: Served) -> None:
    cases: list[tuple[str, Any, str]] = [
        ("-", {}, "invalid_token_id"),
        ("T", [], "invalid_context"),
    ]
    for token, context, code in cases:
        body: dict[str, Any] = {"token": token, "context": context, "ambient": 7}
        assert (await served.post("/tokens", body)).json["code"] == code
