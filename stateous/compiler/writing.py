"""Writes a whole text file or none: a crash or a full disk never leaves half of one."""

from __future__ import annotations

import os
from pathlib import Path

from stateous.model.refusals import StateousError


class CannotWrite(StateousError):
    """A file cannot be written."""


def write_text(path: Path, text: str) -> None:
    """Write a file, and its folder if there is none; what was there is replaced at once.

    Raises CannotWrite, with the reason; then the file is as it was.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            path.write_text(
                text, encoding="utf-8"
            )  # a pipe or a terminal: there is nothing to keep
        else:
            _replace(Path(os.path.realpath(path)), text)
    except FileExistsError as error:
        raise CannotWrite(f"cannot write {path}: {path.parent} is no folder") from error
    except OSError as error:
        raise CannotWrite(f"cannot write {path}: {error.strerror or error}") from error
    except UnicodeEncodeError as error:
        raise CannotWrite(f"cannot write {path}: it would hold half a character") from error


def _replace(path: Path, text: str) -> None:
    part = path.with_name(f".stateous-{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            part.chmod(path.stat().st_mode)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
