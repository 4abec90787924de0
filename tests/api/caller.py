"""A client that sends exactly the bytes it is told to, over a connection of its own for each request."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Final

import msgspec

Headers = Iterable[tuple[str, str | bytes]]
NO_BODY: Final = object()


class Reply(msgspec.Struct):
    """What came back; header names in lower case, of a repeated one the last."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def refusal(self) -> tuple[int, str]:
        """The status and the code; fails unless the body is a refusal of ours."""
        assert self.headers["content-type"] == "application/json", self
        told = self.json
        assert isinstance(told["error"], str)
        assert told["error"]
        assert "\n" not in told["error"]
        return self.status, told["code"]


class Caller:
    """Calls one server."""

    def __init__(self, host: str, port: int) -> None:
        self.host = host
        self.port = port

    async def get(self, path: str) -> Reply:
        return await self.send("GET", path)

    async def post(self, path: str, body: Any = NO_BODY, headers: Headers = ()) -> Reply:
        return await self.send("POST", path, body, headers)

    async def put(self, path: str, body: Any = NO_BODY) -> Reply:
        return await self.send("PUT", path, body)

    async def send(
        self, method: str, path: str, body: Any = NO_BODY, headers: Headers = ()
    ) -> Reply:
        """Send a request; bytes as they are, another body as JSON."""
        raw = b""
        if body is not NO_BODY:
            raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
        lines = [f"{method} {path} HTTP/1.1".encode(), b"host: test", b"connection: close"]
        lines += [name.encode() + b": " + _bytes(value) for name, value in headers]
        if raw:
            lines.append(b"content-length: %d" % len(raw))
        return await self.raw(b"\r\n".join(lines) + b"\r\n\r\n" + raw)

    async def raw(self, sent: bytes) -> Reply:
        """Send these bytes, and read until the server closes the connection."""
        reader, writer = await asyncio.open_connection(self.host, self.port)
        try:
            writer.write(sent)
            received = await asyncio.wait_for(reader.read(), 20)
        finally:
            writer.close()
        return read_reply(received)


def read_reply(received: bytes) -> Reply:
    """The one reply that these bytes are."""
    head, _, body = received.partition(b"\r\n\r\n")
    status_line, *lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    assert headers.get("transfer-encoding") is None, "our answers say their length"
    return Reply(int(status_line.split(" ")[1]), headers, body)


def _bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode("latin-1")
