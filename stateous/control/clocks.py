"""Where the control plane's time comes from: real time that never runs backwards."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SystemClock:
    """Wall-clock time at the start, carried on by the monotonic clock.

    A wall clock that is set while the control plane runs moves no timer and ends no lease.
    """

    def __init__(self) -> None:
        self._offset = time.time_ns() - time.monotonic_ns()

    def __call__(self) -> datetime:
        """The time now, aware, in UTC, in whole microseconds."""
        microseconds = (time.monotonic_ns() + self._offset) // 1000
        return _EPOCH + timedelta(microseconds=microseconds)
