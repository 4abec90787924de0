"""Ends tasks for certain: on Python 3.11 a cancellation can get lost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

_AGAIN_AFTER = 0.05


async def end(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks, and return when all of them have ended, however that was.

    A task that waits for a database waits in psycopg, in `asyncio.wait_for`. Before Python 3.12 that swallows a
    cancellation that comes together with the answer, so who goes on is cancelled again.
    """
    left = {task for task in tasks if not task.done()}
    while left:
        for task in left:
            task.cancel()
        ended, left = await asyncio.wait(left, timeout=_AGAIN_AFTER)
        for task in ended:
            # Looked at, so that nobody warns of a fault that nobody looked at.
            _ = task.cancelled() or task.exception()
