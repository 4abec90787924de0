"""The propagators of a folder: those that its `propagators.py` names, or the usual ones."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from stateous.model.ambient import ContextPropagator, check_propagators
from stateous.model.tracing import propagators_of
from stateous_supervisor.modules import imported
from stateous_supervisor.routine import BadRoutines

FILE: Final = "propagators.py"


def find_propagators(folder: Path) -> tuple[ContextPropagator, ...]:
    """The list `propagators` of the folder's file of that name; the usual ones when there is no such file.

    The folder is on the import path. Raises BadRoutines and BadPropagator.
    """
    file = folder.resolve() / FILE
    if not file.exists():
        return propagators_of(None)
    module = imported(file)
    if not hasattr(module, "propagators"):
        raise BadRoutines(f"{file} names no propagators: write propagators = [...] in it")
    return check_propagators(module.propagators, where=f" in {FILE}")
