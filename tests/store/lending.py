"""A connection pooler as PgBouncer is one, as far as it can be told from outside: it lends sessions of a server to its clients."""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from psycopg.conninfo import conninfo_to_dict

_ASKS_FOR_TLS = 80877103
_STARTS = 196608
_AUTHENTICATED = b"R\0\0\0\x08\0\0\0\0"
_READY = b"Z\0\0\0\x05I"

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Pooler:
    """Lends a session for one transaction, or, when it `keeps`, for as long as its client is there.

    The idle session that waited longest is lent first, or the last one when it is `lazy`.
    """

    def __init__(self, url: str, *, keeps: bool = False, lazy: bool = False) -> None:
        info = conninfo_to_dict(url)
        self._server = (str(info["host"]), int(str(info["port"])))
        self._name = str(info["dbname"])
        self._keeps = keeps
        self._lazy = lazy
        self._idle: deque[Ends] = deque()
        self._told = b""
        self._stack = AsyncExitStack()
        self._serving: list[asyncio.Task[None]] = []
        self.url = ""

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator[Pooler]:
        async with self._stack:
            await self._release(await self._new())
            listener = await asyncio.start_server(self._accept, "127.0.0.1", 0)
            port = listener.sockets[0].getsockname()[1]
            self.url = f"postgresql://postgres@127.0.0.1:{port}/{self._name}"
            try:
                yield self
            finally:
                listener.close()
                # The clients have closed, so each of them comes to its end.
                await asyncio.gather(*self._serving)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._serving.append(asyncio.create_task(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await _startup(reader, writer)
            key = b"K\0\0\0\x0c" + secrets.token_bytes(8)
            writer.write(_AUTHENTICATED + self._told + key + _READY)
            if self._keeps:
                await _copy_both((reader, writer), await self._new())
            else:
                await self._lend(reader, writer)
        writer.close()

    async def _lend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session: Ends | None = None
        said = b""
        while True:
            kind, message = await _message(reader)
            if kind == b"X":
                return
            said += message
            if kind not in (b"Q", b"S"):
                continue
            session = session or await self._taken()
            session[1].write(said)
            said = b""
            while True:
                kind, message = await _message(session[0])
                writer.write(message)
                if kind == b"Z":
                    break
            if message == _READY:
                await self._release(session)
                session = None

    async def _taken(self) -> Ends:
        if not self._idle:
            return await self._new()
        return self._idle.pop() if self._lazy else self._idle.popleft()

    async def _release(self, session: Ends) -> None:
        self._idle.append(session)

    async def _new(self) -> Ends:
        reader, writer = await asyncio.open_connection(*self._server)
        self._stack.callback(writer.close)
        asked = b"user\0postgres\0database\0" + self._name.encode() + b"\0\0"
        writer.write((len(asked) + 8).to_bytes(4) + _STARTS.to_bytes(4) + asked)
        told = b""
        while True:
            kind, message = await _message(reader)
            if kind == b"S":
                told += message
            if kind == b"Z":
                self._told = told
                return reader, writer


async def _startup(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        length = int.from_bytes(await reader.readexactly(4))
        asked = await reader.readexactly(length - 4)
        if int.from_bytes(asked[:4]) != _ASKS_FOR_TLS:
            return
        writer.write(b"N")


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """The kind of the next message, and all of it."""
    head = await reader.readexactly(5)
    return head[:1], head + await reader.readexactly(int.from_bytes(head[1:]) - 4)


async def _copy_both(client: Ends, server: Ends) -> None:
    answers = asyncio.create_task(_copy(server[0], client[1]))
    await _copy(client[0], server[1])
    await asyncio.wait([answers])


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while received := await reader.read(1 << 20):
            writer.write(received)
            await writer.drain()
    writer.close()
