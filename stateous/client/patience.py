"""When a call is tried again: after 1, 2, 4, 8, 16, then every 30 seconds, never all clients at the same moment."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any, Final

from stateous.client.calls import Call
from stateous.client.errors import Again

WAITS: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
TRY_FOR: Final = 15.0
"""Seconds that one try may take: longer than a control plane takes to give up a command (10 s)."""

_LONGEST_ASKED: Final = 300.0
_SPREAD: Final = 0.2


def nominal_wait(tries: int, *, retry_after: float | None = None) -> float:
    """Seconds to wait after this many failed tries in a row (1 or more), or longer if the server asks for it."""
    wait = WAITS[min(tries, len(WAITS)) - 1]
    return wait if retry_after is None else max(wait, min(retry_after, _LONGEST_ASKED))


def spread(wait: float, *, chance: Callable[[], float] = random.random) -> float:
    """The wait made up to a fifth longer, so that those who failed together do not come back together."""
    return wait * (1.0 + _SPREAD * chance())


def longest_try(call: Call[Any]) -> float:
    """Seconds that one try of this call may take."""
    return TRY_FOR + call.waits


class Patience:
    """How long one call goes on: until `timeout` seconds after this was made, or for so many tries."""

    def __init__(
        self,
        timeout: float,
        *,
        tries: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._ends_at = clock() + timeout
        self._tries = 0
        self._most = tries

    def try_for(self, call: Call[Any]) -> float:
        """Seconds that the call's next try may take; never 0, so that each call is tried."""
        return max(0.001, min(longest_try(call), self._ends_at - self._clock()))

    def wait_for(self, call: Call[Any], again: Again) -> float:
        """Seconds to wait before the next try. Raises what the try failed with when there is to be none."""
        self._tries += 1
        wait = spread(nominal_wait(self._tries, retry_after=again.retry_after))
        is_over = self._tries == self._most or self._clock() + wait >= self._ends_at
        if is_over or (again.done and not call.repeatable):
            raise again.cause from again.__cause__
        return wait
