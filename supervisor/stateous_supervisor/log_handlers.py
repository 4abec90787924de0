"""The state log handlers of a folder: found among what its files have, made once, and closed at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from inspect import isawaitable
from pathlib import Path
from typing import Any

import msgspec

from stateous.model.state_log_handlers import StateLogHandler, handler_name_of
from stateous.model.state_logs import BUILT_IN
from stateous_supervisor.modules import imported
from stateous_supervisor.outcome import failure_of
from stateous_supervisor.routine import BadRoutines, Routine
from stateous_supervisor.routines import files_of

METHODS = ("exists", "acquire", "set", "release", "upsert", "get", "list")
CLOSED_WITHIN = 2.0


def find_handlers(folder: Path) -> dict[str, Callable[[], object]]:
    """What is marked with `@state_log_handler` in the files of a folder, by the handler's name. Raises BadRoutines."""
    found: dict[str, tuple[Callable[[], object], str]] = {}
    for file in files_of(folder):
        for made in list(vars(imported(file)).values()):
            name = handler_name_of(made)
            if name is None:
                continue
            where = f"{getattr(made, '__name__', 'a handler')} in {file.name}"
            other, other_where = found.setdefault(name, (made, where))
            if other is not made:
                raise BadRoutines(
                    f"the state log handler {name!r} is there twice: {other_where}, and {where}"
                )
    return {name: made for name, (made, _) in found.items()}


def check_handlers(routines: Iterable[Routine], known: Iterable[str]) -> None:
    """Raises BadRoutines when a state's log is kept by a handler that nobody registered."""
    names = sorted({BUILT_IN, *known})
    for routine in routines:
        wanted = routine.state.state_log
        if wanted is not None and wanted not in names:
            raise BadRoutines(
                f"the state log of the state {routine.state.name!r} is kept by the handler {wanted!r}, which "
                f"is not registered: there is {' and '.join(repr(name) for name in names)}; mark yours with "
                f'@state_log_handler("{wanted}") in a file of this folder'
            )


def make_handlers(found: Mapping[str, Callable[[], object]]) -> dict[str, StateLogHandler]:
    """A handler of each. Raises BadRoutines when one cannot be made, or is none."""
    return {name: _made(made, name) for name, made in found.items()}


def _made(make: Callable[[], object], name: str) -> StateLogHandler:
    try:
        handler: Any = make()
    except Exception as problem:
        raise BadRoutines(
            f"the state log handler {name!r} could not be made: {failure_of(problem).error}"
        ) from problem
    lacking = [each for each in METHODS if not callable(getattr(handler, each, None))]
    if lacking:
        raise BadRoutines(f"the state log handler {name!r} has no method {lacking[0]!r}")
    return handler


def with_logs(
    routines: Mapping[str, Routine], handlers: Mapping[str, StateLogHandler]
) -> dict[str, Routine]:
    """The routines, each with the handler of its state's log if it is one of these."""
    return {
        state: msgspec.structs.replace(routine, log=handlers.get(routine.state.state_log or ""))
        for state, routine in routines.items()
    }


async def close_handlers(handlers: Iterable[StateLogHandler]) -> None:
    """Close those that can be closed; what goes wrong with it, nobody needs to know any more."""
    for handler in handlers:
        close = getattr(handler, "close", None)
        if callable(close):
            with suppress(Exception):
                async with asyncio.timeout(CLOSED_WITHIN):
                    closing = close()
                    if isawaitable(closing):
                        await closing
