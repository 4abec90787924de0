"""A real server around a plane, on a free port of this computer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from stateous.api.app import build_app
from stateous.api.plane import ManualTime, Plane
from stateous.api.server import Server, bind_socket
from tests.api.caller import Caller


@asynccontextmanager
async def served(plane: Plane, *, time: ManualTime | None = None) -> AsyncGenerator[Caller]:
    """A caller of the plane's API; the server is gone afterwards."""
    listening = bind_socket("127.0.0.1", 0)
    server = Server(build_app(plane, time=time), listening)
    serving = asyncio.create_task(server.serve())
    await server.ready()
    try:
        yield Caller(*listening.getsockname()[:2])
    finally:
        server.stop()
        await serving
