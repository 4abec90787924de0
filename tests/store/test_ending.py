"""Tasks end when they are told, also when they lose the first cancellation."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from stateous.store.ending import end


async def test_a_task_that_swallows_a_cancellation_is_cancelled_again() -> None:
    async def goes_on() -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)
        await asyncio.sleep(3600)

    task = asyncio.ensure_future(goes_on())
    await asyncio.sleep(0)
    await asyncio.wait_for(end([task]), 10)
    assert task.cancelled()


async def test_a_task_that_fails_as_it_is_cancelled_has_ended() -> None:
    async def fails() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            raise ValueError("too late")

    task = asyncio.ensure_future(fails())
    await asyncio.sleep(0)
    await asyncio.wait_for(end([task]), 10)
    assert isinstance(task.exception(), ValueError)
