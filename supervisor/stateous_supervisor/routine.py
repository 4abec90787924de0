"""What can be the routine of a state, and what is only marked as one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import msgspec

from stateous.model.ambient import ContextPropagator
from stateous.model.marks import Mark, StateRef, marks_of
from stateous.model.refusals import StateousError
from stateous.model.state_log_handlers import StateLogHandler


class BadRoutines(StateousError):
    """The routines of the folder cannot be used as they are."""


class Routine(msgspec.Struct, frozen=True, kw_only=True):
    """A function for a state.

    `awaited` ones run on the loop, the others in a thread each; with `isolate` each run is a process. `propagators` put
    back what surrounded the start of a token around each run. `log` keeps the state log of the state, if a handler of
    the folder does.
    """

    state: StateRef
    function: Callable[..., object]
    awaited: bool
    file: Path
    isolate: bool = False
    propagators: tuple[ContextPropagator, ...] = ()
    log: StateLogHandler | None = None

    @property
    def where(self) -> str:
        """The routine in a sentence: `draft in routines.py`."""
        return _where(self.function, self.file)


def check_routine(marked: object, mark: Mark, *, file: Path) -> Routine:
    """What `on_state` marked, as a routine. Raises BadRoutines."""
    where, state = _where(marked, file), mark.state
    if isinstance(marked, type) or not callable(marked):
        raise BadRoutines(f"{where} is no function: mark a function with @on_state")
    function: Callable[..., object] = marked
    inner = inspect.unwrap(function)
    if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
        raise BadRoutines(f"{where} is a generator: it must return its event, and not yield it")
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        raise BadRoutines(
            f"{where} must take one argument, the context: def {state.name.rpartition('/')[2]}(ctx)"
        ) from None
    except ValueError:
        pass  # a callable without a signature: it will tell when it is called
    awaited = inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(
        getattr(inner, "__call__", None)  # noqa: B004 - an object that is called like a function
    )
    return Routine(state=state, function=function, awaited=awaited, file=file, isolate=mark.isolate)


def refuse_methods(module: ModuleType, routines: Sequence[Routine], *, file: Path) -> None:
    """Raises BadRoutines for a marked method of a class: no supervisor makes an instance of it."""
    found = {id(routine.function) for routine in routines}
    for kept in list(vars(module).values()):
        if not isinstance(kept, type) or kept.__module__ != module.__name__:
            continue
        for name, method in vars(kept).items():
            function = getattr(method, "__func__", method)
            if marks_of(function) and id(function) not in found:
                raise BadRoutines(
                    f"{name} in {file.name} is a method of {kept.__name__}: mark a function of the file"
                )


def _where(function: object, file: Path) -> str:
    return f"{getattr(function, '__name__', 'a routine')} in {file.name}"
