"""A file of a supervisor's folder, imported as a module."""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path
from types import ModuleType

from stateous.model.sentences import printable
from stateous_supervisor.outcome import failure_of
from stateous_supervisor.routine import BadRoutines


def imported(path: Path) -> ModuleType:
    """A file of the folder as a module. Raises BadRoutines."""
    taken = sys.modules.get(path.stem)
    if taken is not None and not _is_from(taken, path):
        raise BadRoutines(
            f"{path} cannot be imported: a module called {path.stem!r} is loaded already, rename the file"
        )
    try:
        module = importlib.import_module(path.stem)
    except (Exception, SystemExit) as problem:
        raise BadRoutines(f"{path} does not import: {_said(problem, path.parent)}") from problem
    return module


def _said(problem: BaseException, folder: Path) -> str:
    """The mistake on one line, after the last place in the folder that led to it."""
    said = printable(" ".join(failure_of(problem).error.split()))
    if isinstance(problem, SyntaxError):
        return said  # it names its own line
    frames = reversed(traceback.extract_tb(problem.__traceback__))
    inside = next((frame for frame in frames if Path(frame.filename).parent == folder), None)
    return said if inside is None else f"{Path(inside.filename).name}, line {inside.lineno}: {said}"


def _is_from(module: ModuleType, path: Path) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and Path(file).resolve() == path.resolve()
