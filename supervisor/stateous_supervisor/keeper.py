"""The keeper of an isolated routine's process: a small process that ends it, with all that it started.

It is a process, and no thread, because code that keeps Python's lock would keep a thread waiting. And it
hears that the supervisor is gone, however that ended, because its stdin is a pipe from the supervisor.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import sys
import time
from types import FrameType
from typing import Final, NoReturn

GRACE: Final = 1.0
"""Seconds that a process has to end after SIGTERM, before it is killed."""


def keep(worker: int) -> NoReturn:
    """Wait for the end of `worker`, a group of its own; end it when stdin says something, or ends.

    What it leaves behind in its group is killed. Then this process ends as the worker did.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, _be_woken)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    status = _ended(worker)
    while status is None:
        told, _, _ = select.select([sys.stdin.fileno(), woken], [], [])
        status = _ended(worker)
        if status is None and woken not in told:
            status = _end(worker)
        elif status is None:
            os.read(woken, 64)
    _kill(worker, signal.SIGKILL)
    _end_like(status)


def _end(worker: int) -> int:
    """End the group; the status of its first process."""
    _kill(worker, signal.SIGTERM)
    until = time.monotonic() + GRACE
    while (status := _ended(worker)) is None:
        if time.monotonic() > until:
            _kill(worker, signal.SIGKILL)
            return os.waitpid(worker, 0)[1]
        time.sleep(0.01)
    return status


def _ended(worker: int) -> int | None:
    pid, status = os.waitpid(worker, os.WNOHANG)
    return status if pid else None


def _kill(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody is left in it
        os.killpg(group, number)


def _be_woken(_number: int, _frame: FrameType | None) -> None:
    """Python's default for SIGCHLD would not write to the pipe."""


def _end_like(status: int) -> NoReturn:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the worker left one, if anybody wants it
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1)
