"""Routines of the state `dispatch`, whose items a control plane keeps, or a handler of the folder."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from stateous import Event, StateRef
from stateous_supervisor.routine import Routine

DISPATCH = StateRef("dispatch", emits=("sent", "passed_over"), state_log="built-in")
REDIS = msgspec.structs.replace(DISPATCH, state_log="redis")


class sent(Event):  # noqa: N801 - as a contract names it
    name = "sent"


class passed_over(Event):  # noqa: N801
    name = "passed_over"


def routine(function: Callable[[Any], Any], *, state: StateRef = DISPATCH, **more: Any) -> Routine:
    awaited = inspect.iscoroutinefunction(function)
    fields: dict[str, Any] = {"file": Path("routines.py"), **more}
    return Routine(state=state, function=function, awaited=awaited, **fields)


def isolated(
    folder: Path, text: str, *, awaited: bool = False, state: StateRef = DISPATCH, log: Any = None
) -> Routine:
    file = folder / "isolated_routines.py"
    head = f"""
from stateous import Event, ItemBusy, StateRef, on_state
class sent(Event):
    name = "sent"
class passed_over(Event):
    name = "passed_over"
@on_state(StateRef("dispatch", emits=("sent", "passed_over"), state_log={state.state_log!r}), isolate=True)
"""
    file.write_text(head + text)
    return Routine(state=state, function=print, awaited=awaited, file=file, isolate=True, log=log)
