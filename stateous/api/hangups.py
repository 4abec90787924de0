"""Work that nobody wants any more when the client hangs up before it is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from stateous.api.refusals import Asked

T = TypeVar("T")


async def while_connected(request: Asked, work: Coroutine[Any, Any, T]) -> T | None:
    """What the work came to; None when the client hung up first, then it is cancelled.

    The request's body has been read: what the server tells from now on is that the client is gone.
    """
    working = asyncio.ensure_future(work)
    hanging_up = asyncio.ensure_future(_hung_up(request))
    try:
        await asyncio.wait((working, hanging_up), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        working.cancel()
        await asyncio.wait((working,))
        if not working.cancelled():
            # It ended at the same moment; nobody is there to hear of what went wrong with it.
            working.exception()
        return None
    finally:
        working.cancel()
        hanging_up.cancel()


async def _hung_up(request: Asked) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
