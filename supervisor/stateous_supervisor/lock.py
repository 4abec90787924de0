"""One supervisor per folder: a lock on a file that goes with the process, however it ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from weakref import WeakSet

from stateous.model.refusals import StateousError


class FolderTaken(StateousError):
    """Another supervisor runs on this folder."""


class FolderLock:
    """Held from its making until `release`, or until the process is gone.

    Raises FolderTaken, and OSError when the file cannot be made.
    """

    def __init__(self, path: Path, *, folder: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            raise FolderTaken(
                f"another supervisor runs on {folder} now: stop it, or use another folder"
            ) from None
        _HELD.add(self)

    def release(self) -> None:
        """Let the folder go, also while a forked child has not closed its copy of the file yet."""
        if self in _HELD:
            fcntl.flock(self._file, fcntl.LOCK_UN)
            self.forget()

    def forget(self) -> None:
        """Close the file in a forked child: the lock stays with the parent, and ends with it."""
        if self in _HELD:
            _HELD.discard(self)
            os.close(self._file)


_HELD: WeakSet[FolderLock] = WeakSet()


def _forget_all() -> None:
    for lock in list(_HELD):
        lock.forget()


# A routine may fork workers that outlive a killed supervisor; they must not keep its folder.
os.register_at_fork(after_in_child=_forget_all)
