"""Where the control plane's time comes from: real time, set by the database's clock, or a hand that moves it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class SystemClock:
    """Wall-clock time at the start, carried on by a clock that nobody sets, and corrected by `set_to`.

    A wall clock that is set while the control plane runs moves no timer and ends no lease; the time in which
    the computer slept counts. `wall_ns` is what the computer takes for the time, in nanoseconds since 1970.
    """

    def __init__(self, *, wall_ns: Callable[[], int] = time.time_ns) -> None:
        self._offset = wall_ns() - elapsed_ns()

    def __call__(self) -> datetime:
        """The time now, aware, in UTC, in whole microseconds."""
        microseconds = (elapsed_ns() + self._offset) // 1000
        return _EPOCH + timedelta(microseconds=microseconds)

    def set_to(self, offset: int) -> int:
        """Tell the time that is `offset` nanoseconds ahead of `elapsed_ns`; by how much it was moved on."""
        by, self._offset = offset - self._offset, offset
        return by


def since_1970_ns(moment: datetime) -> int:
    """Nanoseconds from 1970 to this moment."""
    return (moment - _EPOCH) // _MICROSECOND * 1000


def elapsed_ns() -> int:
    """Nanoseconds that have passed, from a beginning that is the same as long as the process lives."""
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
