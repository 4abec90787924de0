"""The routines of a folder: each of its Python files is imported, and the marked functions are found."""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Final

from stateous.model.marks import marks_of
from stateous.model.sentences import printable
from stateous_supervisor.outcome import failure_of
from stateous_supervisor.routine import BadRoutines, Routine, check_routine, refuse_methods

TESTS: Final = ("test_*.py", "*_test.py", "conftest.py")
"""Files that pytest imports, and a supervisor does not."""


def find_routines(folder: Path) -> dict[str, Routine]:
    """Import the folder's files, in the order of their names; the routines by the state that they are for.

    The folder is put on the import path, so that its files can import each other. Tests are left out: what
    pytest would collect. Raises BadRoutines.
    """
    folder = folder.resolve()
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    found: dict[str, Routine] = {}
    for file in sorted(folder.glob("*.py")):
        if any(file.match(pattern) for pattern in TESTS):
            continue
        for routine in _routines_of(file):
            other = found.setdefault(routine.state.name, routine)
            # Files import each other's routines; only another function is a second routine.
            if other.function is not routine.function:
                raise BadRoutines(
                    f"the state {routine.state.name!r} has two routines: {other.where}, and {routine.where}"
                )
    if not found:
        raise BadRoutines(
            f"{folder} has no routine: mark a function with @on_state(states.name) in one of its files"
        )
    return found


def load_routine(file: Path, state: str) -> Routine:
    """The routine of a state again, in another process, from the file in which it was found. Raises BadRoutines."""
    if str(file.parent) not in sys.path:
        sys.path.insert(0, str(file.parent))
    for routine in _routines_of(file):
        if routine.state.name == state:
            return routine
    raise BadRoutines(f"{file} has no routine for the state {state!r} any more")


def _routines_of(file: Path) -> list[Routine]:
    module = _imported(file)
    routines = [
        check_routine(value, mark, file=file)
        for value in list(vars(module).values())
        for mark in marks_of(value)
    ]
    refuse_methods(module, routines, file=file)
    return routines


def _imported(path: Path) -> ModuleType:
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
