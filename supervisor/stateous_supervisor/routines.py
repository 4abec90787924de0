"""The routines of a folder: each of its Python files is imported, and the marked functions are found."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from stateous.model.marks import marks_of
from stateous_supervisor.modules import imported
from stateous_supervisor.propagators import find_propagators
from stateous_supervisor.routine import BadRoutines, Routine, check_routine, refuse_methods

TESTS: Final = ("test_*.py", "*_test.py", "conftest.py")
"""Files that pytest imports, and a supervisor does not."""


def find_routines(folder: Path) -> dict[str, Routine]:
    """Import the folder's files, in the order of their names; the routines by the state that they are for.

    The folder is put on the import path, so that its files can import each other. Tests are left out: what
    pytest would collect. Raises BadRoutines and BadPropagator.
    """
    folder = folder.resolve()
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    found: dict[str, Routine] = {}
    for file in files_of(folder):
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
    propagators = find_propagators(folder)
    return {state: replace(routine, propagators=propagators) for state, routine in found.items()}


def files_of(folder: Path) -> list[Path]:
    """The Python files of a folder that a supervisor imports, in the order of their names."""
    return [
        file
        for file in sorted(folder.resolve().glob("*.py"))
        if not any(file.match(pattern) for pattern in TESTS)
    ]


def load_routine(file: Path, state: str) -> Routine:
    """The routine of a state again, in another process, from the file in which it was found.

    Raises BadRoutines and BadPropagator.
    """
    if str(file.parent) not in sys.path:
        sys.path.insert(0, str(file.parent))
    for routine in _routines_of(file):
        if routine.state.name == state:
            return replace(routine, propagators=find_propagators(file.parent))
    raise BadRoutines(f"{file} has no routine for the state {state!r} any more")


def _routines_of(file: Path) -> list[Routine]:
    module = imported(file)
    routines = [
        check_routine(value, mark, file=file)
        for value in list(vars(module).values())
        for mark in marks_of(value)
    ]
    refuse_methods(module, routines, file=file)
    return routines
