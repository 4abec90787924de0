"""What a routine's end comes to, wherever it ran: on the loop, in a thread, or in a process of its own."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from stateous.client.answers import Grant
from stateous.model.state_logs import BUILT_IN
from stateous.model.wire.body import LARGEST_BODY
from stateous_supervisor.ambience import Ambience
from stateous_supervisor.context import RunContext, Write
from stateous_supervisor.flow import Flow, Stopped, Suspended
from stateous_supervisor.items import AskItems, RunItems
from stateous_supervisor.outcome import (
    LONGEST_TRACEBACK,
    Failed,
    Outcome,
    Waits,
    clean,
    failure_of,
    kind_of,
    outcome_of,
    report_body,
)
from stateous_supervisor.routine import Routine
from stateous_supervisor.steps import Send, Steps
from stateous_supervisor.unawaited import Calls

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
    """One attempt of one task: the routine, its `ctx`, and the report of its end by the supervisor `name`.

    `ambience` is what surrounds the routine while it runs; `warn` is told in a sentence what of it failed.
    """

    def __init__(
        self,
        grant: Grant,
        routine: Routine,
        *,
        name: str,
        write: Write,
        send: Send,
        ask: AskItems,
        warn: Callable[[str], None] = lambda _sentence: None,
    ) -> None:
        self.routine = routine
        self.ambience = Ambience(routine.propagators, captured=grant.ambient, warn=warn)
        self._flow = Flow(grant, supervisor=name)
        self._calls = Calls()
        self.steps = Steps(
            self._flow,
            awaited=routine.awaited,
            send=send,
            calls=self._calls,
            capture=self.ambience.capture,
        )
        items = RunItems(
            ask, awaited=routine.awaited, calls=self._calls, keeps=grant.stateLog is not None
        )
        self.context = RunContext(grant, write=write, steps=self.steps, items=items)
        self._name = name

    @property
    def results(self) -> dict[str, Any]:
        """What steps and responses came to, those of earlier attempts, too."""
        return self._flow.results

    @property
    def awaits(self) -> str | None:
        """The kind of the step that the run was ended for."""
        return self._flow.awaits

    def came_to(self, name: str) -> bool:
        """Whether the routine has been given the result of this step in this run."""
        return self._flow.came_to(name)

    def run(self, call: Callable[[RunContext], object]) -> End:
        """Call the routine as `call` does, and wait for it. Whatever it does, this returns."""
        try:
            with self.ambience:
                result = call(self.context)
            return self.returned(result)
        except BaseException as problem:  # noqa: BLE001 - SystemExit ends a routine, not the supervisor
            self.steps.fault(problem)
            return self.raised(problem)

    def returned(self, result: object) -> End:
        """The end of a routine that returned. Raises what the user's own classes raise when they are read."""
        routine = self.routine
        if self._flow.stopped is not None:
            return self.failed(f"{routine.where} went on when it was stopped: {self._flow.stopped}")
        if self._flow.suspended is not None:
            return self.failed(
                f"{routine.where} went on when it was to wait for {self._flow.suspended!r}: "
                "it must let a BaseException pass"
            )
        undone = self._calls.never_awaited()
        if undone is not None:
            return self.failed(f"{routine.where} {undone}")
        return End(self._report(outcome_of(result, state=routine.state, where=routine.where)))

    def raised(self, problem: BaseException) -> End:
        """The end of a routine that raised, or that could not be called."""
        name = self._flow.suspended
        if name is not None and _is_only(problem, Suspended):
            undone = self._calls.forgotten()
            if undone is not None:
                return self.failed(f"{self.routine.where} {undone}")
            return End(self._report(Waits(awaiting=(name,))))
        if self._flow.stopped is not None and _is_only(problem, Stopped):
            return self.failed(f"stopped: {self._flow.stopped}")
        failure = failure_of(problem)
        if self._flow.stopped is not None:
            # What a run that was stopped has seen is no ground to give up: the next one sees more.
            failure = msgspec.structs.replace(failure, final=False)
        return End(self._report(failure), _traceback_of(problem))

    def failed(self, sentence: str) -> End:
        """The end of an attempt that failed in some other way."""
        return End(self._report(Failed(clean(sentence))))

    def _report(self, outcome: Outcome) -> bytes:
        self._flow.end()
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


def cannot_begin(grant: Grant, routine: Routine, *, name: str) -> End | None:
    """The end of an attempt that must not begin: what was done before could not be told here, and would be done again."""
    why = _unreadable(grant) or _without_its_log(grant, routine)
    if why is None:
        return None
    body = report_body(why, context={}, schedules=[], attempt=grant.attempt, supervisor=name)
    return End(body)


def _unreadable(grant: Grant) -> Failed | None:
    if grant.flow is None or not grant.flow.unreadable:
        return None
    return Failed(
        f"the flow of task {grant.task} is kept in a form that is not known here "
        f"({grant.flow.schemaVersion}): the control plane that wrote it was a newer one",
        final=True,
    )


def _without_its_log(grant: Grant, routine: Routine) -> Failed | None:
    granted = None if grant.stateLog is None else grant.stateLog.handler
    wanted = routine.state.state_log
    if wanted is not None and granted != wanted:
        kept = "no state log" if granted is None else f"one that the handler {granted!r} keeps"
        return Failed(
            f"contract.py says that the state {grant.state!r} has a state log that the handler {wanted!r} keeps, "
            f"and the control plane knows of {kept}"
        )
    if granted not in (None, BUILT_IN) and routine.log is None:
        return Failed(
            f"the state log of the state {grant.state!r} is kept by the handler {granted!r}, which is not registered here"
        )
    return None


def _is_only(problem: BaseException, kind: type[BaseException]) -> bool:
    """Whether an exception is of this kind, or is a group of such ones."""
    if isinstance(problem, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", problem)
        return all(_is_only(each, kind) for each in group.exceptions)
    return isinstance(problem, kind)


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
