"""Where the log goes when nobody watches: stderr, on a file of our own that no routine can close."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from select import PIPE_BUF, POLLOUT, poll
from threading import Lock, Thread
from typing import Final, Self

from stateous_supervisor.run import Run

_PATIENCE: Final = 2.0
"""Seconds for a reader who is slow, at the end."""
_ROOM: Final = 1 << 22
"""Bytes that wait for a reader who does not read."""


class Stderr:
    """Lines are written whole, from any thread, and nobody waits: a log must not stop the work, nor the heartbeat.

    What the file does not take at once a thread writes later. What cannot be written is lost, and so is what comes
    when too much waits.
    """

    def __init__(self, number: int = 2) -> None:
        self._order = Lock()
        self._late: deque[bytes] = deque()
        self._room = _ROOM
        self._later: Thread | None = None
        try:
            self._file: int | None = os.dup(number)
        except OSError:  # it was closed before we began
            self._file = None

    def write(self, line: str) -> None:
        """Write a line, and its end."""
        data = f"{line}\n".encode("utf-8", "backslashreplace")
        with self._order:
            if self._file is None:
                return
            if self._later is None:
                data = _rest(self._file, data, wait=0)
            if not data or len(data) > self._room:
                return
            self._late.append(data)
            self._room -= len(data)
            if self._later is None:
                self._later = Thread(target=self._write_later, args=(self._file,), daemon=True)
                self._later.start()

    def shows(self, runs: Callable[[], Sequence[Run]]) -> None:
        """Nothing: a file is no terminal."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_ended: object) -> None:
        self.close()

    def close(self) -> None:
        with self._order:
            file, self._file = self._file, None
            later = self._later
        if later is not None:
            later.join(_PATIENCE)
            if later.is_alive():
                return  # nobody reads, and it may be writing
        if file is not None:
            os.close(file)

    def _write_later(self, file: int) -> None:
        while True:
            with self._order:
                if not self._late:
                    self._later = None
                    return
                data = self._late.popleft()
                self._room += len(data)
            while data:
                data = _rest(file, data, wait=None)


def _rest(file: int, data: bytes, *, wait: int | None) -> bytes:
    """Write what a file takes within so many milliseconds; what it did not take, nothing when it takes none."""
    ready = poll()
    ready.register(file, POLLOUT)
    try:
        # So much it takes without waiting when it is ready.
        while data and ready.poll(wait):
            data = data[os.write(file, data[:PIPE_BUF]) :]
    except BlockingIOError:
        pass
    except OSError:
        return b""
    return data
