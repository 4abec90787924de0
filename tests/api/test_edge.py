"""What the API decides before it asks the control plane: paths, methods, sizes, and what it hides."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
import structlog
from structlog.testing import LogCapture

from stateous.engine.commands import Cancel, Fire, Note, Pause
from stateous.model.refusals import DatabaseBusy, NotServing, Unexpected
from stateous.model.wire.body import LARGEST_BODY
from tests.api.caller import Caller, read_reply
from tests.api.planes import EmptyPlane, FailingPlane
from tests.api.serving import served

NOT_FOUND = (404, "not_found")
NO_TOKEN = (404, "token_not_found")
NO_TASK = (404, "task_not_found")
NOT_ALLOWED = (405, "method_not_allowed")
TOO_LARGE = (413, "bad_request")


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running() -> AsyncGenerator[tuple[EmptyPlane, Caller]]:
    plane = EmptyPlane()
    async with served(plane) as caller:
        yield plane, caller


@pytest.fixture
def plane(running: tuple[EmptyPlane, Caller]) -> EmptyPlane:
    running[0].reached.clear()
    return running[0]


@pytest.fixture
def caller(plane: EmptyPlane, running: tuple[EmptyPlane, Caller]) -> Caller:
    return running[1]


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/x",
        "/tokens/",
        "//tokens",
        "/tokens//",
        "/tokens/T/",
        "/tokens//history",
        "/tokens/T//history",
        "/tokens/T/nothing",
        "/tokens/a%2Fb",
        "/tokens/a%2Fb/history",
        "/tokens/%2F",
        "/Tokens",
        "/health/",
        "/tasks",
        "/tasks/1",
        "/tasks/x/report",
        "/openapi.json/",
        "/openapi.json/x",
        "/openapi.json/openapi.json",
        "/schema",
        "/tokens%3Flimit=1",
    ],
)
async def test_another_path_is_not_found(caller: Caller, path: str) -> None:
    for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS"):
        assert (await caller.send(method, path)).refusal == NOT_FOUND


async def test_a_path_is_decoded_once(caller: Caller, plane: EmptyPlane) -> None:
    assert (await caller.get("/%74okens")).status == 200
    assert (await caller.get("/tokens/a%252Fb")).refusal == NO_TOKEN
    assert "a%2Fb" in (await caller.get("/tokens/a%252Fb")).json["error"]
    assert (await caller.get("/tokens/T%2Fhistory")).refusal == NO_TOKEN
    assert plane.reached[-1] == (0, None)
    await caller.post("/tokens/a%20b/events/%C3%A9%00%FF")
    assert plane.reached[-1] == Fire("a b", "é\ufffd\ufffd")


@pytest.mark.parametrize(
    "token", [".", "..", "a b", "%00", "é", "%F0%9F%98%80", "{token}", "a:b;c", "%FF"]
)
async def test_any_text_may_name_a_token(caller: Caller, token: str) -> None:
    token = token.replace(" ", "%20").replace("é", "%C3%A9")
    assert (await caller.get(f"/tokens/{token}")).refusal == NO_TOKEN
    assert (await caller.get(f"/tokens/{token}/history")).refusal == NO_TOKEN
    for action in ("pause", "resume", "cancel", "events/e"):
        assert (await caller.post(f"/tokens/{token}/{action}")).refusal == NO_TOKEN


async def test_an_id_with_a_nul_reaches_nothing(caller: Caller, plane: EmptyPlane) -> None:
    for path in ("pause", "resume", "cancel", "events/e"):
        assert (await caller.post(f"/tokens/T%00/{path}")).refusal == NO_TOKEN
    assert (await caller.post("/tokens/T%00/events/e", b"{")).refusal == (400, "bad_request")
    assert plane.reached == []


@pytest.mark.parametrize("action", ["report", "note", "memory"])
async def test_a_task_is_named_by_digits_only(caller: Caller, action: str) -> None:
    method = "PUT" if action == "memory" else "POST"
    for task in ("-1", "1.0", "x", "%D9%A7", "1%00", "+1", "%201", "claim"):
        assert (await caller.send(method, f"/tasks/{task}/{action}")).refusal == NOT_FOUND
    body = {"kind": "waiting", "supervisor": "s", "text": "x", "key": "k", "value": 1}
    for task in ("007", "0", str(2**63 - 1)):
        assert (await caller.send(method, f"/tasks/{task}/{action}", body)).refusal == NO_TASK


async def test_a_task_has_one_number_however_it_is_written(
    caller: Caller, plane: EmptyPlane
) -> None:
    await caller.post("/tasks/007/note", {"text": "x"})
    assert plane.reached == [Note(task=7, text="x")]


async def test_a_number_beyond_63_bits_is_no_task_before_the_body_is_read(
    caller: Caller, plane: EmptyPlane
) -> None:
    for task in (str(2**63), "9" * 10_000):
        assert (await caller.post(f"/tasks/{task}/report", b"{")).refusal == NO_TASK
        assert (
            await caller.put(f"/tasks/{task}/memory", b"x" * (LARGEST_BODY + 1))
        ).refusal == NO_TASK
    assert plane.reached == []


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/tokens", "GET, POST"),
        ("/tokens/T", "GET"),
        ("/tokens/T/history", "GET"),
        ("/tokens/T/events/e", "POST"),
        ("/tokens/T/pause", "POST"),
        ("/tokens/T/resume", "POST"),
        ("/tokens/T/cancel", "POST"),
        ("/tasks/claim", "POST"),
        ("/tasks/heartbeat", "POST"),
        ("/tasks/1/report", "POST"),
        ("/tasks/1/note", "POST"),
        ("/tasks/1/memory", "PUT"),
        ("/workflow", "GET"),
        ("/health", "GET"),
        ("/openapi.json", "GET"),
    ],
)
async def test_another_method_is_not_allowed(caller: Caller, path: str, allowed: str) -> None:
    taken = allowed.split(", ")
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"):
        if method not in taken:
            reply = await caller.send(method, path)
            assert reply.refusal == NOT_ALLOWED, method
            assert reply.headers["allow"] == allowed.lower()
    head = await caller.send("HEAD", path)
    assert head.body == b""
    assert (head.status == 405) == ("GET" not in taken)


@pytest.mark.parametrize("method", ["BREW", "get", "GETS", "M-SEARCH", "X"])
async def test_any_word_may_be_a_method(caller: Caller, method: str) -> None:
    assert (await caller.send(method, "/tokens")).refusal == NOT_ALLOWED
    assert (await caller.send(method, "/tasks/1/report", {"kind": "x"})).refusal == NOT_ALLOWED
    assert (await caller.send(method, "/nope")).refusal == NOT_FOUND


async def test_a_body_that_looks_like_a_request_is_a_body(
    caller: Caller, plane: EmptyPlane
) -> None:
    reader, writer = await asyncio.open_connection(caller.host, caller.port)
    body = b'BREW /tokens HTTP/1.1\r\n{"text": "x"}'
    writer.write(b"POST /tasks/1/note HTTP/1.1\r\nhost: x\r\nconnection: close\r\n")
    writer.write(b"content-length: %d\r\n\r\n" % len(body))
    await writer.drain()
    await asyncio.sleep(0)
    writer.write(body)
    assert read_reply(await asyncio.wait_for(reader.read(), 20)).refusal == (400, "bad_request")
    writer.close()
    assert plane.reached == []


async def test_head_tells_what_get_would(caller: Caller) -> None:
    for path in (
        "/tokens",
        "/tokens/T",
        "/tokens/T/history",
        "/workflow",
        "/health",
        "/openapi.json",
    ):
        get, head = await caller.get(path), await caller.send("HEAD", path)
        assert (head.status, head.body) == (get.status, b"")
        assert head.headers["content-length"] == str(len(get.body))
        assert head.headers["content-type"] == get.headers["content-type"] == "application/json"


BODIED = (
    "/tokens",
    "/tokens/T/events/e",
    "/tasks/claim",
    "/tasks/heartbeat",
    "/tasks/1/report",
    "/tasks/1/note",
)


def padded(size: int) -> bytes:
    """A JSON object of so many bytes."""
    return b'{"x": "' + b"x" * (size - 9) + b'"}'


@pytest.mark.parametrize("path", BODIED)
async def test_a_body_has_at_most_1_mib(caller: Caller, path: str) -> None:
    assert (await caller.post(path, padded(LARGEST_BODY))).status != 413
    assert (await caller.post(path, padded(LARGEST_BODY + 1))).refusal == TOO_LARGE
    assert (await caller.post(path, b"x" * 3_000_000)).refusal == TOO_LARGE
    assert (await caller.put("/tasks/1/memory", padded(LARGEST_BODY + 1))).refusal == TOO_LARGE


async def test_an_announced_length_is_refused_before_the_body_comes(caller: Caller) -> None:
    for length in (LARGEST_BODY + 1, 10**18):
        head = f"POST /tokens HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        assert (await caller.raw(head.encode())).refusal == TOO_LARGE


def chunked(*chunks: bytes, path: str = "/tokens") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return head.encode() + body + b"0\r\n\r\n"


async def test_a_chunked_body_is_counted(caller: Caller, plane: EmptyPlane) -> None:
    whole = padded(LARGEST_BODY)
    parts = [whole[at : at + 70_000] for at in range(0, len(whole), 70_000)]
    assert (await caller.raw(chunked(*parts))).refusal == (422, "invalid_token_id")
    assert (await caller.raw(chunked(*parts, b" "))).refusal == TOO_LARGE
    assert plane.reached == []
    await caller.raw(chunked(b'{"text"', b': "half', b' way"}', path="/tasks/1/note"))
    assert plane.reached == [Note(task=1, text="half way")]


async def test_steering_and_get_never_read_a_body(caller: Caller, plane: EmptyPlane) -> None:
    large = b"x" * (LARGEST_BODY + 1)
    for body in (b"{", large):
        assert (await caller.send("GET", "/tokens", body)).status == 200
        assert (await caller.post("/tokens/T/pause", body)).refusal == NO_TOKEN
    announced = b"POST /tokens/T/cancel HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 9\r\n\r\n"
    assert (await caller.raw(announced)).refusal == NO_TOKEN
    assert plane.reached[-3:] == [(None, None, 100), Pause("T"), Cancel("T")]


@pytest.mark.parametrize(
    "content_type", [None, "text/plain", "application/xml", "multipart/form-data"]
)
async def test_any_content_type_is_read_as_json(
    caller: Caller, plane: EmptyPlane, content_type: str | None
) -> None:
    headers = [] if content_type is None else [("content-type", content_type)]
    await caller.post("/tasks/1/note", {"text": "x"}, headers)
    assert plane.reached == [Note(task=1, text="x")]


async def test_the_key_is_a_header(caller: Caller, plane: EmptyPlane) -> None:
    path = "/tokens/T/events/e"
    for key in ("", "k" * 257, "a\tb", "a\0b", "\x01", "a\x1fb", "\x7f"):
        assert (await caller.post(path, headers=[("Idempotency-Key", key)])).refusal == (
            422,
            "invalid_payload",
        )
    assert plane.reached == []
    await caller.post(
        path, headers=[("IDEMPOTENCY-KEY", b"one"), ("Idempotency-Key", b" \xe9\xff ")]
    )
    assert plane.reached == [Fire("T", "e", None, "éÿ")]


async def test_a_body_is_refused_before_its_fields_and_fields_before_the_token(
    caller: Caller,
) -> None:
    path, bad_key = "/tokens/T/events/e", [("Idempotency-Key", "")]
    assert (await caller.post(path, b"{", bad_key)).refusal == (400, "bad_request")
    assert (await caller.post(path, b"[]", bad_key)).refusal == (422, "invalid_body")
    assert (await caller.post(path, {"payload": 1})).refusal == (422, "invalid_payload")
    assert (await caller.post(path, b"  ")).refusal == NO_TOKEN


async def test_a_listing_checks_status_then_limit_then_parent(
    caller: Caller, plane: EmptyPlane
) -> None:
    for query in ("status=x", "limit=0", "limit=1001", "parent=", "status=", "limit=1&limit=x"):
        assert (await caller.get(f"/tokens?{query}")).refusal == (422, "invalid_argument")
    told = (await caller.get("/tokens?parent=&limit=0&status=x")).json["error"]
    assert "status" in told
    assert "limit" in (await caller.get("/tokens?parent=&limit=0")).json["error"]
    assert (
        await caller.get("/tokens?limit=x&limit=7&status=paused&parent=P%201&other=1")
    ).json == []
    assert plane.reached == [("paused", "P 1", 7)]


async def test_a_history_may_be_read_in_parts(caller: Caller, plane: EmptyPlane) -> None:
    await caller.get("/tokens/T/history?after=7&limit=2")
    assert plane.reached == [(7, 2)]
    for query in ("after=-1", "after=x", "limit=0", "limit="):
        assert (await caller.get(f"/tokens/T/history?{query}")).refusal == (422, "invalid_argument")


async def test_no_task_is_204_without_a_body(caller: Caller) -> None:
    reply = await caller.post("/tasks/claim", {"supervisor": "s", "states": [], "wait": 1})
    assert (reply.status, reply.body) == (204, b"")
    assert "content-type" not in reply.headers
    assert "content-length" not in reply.headers
    reply = await caller.post("/tasks/claim", {"supervisor": "s", "states": ["x"], "max": 5})
    assert reply.status == 204


async def test_health_and_workflow_say_what_is_served(caller: Caller, plane: EmptyPlane) -> None:
    health = (await caller.get("/health")).json
    assert health["workflow"] == "orders"
    assert health["checksum"] == plane.graph.checksum
    assert health["lease_for"] == 120
    assert health["version"]
    assert (await caller.get("/workflow")).json == plane.graph.document


async def test_what_is_not_http_is_refused_like_all_else(caller: Caller) -> None:
    for sent in (
        b"nonsense\r\n\r\n",
        b"GET /tokens/\xff HTTP/1.1\r\nhost: x\r\n\r\n",
        b"POST /tokens HTTP/1.1\r\nhost: x\r\ncontent-length: x\r\n\r\n",
        b"POST /tokens HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nz\r\n",
        b"GET /tokens HTTP/1.1\r\nhost: a b\r\nconnection: close\r\n\r\n",
    ):
        assert (await caller.raw(sent)).refusal == (400, "bad_request")


async def test_one_connection_carries_many_requests(caller: Caller) -> None:
    reader, writer = await asyncio.open_connection(caller.host, caller.port)
    too_large = (
        b"POST /tokens HTTP/1.1\r\nhost: x\r\ncontent-length: 2000000\r\n\r\n" + b"x" * 2_000_000
    )
    for sent, status in ((b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n", 200), (too_large, 413)) * 2:
        writer.write(sent)
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)
        reply = read_reply(head)
        assert reply.status == status
        await reader.readexactly(int(reply.headers["content-length"]))
    writer.close()


async def test_a_busy_database_asks_to_try_again() -> None:
    async with served(FailingPlane(DatabaseBusy("try again"))) as caller:
        reply = await caller.post("/tokens", {"token": "T"})
        assert reply.refusal == (503, "database_busy")
        assert reply.headers["retry-after"] == "1"


async def test_a_lost_database_is_not_served() -> None:
    async with served(FailingPlane(NotServing("lost"))) as caller:
        for path in ("/tokens", "/health", "/workflow"):
            reply = await caller.get(path)
            assert reply.refusal == (503, "not_serving")
            assert "retry-after" not in reply.headers


@pytest.mark.parametrize(
    "fault", [RuntimeError("secret"), Unexpected("secret"), KeyError("secret")], ids=repr
)
async def test_a_bug_is_told_to_the_log_only(fault: Exception) -> None:
    told = LogCapture()
    structlog.configure(processors=[told])
    try:
        async with served(FailingPlane(fault)) as caller:
            for reply in (
                await caller.post("/tokens", {"token": "T"}),
                await caller.get("/tokens"),
            ):
                assert reply.refusal == (500, "unexpected")
                assert b"secret" not in reply.body
    finally:
        structlog.reset_defaults()
    assert [entry["event"] for entry in told.entries] == ["request.unexpected"] * 2
    assert told.entries[0]["exc_info"] is fault
    assert told.entries[0]["path"] == "/tokens"
