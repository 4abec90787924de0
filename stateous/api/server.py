"""Serving the application on a socket: uvicorn with uvloop and httptools, stopped without cutting answers off."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import socket
import sys
from collections.abc import Coroutine, Generator
from typing import Any, Final, TypeVar, cast

import uvicorn
from litestar.types import ASGIApp

from stateous.api.protocol import Protocol
from stateous.model.refusals import StateousError

if sys.platform != "win32":
    import uvloop

T = TypeVar("T")

KEPT_ALIVE_FOR: Final = 75
"""Seconds that an idle connection is kept: more than a supervisor's heartbeat lets pass between two requests."""

STOPPED_WITHIN: Final = 15
"""Seconds that requests in progress have at a stop: more than a command's deadline of 10 s."""

HALF_SENT_FOR: Final = 2.0
"""Seconds that a client has, at a stop, to send the rest of a request."""

COLLECTED_AFTER: Final = (50_000, 20, 100)
"""The collector's thresholds while a server runs."""


class CannotListen(StateousError):
    """The address cannot be listened on: the port is in use, the host is not ours, the port is reserved."""


def bind_socket(host: str, port: int) -> socket.socket:
    """A socket bound to the address, not yet listening; port 0 takes a free one. Raises CannotListen."""
    bound: socket.socket | None = None
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # asyncio sets TCP_NODELAY only on a socket whose protocol says TCP; without it each answer on a
        # kept connection waits 40 ms for a delayed acknowledgement.
        bound = socket.socket(family, kind, socket.IPPROTO_TCP)
        if os.name == "posix":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except UnicodeError:
        # A part of the name is empty or has more than 63 letters.
        raise CannotListen(f"cannot listen on {host}:{port}: that is no name of a host") from None
    except OSError as fault:
        if bound is not None:
            bound.close()
        reason = (fault.strerror or str(fault)).lower()
        raise CannotListen(f"cannot listen on {host}:{port}: {reason}") from None
    bound.setblocking(False)
    return bound


class Server:
    """One run of the HTTP server on a bound socket, in the running event loop. It watches no signals."""

    def __init__(self, app: ASGIApp, listening: socket.socket) -> None:
        self._listening = listening
        self._uvicorn = _Uvicorn(
            uvicorn.Config(
                app,  # pyright: ignore[reportArgumentType] - the same protocol in Litestar's words
                http=Protocol,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=KEPT_ALIVE_FOR,
                timeout_graceful_shutdown=STOPPED_WITHIN,
            )
        )

    async def serve(self) -> None:
        """Answer requests until `stop`; returns when those in progress are answered.

        Raises OSError when another process took the port between `bind_socket` and now.
        """
        await self._uvicorn.serve([self._listening])

    async def ready(self) -> None:
        """Wait until connections are taken."""
        await self._uvicorn.listens.wait()

    def stop(self) -> None:
        """Take no more connections, finish what is in progress.

        A client that has not sent its request by then has two seconds for the rest of it.
        """
        self._uvicorn.should_exit = True
        self._uvicorn.stops.set()
        asyncio.get_running_loop().call_later(HALF_SENT_FOR, self._drop_half_sent)

    def _drop_half_sent(self) -> None:
        # All are of our class: the configuration names it.
        for connection in cast("list[Protocol]", list(self._uvicorn.server_state.connections)):
            if connection.is_spoken_to():
                connection.transport.abort()

    def stop_at_once(self) -> None:
        """Stop without waiting for what is in progress."""
        self._uvicorn.force_exit = True
        self.stop()
        # From Python 3.12 on, a server is closed only when its connections are.
        for connection in list(self._uvicorn.server_state.connections):
            connection.transport.abort()


def run_loop(main: Coroutine[Any, Any, T]) -> T:
    """Run the coroutine as a server's process is run: on uvloop where there is one, and seldom interrupted."""
    with _collecting_seldom():
        if sys.platform == "win32":
            return asyncio.run(main)
        return uvloop.run(main)


@contextlib.contextmanager
def _collecting_seldom() -> Generator[None]:
    """Keep the cycle collector out of the way of requests.

    A batch of commands makes thousands of objects, none of them in cycles; with Python's thresholds the
    collector walks all that lives, again and again: a third of a start's CPU, and pauses of 100 ms.
    """
    thresholds = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTED_AFTER)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()


class _Uvicorn(uvicorn.Server):
    """uvicorn, told when it listens, and without its own hands on the process's signals."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listens = asyncio.Event()
        self.stops = asyncio.Event()

    async def main_loop(self) -> None:
        # uvicorn looks ten times a second whether it shall stop; here it is told, and looks at the clock
        # once a second for the header Date.
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.stops.wait(), 1)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listens.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield
