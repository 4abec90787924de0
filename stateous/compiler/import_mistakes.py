"""Why a flow.py does not import, in one sentence: the file and the line, and the mistake."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Final

from stateous.compiler.problems import file_shown, near

_SHOWN: Final = 300


def say_mistake(error: BaseException, folder: Path, is_ours: Callable[[str], bool]) -> str:
    """Return `schemas.py, line 7: NameError: …`: the innermost line of the author's, and the mistake."""
    kind = type(error).__name__
    file: object = error.filename if isinstance(error, SyntaxError) else None
    if isinstance(error, SyntaxError) and isinstance(file, str) and is_ours(file):
        place = f"{file_shown(file, folder)}, line {max(error.lineno or 1, 1)}: "
        return _clipped(f"{place}{kind}: {_one_line(error.msg)}")
    place = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        if is_ours(frame.f_code.co_filename):
            place = f"{file_shown(frame.f_code.co_filename, folder)}, line {line}: "
    said = _one_line(error)
    hint = _other_name(error, folder)
    return _clipped(f"{place}{kind}: {said}{hint}" if said else f"{place}{kind}")


def _one_line(said: object) -> str:
    try:
        return " ".join(str(said).split())
    except Exception:  # noqa: BLE001  # the author's own class says it
        return ""


def _other_name(error: BaseException, folder: Path) -> str:
    """For a module that is not there, the file in the folder that was meant."""
    if not isinstance(error, ModuleNotFoundError):
        return ""
    here = [entry.stem for entry in folder.glob("*.py")]
    return near(error.name, set(here) - sys.stdlib_module_names)


def _clipped(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
