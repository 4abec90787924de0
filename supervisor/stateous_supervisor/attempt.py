"""What a routine's end comes to, wherever it ran: on the loop, in a thread, or in a process of its own."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from stateous.client.answers import Grant
from stateous.model.wire.body import LARGEST_BODY
from stateous_supervisor.context import RunContext, Write
from stateous_supervisor.outcome import (
    LONGEST_TRACEBACK,
    Failed,
    Outcome,
    clean,
    failure_of,
    kind_of,
    outcome_of,
    report_body,
)
from stateous_supervisor.routine import Routine

_OURS: Final = (
    f"{Path(__file__).parent}{os.sep}",
    f"{Path(os.__file__).parent / 'asyncio'}{os.sep}",
)
"""What the places between the supervisor and a routine begin with."""


class End(msgspec.Struct, frozen=True):
    """The body of the report, and the traceback of what the routine raised, if it did."""

    report: bytes
    traceback: str | None = None


class Attempt:
    """One attempt of one task: the routine, its `ctx`, and the report of its end by the supervisor `name`."""

    def __init__(self, grant: Grant, routine: Routine, *, name: str, write: Write) -> None:
        self.routine = routine
        self.context = RunContext(grant, write=write)
        self._name = name

    def run(self, call: Callable[[RunContext], object]) -> End:
        """Call the routine as `call` does, and wait for it. Whatever it does, this returns."""
        try:
            return self.returned(call(self.context))
        except BaseException as problem:  # noqa: BLE001 - SystemExit ends a routine, not the supervisor
            return self.raised(problem)

    def returned(self, result: object) -> End:
        """The end of a routine that returned. Raises what the user's own classes raise when they are read."""
        routine = self.routine
        return End(self._report(outcome_of(result, state=routine.state, where=routine.where)))

    def raised(self, problem: BaseException) -> End:
        """The end of a routine that raised, or that could not be called."""
        return End(self._report(failure_of(problem)), _traceback_of(problem))

    def failed(self, sentence: str) -> End:
        """The end of an attempt that failed in some other way."""
        return End(self._report(Failed(clean(sentence))))

    def _report(self, outcome: Outcome) -> bytes:
        body = self._body(outcome)
        if len(body) <= LARGEST_BODY:
            return body
        # Said here: what stands between may cut it off, time and again, before anybody can refuse it.
        return self._body(
            Failed(f"the report has {len(body)} bytes, and may have {LARGEST_BODY} at most")
        )

    def _body(self, outcome: Outcome) -> bytes:
        # Copies, because a routine can leave a thread behind that goes on writing.
        return report_body(
            outcome,
            context=self.context.changes.copy(),
            schedules=self.context.schedules.copy(),
            attempt=self.context.attempt,
            supervisor=self._name,
        )


def _traceback_of(problem: BaseException) -> str:
    """Without the places that lead to the routine: they are ours."""
    at = problem.__traceback__
    while at is not None and at.tb_frame.f_code.co_filename.startswith(_OURS):
        at = at.tb_next
    shown = problem.__traceback__ if at is None else at
    try:
        text = "".join(traceback.format_exception(problem.with_traceback(shown)))
    except BaseException as failed:  # noqa: BLE001 - it reads objects of the user's
        return f"(its traceback cannot be shown: {kind_of(failed)})"
    # Halves of surrogate pairs do not get out of a process.
    return text[:LONGEST_TRACEBACK].encode("utf-8", "backslashreplace").decode()
