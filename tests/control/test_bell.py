"""A bell is heard once, by who sleeps or by who would, and never swallows a cancellation."""

from __future__ import annotations

import asyncio

from stateous.control.bell import Bell


async def test_it_wakes_who_sleeps_and_is_silent_then() -> None:
    bell = Bell()
    sleeping = asyncio.create_task(bell.heard(within=30))
    await asyncio.sleep(0)
    bell.ring()
    assert await sleeping
    assert not await bell.heard(within=0)


async def test_a_ring_that_nobody_heard_is_heard_by_the_next_unless_it_is_hushed() -> None:
    bell = Bell()
    bell.ring()
    assert await bell.heard(within=30)
    bell.ring()
    bell.hush()
    assert not await bell.heard(within=0)


async def test_a_cancellation_that_comes_with_the_ring_is_not_lost() -> None:
    bell = Bell()
    sleeping = asyncio.create_task(bell.heard(within=30))
    await asyncio.sleep(0)
    bell.ring()
    sleeping.cancel()
    await asyncio.wait([sleeping])
    assert sleeping.cancelled()
