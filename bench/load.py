"""The load: kept-alive connections that send one request after another, and cost little CPU themselves."""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import Any, Final, cast

import msgspec

_END_OF_HEAD: Final = b"\r\n\r\n"
_LENGTH: Final = b"content-length: "


class Answer(msgspec.Struct):
    """What came back, and after how many seconds."""

    status: int
    body: bytes
    took: float

    def read(self) -> Any:
        return msgspec.json.decode(self.body)


class Gone(ConnectionError):
    """The server closed the connection."""


class Connection(asyncio.Protocol):
    """One connection, one request at a time. Reads only answers that say their length, as ours do."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._received = b""
        self._sent_at = 0.0
        self._answered: asyncio.Future[Answer] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transport is one in all but name.
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answered is not None and not self._answered.done():
            self._answered.set_exception(Gone(f"the server closed the connection: {exc}"))

    def request(self, method: str, path: str, body: Any = None) -> asyncio.Future[Answer]:
        """Send one request; the answer comes with the future."""
        assert self._transport is not None
        sent = b"" if body is None else msgspec.json.encode(body)
        self._answered = asyncio.get_running_loop().create_future()
        self._sent_at = perf_counter()
        head = f"{method} {path} HTTP/1.1\r\nhost: bench\r\ncontent-length: {len(sent)}\r\n\r\n"
        self._transport.write(head.encode() + sent)
        return self._answered

    def data_received(self, data: bytes) -> None:
        self._received = self._received + data if self._received else data
        end = self._received.find(_END_OF_HEAD)
        if end < 0 or self._answered is None:
            return
        status = int(self._received[9:12])
        start = end + len(_END_OF_HEAD)
        length = 0
        if status != 204:
            at = self._received.find(_LENGTH, 0, end) + len(_LENGTH)
            length = int(self._received[at : self._received.find(b"\r", at)])
        if len(self._received) < start + length:
            return
        answer = Answer(
            status, self._received[start : start + length], perf_counter() - self._sent_at
        )
        self._received = b""
        self._answered.set_result(answer)

    def close(self) -> None:
        assert self._transport is not None
        self._transport.close()


async def connect(host: str, port: int) -> Connection:
    _, connection = await asyncio.get_running_loop().create_connection(Connection, host, port)
    return connection
