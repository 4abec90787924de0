"""How a supervisor is stopped: the first signal asks it to finish, the second to end now."""

from __future__ import annotations

import asyncio
import signal

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """`asked`: no new tasks. `now`: nothing is waited for any more. Both stay set."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.now = asyncio.Event()

    def ask(self) -> None:
        """One signal more."""
        (self.now if self.asked.is_set() else self.asked).set()

    def listen(self) -> None:
        """Take Ctrl-C and SIGTERM in the running loop, until `ignore`."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self.ask)

    def ignore(self) -> None:
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.remove_signal_handler(number)


async def wait_for_any(*events: asyncio.Event, within: float | None = None) -> None:
    """Return when one of the events is set, or after `within` seconds."""
    if any(event.is_set() for event in events):
        return
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, timeout=within, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
