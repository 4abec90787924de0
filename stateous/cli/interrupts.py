"""Signals that ask a control plane to stop: the first one politely, the second one at once."""

from __future__ import annotations

import asyncio
import signal
from typing import Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """`asked` is set by the first signal, `now` by the second. Both stay set. Made in a running loop."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.now = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self._take)

    def _take(self) -> None:
        (self.now if self.asked.is_set() else self.asked).set()
