"""How a supervisor is stopped: the first signal asks it to finish, the second to end now."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(BaseException):
    """A signal came while something ran that nobody could have told otherwise."""


class Stop:
    """`asked`: no new tasks. `now`: nothing is waited for any more. Both stay set.

    `leash` is a pipe whose other end the process holds that we belong to.
    """

    def __init__(self, leash: int | None = None) -> None:
        self.asked = asyncio.Event()
        self.now = asyncio.Event()
        self._leash = leash
        self._handlers: dict[signal.Signals, object] = {}

    def ask(self) -> None:
        """One signal more."""
        (self.now if self.asked.is_set() else self.asked).set()

    def listen(self) -> None:
        """Take Ctrl-C, SIGTERM and the end of the leash in the running loop, until `ignore`."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self.ask)
            self._handlers[number] = signal.getsignal(number)
        if self._leash is not None:
            loop.add_reader(self._leash, self._let_go)

    @contextmanager
    def interrupts(self) -> Generator[None]:
        """Meanwhile a signal raises Interrupted in what runs: the loop, which would hear of it, does not get its turn."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.remove_signal_handler(number)
            signal.signal(number, self._interrupt)
        try:
            yield
        finally:
            self.listen()

    def _interrupt(self, _number: int, _frame: FrameType | None) -> NoReturn:
        self.ask()
        raise Interrupted

    def listen_again(self) -> bool:
        """Take back signals that a routine has taken; whether there were any."""
        taken = [n for n, ours in self._handlers.items() if signal.getsignal(n) is not ours]
        if taken:
            self.listen()
        return bool(taken)

    def ignore(self) -> None:
        loop = asyncio.get_running_loop()
        self._handlers.clear()
        for number in SIGNALS:
            loop.remove_signal_handler(number)
        if self._leash is not None:
            loop.remove_reader(self._leash)

    def _let_go(self) -> None:
        """Whom we belong to is gone, and whoever takes its place needs the folder."""
        if self._leash is not None:
            asyncio.get_running_loop().remove_reader(self._leash)
        self.asked.set()
        self.now.set()


async def wait_for_any(
    *awaited: asyncio.Event | asyncio.Future[Any], within: float | None = None
) -> None:
    """Return when one of the events is set or one of the futures done, or after `within` seconds."""
    if any(each.is_set() if isinstance(each, asyncio.Event) else each.done() for each in awaited):
        return
    events = [asyncio.ensure_future(e.wait()) for e in awaited if isinstance(e, asyncio.Event)]
    futures = [each for each in awaited if not isinstance(each, asyncio.Event)]
    try:
        await asyncio.wait([*events, *futures], timeout=within, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for event in events:
            event.cancel()
