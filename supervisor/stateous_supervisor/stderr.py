"""Where the log goes when nobody watches: stderr, on a file of our own that no routine can close."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from select import select
from threading import Lock
from typing import Final, Self

from stateous_supervisor.run import Run

_PATIENCE: Final = 5.0
"""Seconds for a reader who is slow, when the file does not wait by itself."""


class Stderr:
    """Lines are written whole, from any thread. What cannot be written is lost: a log must not stop the work."""

    def __init__(self, number: int = 2) -> None:
        self._order = Lock()
        try:
            self._file: int | None = os.dup(number)
        except OSError:  # it was closed before we began
            self._file = None

    def write(self, line: str) -> None:
        """Write a line, and its end."""
        rest = memoryview(f"{line}\n".encode("utf-8", "backslashreplace"))
        with self._order:
            try:
                while rest and self._file is not None:
                    rest = rest[self._written(self._file, rest) :]
            except OSError:
                pass

    def shows(self, runs: Callable[[], Sequence[Run]]) -> None:
        """Nothing: a file is no terminal."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_ended: object) -> None:
        self.close()

    def close(self) -> None:
        with self._order:
            if self._file is not None:
                os.close(self._file)
            self._file = None

    def _written(self, file: int, data: memoryview) -> int:
        """How many bytes the file took. Raises OSError when it takes none."""
        try:
            return os.write(file, data)
        except BlockingIOError:
            if not select([], [file], [], _PATIENCE)[1]:
                raise
            return 0
