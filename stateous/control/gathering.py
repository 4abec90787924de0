"""Gathers what arrives together into one batch at a time: the shape of the claim and heartbeat lanes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_ITEMS = 200


class Gatherer(Generic[Item, Result]):
    """Calls `handle` with what has arrived, at most 200 items, one batch at a time.

    `handle` answers one result per item, in order; an exception that it raises is every item's answer,
    and a result that is an exception is raised to its own caller.
    """

    def __init__(
        self, handle: Callable[[Sequence[Item]], Awaitable[Sequence[Result | Exception]]]
    ) -> None:
        self._handle = handle
        self._ready: deque[tuple[Item, asyncio.Future[Result]]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._gathered = 0
        self._handled = 0
        self._settling: list[tuple[int, asyncio.Future[None]]] = []

    async def submit(self, item: Item) -> Result:
        """The item's result. Cancelling the caller withdraws the item, unless it is in a batch already."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()
        self._ready.append((item, future))
        self._gathered += 1
        if self._task is None:
            self._task = loop.create_task(self._run())
        return await future

    async def settle(self) -> None:
        """Wait until all that was submitted so far has been handled, whoever waits for it."""
        if self._handled < self._gathered:
            settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._settling.append((self._gathered, settled))
            await settled

    async def drain(self) -> None:
        """Wait until everything that was submitted has its answer."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        # One pass of the loop, so that everything that arrived with the first item shares its batch.
        await asyncio.sleep(0)
        while self._ready:
            count = min(len(self._ready), MOST_ITEMS)
            taken = [self._ready.popleft() for _ in range(count)]
            batch = [each for each in taken if not each[1].cancelled()]
            if batch:
                await self._handle_batch(batch)
            self._handled += count
            self._say_settled()
        self._task = None

    async def _handle_batch(self, batch: Sequence[tuple[Item, asyncio.Future[Result]]]) -> None:
        try:
            results = await self._handle([item for item, _ in batch])
            answers = list(zip(batch, results, strict=True))
        except Exception as fault:  # noqa: BLE001 - it is every caller's answer
            answers = [(each, fault) for each in batch]
        for (_, future), result in answers:
            _settle(future, result)

    def _say_settled(self) -> None:
        while self._settling and self._settling[0][0] <= self._handled:
            _, settled = self._settling.pop(0)
            if not settled.done():
                settled.set_result(None)


def _settle(future: asyncio.Future[Result], result: Result | Exception) -> None:
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
