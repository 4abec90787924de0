"""What the control plane does about what other processes tell it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from stateous.control.claiming import Claiming
from stateous.control.ticking import Ticker


class Ears:
    """Passes on what is heard to whom it concerns. `inbox` and `time` are called to look again."""

    def __init__(
        self,
        claims: Claiming,
        ticker: Ticker,
        *,
        inbox: Callable[[], None],
        time: Callable[[], None],
    ) -> None:
        self._claims = claims
        self._ticker = ticker
        self._inbox = inbox
        self._time = time

    def tasks_queued(self, ready: Mapping[str, int]) -> None:
        """Somebody who waits here may have them."""
        self._claims.heard(ready)

    def timer_set(self, due: datetime) -> None:
        """Whoever runs the clock fires it."""
        self._ticker.hear(due)

    def supervisors_gone(self, supervisors: Iterable[str]) -> None:
        """They may wait here."""
        self._claims.end_waits_of(supervisors)

    def inbox_filled(self) -> None:
        """Whoever runs the clock empties it."""
        self._inbox()

    def anything(self) -> None:
        """Look for everything; and when we were cut off, it may be another server that answers now."""
        self._claims.look()
        self._inbox()
        self._time()
