"""What users test with: one routine by itself, or a whole workflow in memory with the real engine and a clock by hand.

Nothing else imports it. What stands here is loaded when it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from stateous.testing.handler_checks import StateLogTrial, state_log_checks
    from stateous.testing.happenings import Reported
    from stateous.testing.problems import CannotTest
    from stateous.testing.rehearsal import Rehearsal
    from stateous.testing.routines import Done, Scheduled, run_routine, run_routine_async
    from stateous.testing.tokens import RehearsedToken

__all__ = [
    "CannotTest",
    "Done",
    "Rehearsal",
    "RehearsedToken",
    "Reported",
    "Scheduled",
    "StateLogTrial",
    "run_routine",
    "run_routine_async",
    "state_log_checks",
]

_HOME: Final = {
    "CannotTest": "problems",
    "Done": "routines",
    "RehearsedToken": "tokens",
    "Rehearsal": "rehearsal",
    "Reported": "happenings",
    "Scheduled": "routines",
    "StateLogTrial": "handler_checks",
    "run_routine": "routines",
    "run_routine_async": "routines",
    "state_log_checks": "handler_checks",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'stateous.testing' has no attribute {name!r}")
    found: object = getattr(import_module(f"stateous.testing.{_HOME[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
