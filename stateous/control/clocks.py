"""Where the control plane's time comes from: real time that never runs backwards, or a hand that moves it."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SystemClock:
    """Wall-clock time at the start, carried on by a clock that nobody sets.

    A wall clock that is set while the control plane runs moves no timer and ends no lease; the time in which
    the computer slept counts.
    """

    def __init__(self) -> None:
        self._offset = time.time_ns() - _elapsed_ns()

    def __call__(self) -> datetime:
        """The time now, aware, in UTC, in whole microseconds."""
        microseconds = (_elapsed_ns() + self._offset) // 1000
        return _EPOCH + timedelta(microseconds=microseconds)


def _elapsed_ns() -> int:
    if sys.platform == "linux":
        # Unlike the monotonic clock, it goes on while a laptop or a virtual machine is suspended.
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    return time.monotonic_ns()


class ManualClock:
    """A clock for tests: it stands still at real time, until it is moved on. It never runs backwards."""

    def __init__(self) -> None:
        self._now = SystemClock()()

    def __call__(self) -> datetime:
        """The time that it was moved to, aware, in UTC, in whole microseconds."""
        return self._now

    def move_to(self, now: datetime) -> None:
        """Move on to this time; a time that is over already changes nothing."""
        self._now = max(self._now, now)
