"""A proxy in front of a Postgres that can cut what passes through it, at a chosen place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from enum import Enum, auto

from psycopg.conninfo import conninfo_to_dict

from tests.databases import Database


class Cut(Enum):
    """Where the next thing that a client sends is cut."""

    NOWHERE = auto()
    BEFORE_THE_SERVER = auto()
    """The server never gets it."""
    BEFORE_THE_ANSWER = auto()
    """The server gets it and answers; the answer is lost."""
    BEHIND_THE_COMMIT = auto()
    """The server has committed, and ends the session before it says that it is ready."""


_READY = b"Z\0\0\0\5I"
_FATAL_FIELDS = b"SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0"
_FATAL = b"E" + (len(_FATAL_FIELDS) + 4).to_bytes(4) + _FATAL_FIELDS


class Proxy:
    """Passes bytes on until it is told to cut: one connection is cut, and all others pass.

    `passing` is how many more times a client may send something before `cut` is made. While `refuses` is
    set, nobody new gets through.
    """

    def __init__(self, database: Database) -> None:
        info = conninfo_to_dict(database.url)
        self._server = (str(info["host"]), int(str(info["port"])))
        self._name = info["dbname"]
        self._url = ""
        self.cut = Cut.NOWHERE
        self.cuts = 0
        self.passing = 0
        self.refuses = False
        self._clients: set[asyncio.StreamWriter] = set()
        self._serving: list[asyncio.Task[None]] = []

    @property
    def database(self) -> Database:
        """The same database, through the proxy."""
        return Database("postgres", self._url)

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator[Proxy, None]:
        listener = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        self._url = f"postgresql://postgres@127.0.0.1:{port}/{self._name}?sslmode=disable"
        try:
            yield self
        finally:
            listener.close()
            # The clients have closed, so each of them comes to its end.
            await asyncio.gather(*self._serving)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._serving.append(asyncio.create_task(self._serve(reader, writer)))

    def cut_all(self) -> None:
        """Cut every connection now; what the server has got already it still does."""
        for client in self._clients:
            client.close()
        self.cuts += len(self._clients)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refuses:
            writer.close()
            return
        self._clients.add(writer)
        from_server, to_server = await asyncio.open_connection(*self._server)
        try:
            with suppress(ConnectionError):
                await self._pass_on(reader, writer, from_server, to_server)
        finally:
            self._clients.discard(writer)
            for end in (writer, to_server):
                end.close()
                with suppress(ConnectionError):
                    await end.wait_closed()

    def _cut_now(self) -> Cut:
        if self.cut is not Cut.NOWHERE and self.passing > 0:
            self.passing -= 1
            return Cut.NOWHERE
        cut, self.cut = self.cut, Cut.NOWHERE
        self.cuts += cut is not Cut.NOWHERE
        return cut

    async def _pass_on(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        from_server: asyncio.StreamReader,
        to_server: asyncio.StreamWriter,
    ) -> None:
        answers = asyncio.create_task(_copy(from_server, writer))
        try:
            while sent := await reader.read(1 << 20):
                cut = self._cut_now()
                if cut is Cut.BEFORE_THE_SERVER:
                    return
                if cut in (Cut.BEFORE_THE_ANSWER, Cut.BEHIND_THE_COMMIT):
                    await _end(answers)
                    to_server.write(sent)
                    # The server's answer shows that it has done what was asked.
                    answer = await from_server.read(1 << 20)
                    if cut is Cut.BEHIND_THE_COMMIT:
                        writer.write(answer.removesuffix(_READY) + _FATAL)
                        # It hangs up a moment later: not before the client has heard this.
                        await reader.read(1 << 20)
                    return
                to_server.write(sent)
                await to_server.drain()
        finally:
            await _end(answers)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    # A server that hangs up with something unread resets the connection; that is an end, too.
    with suppress(ConnectionError):
        while received := await reader.read(1 << 20):
            writer.write(received)
            await writer.drain()
    writer.close()


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError, ConnectionError):
        await task
