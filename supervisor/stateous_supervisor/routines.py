"""The routines of a folder: each of its Python files is imported, and the marked functions are found."""

from __future__ import annotations

import importlib
import inspect
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import msgspec

from stateous.model.marks import StateRef, states_of
from stateous.model.refusals import StateousError


class BadRoutines(StateousError):
    """The routines of the folder cannot be used as they are."""


class Routine(msgspec.Struct, frozen=True, kw_only=True):
    """A function for a state. `awaited` ones run on the loop, the others in a thread each."""

    state: StateRef
    function: Callable[..., object]
    awaited: bool
    where: str


def find_routines(folder: Path) -> dict[str, Routine]:
    """Import the folder's files, in the order of their names; the routines by the state that they are for.

    The folder is put on the import path, so that its files can import each other. Raises BadRoutines.
    """
    folder = folder.resolve()
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    found: dict[str, Routine] = {}
    for path in sorted(folder.glob("*.py")):
        for function in _marked(_imported(path)):
            for state in states_of(function):
                routine = _routine(function, state, path=path)
                other = found.setdefault(state.name, routine)
                # Files import each other's routines; only another function is a second routine.
                if other.function is not function:
                    raise BadRoutines(
                        f"the state {state.name!r} has two routines: {other.where}, and {routine.where}"
                    )
    if not found:
        raise BadRoutines(
            f"{folder} has no routine: mark a function with @on_state(states.name) in one of its files"
        )
    return found


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
    said = f"{type(problem).__name__}: {' '.join(str(problem).split())}"
    if isinstance(problem, SyntaxError):
        return said  # it names its own line
    frames = reversed(traceback.extract_tb(problem.__traceback__))
    inside = next((frame for frame in frames if Path(frame.filename).parent == folder), None)
    return said if inside is None else f"{Path(inside.filename).name}, line {inside.lineno}: {said}"


def _is_from(module: ModuleType, path: Path) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and Path(file).resolve() == path.resolve()


def _marked(module: ModuleType) -> list[Callable[..., object]]:
    return [value for value in vars(module).values() if callable(value) and states_of(value)]


def _routine(function: Callable[..., object], state: StateRef, *, path: Path) -> Routine:
    where = f"{getattr(function, '__name__', 'a routine')} in {path.name}"
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        raise BadRoutines(
            f"{where} must take one argument, the context: def {state.name}(ctx)"
        ) from None
    except ValueError:
        pass  # a callable without a signature: it will tell when it is called
    awaited = inspect.iscoroutinefunction(inspect.unwrap(function))
    return Routine(state=state, function=function, awaited=awaited, where=where)
