"""Waiting for the first of several things, with nothing left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")


class Race:
    """What is entered runs until the end of the `async with`; then it is cancelled, and waited for."""

    def __init__(self) -> None:
        self._entered: list[asyncio.Future[Any]] = []
        self._watched: list[asyncio.Future[Any]] = []

    def enter(self, runner: Coroutine[Any, Any, T]) -> asyncio.Future[T]:
        """Let it run in this race."""
        entered = asyncio.ensure_future(runner)
        self._entered.append(entered)
        return entered

    def watch(self, runner: asyncio.Future[Any]) -> None:
        """Look at what runs anyway, and goes on after the race."""
        self._watched.append(runner)

    async def first(self) -> None:
        """Wait until one of them has ended, well or not."""
        await asyncio.wait([*self._entered, *self._watched], return_when=asyncio.FIRST_COMPLETED)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for runner in self._entered:
            runner.cancel()
        await asyncio.gather(*self._entered, return_exceptions=True)
