"""A bell: whoever sleeps beside it wakes when it rings, or when the time is over."""

from __future__ import annotations

import asyncio
from contextlib import suppress


class Bell:
    """Remembers that it was rung until somebody has heard it."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """Wake whoever sleeps beside it, or else the next one who would."""
        self._rung.set()

    def hush(self) -> None:
        """Forget that it was rung."""
        self._rung.clear()

    async def heard(self, *, within: float) -> bool:
        """Sleep for so many seconds, or until it rings; whether it did. It is silent again then."""
        # Python 3.11's `wait_for` would lose a cancellation that comes together with the ring.
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._rung.wait()
        rung = self._rung.is_set()
        self._rung.clear()
        return rung
