"""HTTP/1.1 on a connection: uvicorn's protocol, sparing with packets and patient with clients that still speak."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any, Final, cast

import httptools
import msgspec
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from stateous.model.refusals import BadRequest

_END_OF_HEAD: Final = b"\r\n\r\n"

_USUAL: Final = (b"GET ", b"POST ", b"PUT ", b"HEAD ", b"DELETE ", b"PATCH ", b"OPTIONS ")
_REQUEST_LINE: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) /[!-~]* HTTP/1\.[01]\r\n")
_NO_ROUTE_TAKES: Final = b"TRACE"

LINGERS_FOR: Final = 2.0
"""Seconds in which a client may read our last answer while it still sends."""


class Protocol(HttpToolsProtocol):
    """uvicorn's protocol, with five differences.

    An answer's head and body leave in one write, which costs both sides half as much as two. A header may
    hold control characters, and any word may be a method: whoever reads the key, or looks for the route,
    refuses them. What is not HTTP is answered with a refusal like all others. And a connection that ends
    while a body is still coming in (413, or a route that reads none) is closed for writing only, until the
    client has heard us: closed at once, the kernel would reset it, and the client would lose the answer.
    """

    def connection_made(self, transport: asyncio.BaseTransport) -> None:  # type: ignore[override]
        made = cast("asyncio.Transport", transport)
        super().connection_made(made)
        # Only the values of headers are lenient: lengths and encodings are checked as before.
        parser = cast("httptools.HttpRequestParser", self.parser)
        parser.set_dangerous_leniencies(lenient_headers=True, lenient_data_after_close=True)
        self._spoken = _Transport(made, self.is_spoken_to)
        self.transport = cast("asyncio.Transport", self._spoken)

    def data_received(self, data: bytes) -> None:
        if not self._spoken.ends:
            super().data_received(self._with_a_known_method(data))

    def send_400_response(self, msg: str) -> None:
        body = msgspec.json.encode(
            {"error": f"the request cannot be read: {msg}", "code": BadRequest.code}
        )
        self.transport.write(
            b"%scontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s"
            % (STATUS_LINE[400], len(body), body)
        )
        self._spoken.linger()

    def _with_a_known_method(self, data: bytes) -> bytes:
        """The data; a word that the parser takes for no method becomes one that no route takes."""
        if data.startswith(_USUAL) or self.is_spoken_to():
            return data
        line = _REQUEST_LINE.match(data)
        return data if line is None else _NO_ROUTE_TAKES + data[line.end(1) :]

    def is_spoken_to(self) -> bool:
        """Whether the body of the last request is still to come."""
        # Typed as always there, but None before the first request.
        cycle = cast("Any", self.cycle)
        return cycle is not None and cycle.more_body


class _Transport:
    """What uvicorn uses of a transport.

    `write` keeps an answer's head until its body comes, at the latest until the loop's next pass; `close`
    lingers when `is_spoken_to` says so.
    """

    def __init__(self, transport: asyncio.Transport, is_spoken_to: Callable[[], bool]) -> None:
        self._transport = transport
        self._is_spoken_to = is_spoken_to
        self._loop = asyncio.get_running_loop()
        self._head = b""
        self.get_extra_info = transport.get_extra_info
        self.abort = transport.abort
        self.ends = False

    def write(self, data: bytes) -> None:
        if self._transport.is_closing():
            # The client hung up, and the loop has not told us yet.
            return
        if self._head:
            data, self._head = self._head + data, b""
        elif data.endswith(_END_OF_HEAD):
            self._head = data
            self._loop.call_soon(self._flush)
            return
        self._transport.write(data)

    def _flush(self) -> None:
        head, self._head = self._head, b""
        if head and not self._transport.is_closing():
            self._transport.write(head)

    def is_closing(self) -> bool:
        return self.ends or self._transport.is_closing()

    def close(self) -> None:
        if not self.ends and self._is_spoken_to():
            self.linger()
        else:
            self._flush()
            self._transport.close()

    def linger(self) -> None:
        """Say that we have said all, and hang up when the client does, or after a while."""
        if self.is_closing():
            return
        self.ends = True
        self._flush()
        self._transport.write_eof()
        self._transport.resume_reading()
        self._loop.call_later(LINGERS_FOR, self._transport.close)
