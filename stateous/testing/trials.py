"""One attempt of a task, tried in memory: the supervisor's own attempt, and a control plane that is a function."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from inspect import isawaitable
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from stateous.api.commands import memory_asked, note_asked, report_asked, step_asked
from stateous.client.answers import Checkpointed, Grant
from stateous.engine import answers
from stateous.engine.answers import Answer
from stateous.engine.commands import AwaitChild, Checkpoint, Items, Note, Report, SetMemory
from stateous.model.marks import Mark, StateRef
from stateous.model.refusals import (
    AttemptOver,
    BodyTooLarge,
    Refusal,
    StateousError,
    TaskNotFound,
    TaskNotHeld,
)
from stateous.model.state_log_handlers import StateLogHandler
from stateous.model.wire.body import LARGEST_BODY, Body, read_body
from stateous.testing.logs import at_once
from stateous.testing.problems import CannotTest
from stateous_supervisor.attempt import Attempt, End
from stateous_supervisor.item_asks import Ask
from stateous_supervisor.log_answers import NullLog, asked_of, context_of
from stateous_supervisor.outcome import failed_instead
from stateous_supervisor.routine import BadRoutines, Routine, check_routine

SUPERVISOR: Final = "testing"
"""Who holds the tasks that the kit works on."""

Said = Note | SetMemory | Report | Checkpoint | AwaitChild | Items
Decide = Callable[[Said], Answer | Refusal]
"""The control plane: it answers what an attempt says, or refuses it."""

Moment = Literal["before", "after"]
"""Of a crash: before the control plane has written a step down, or after it."""

_LOST: Final = (AttemptOver, TaskNotFound, TaskNotHeld)

logger: Final = logging.getLogger("stateous.testing")


class Crashed(BaseException):
    """The supervisor is killed here. No Exception: nothing of the routine's is to notice."""


class Sent(msgspec.Struct, frozen=True):
    """A report as it went to the control plane."""

    kind: Literal["event", "waiting", "failed"]
    event: str = ""
    payload: dict[str, Any] | None = None
    error: str | None = None
    context: dict[str, Any] = {}
    schedules: list[dict[str, Any]] = []
    awaiting: list[str] = []


class Trial:
    """A grant and its routine. First `run` or `run_async`, then `report` the end that it came to.

    `log` keeps the items of its state, if it has a state log. `notes` are the lines that were taken, `raised` is what the routine raised, if it did. `crashes` is asked whether it
    is killed at a step; then it is `crashed`, and there is nothing to report.
    """

    def __init__(
        self,
        grant: Grant,
        routine: Routine,
        *,
        decide: Decide,
        log: StateLogHandler | None = None,
        crashes: Callable[[str, Moment], bool] = lambda _step, _moment: False,
    ) -> None:
        self.grant = grant
        self.notes: list[str] = []
        self.raised: BaseException | None = None
        self._routine = routine
        self.crashed = False
        self._crashes = crashes
        self._attempt = Attempt(
            grant,
            routine,
            name=SUPERVISOR,
            write=self._write,
            send=self._checkpoint,
            ask=self._ask,
        )
        self._log = NullLog() if log is None else log
        self._log_context = context_of(grant, supervisor=SUPERVISOR)
        self._decide = decide
        self._over = False

    @property
    def memory(self) -> dict[str, Any]:
        """What the routine remembers now."""
        return dict(self._attempt.context.memory)

    @property
    def awaits(self) -> str | None:
        """The kind of the step that it waits for: `response` or `child`."""
        return self._attempt.awaits

    @property
    def results(self) -> dict[str, Any]:
        """What its steps and responses came to, by their names."""
        return self._attempt.results

    def came_to(self, name: str) -> bool:
        """Whether the routine has been given the result of this step."""
        return self._attempt.came_to(name)

    def run(self, runner: asyncio.Runner) -> End:
        """Call the routine here; an `async def` one on the loop of `runner`."""
        return runner.run(self._awaited()) if self._routine.awaited else self._called()

    async def run_async(self) -> End:
        """Call the routine on this loop; a `def` one in a thread, as a supervisor does."""
        if self._routine.awaited:
            return await self._awaited()
        return await asyncio.to_thread(self._called)

    def report(self, end: End) -> Sent | None:
        """Report how the routine ended; the report that was taken, None when the task is not ours any more.

        What is refused for what it says is a failed attempt, with the reason.
        """
        self._over = True
        if end.traceback is not None:
            logger.warning("%s: its routine raised\n%s", self._named, end.traceback)
        report, refusal = end.report, self._send(report_asked, end.report)
        if refusal is not None and not isinstance(refusal, _LOST):
            why = f"the control plane refused the report: {refusal.sentence}"
            logger.warning("%s: %s", self._named, why)
            report = failed_instead(report, why) or report
            refusal = self._send(report_asked, report)
        return None if refusal is not None else msgspec.json.decode(report, type=Sent)

    @property
    def _named(self) -> str:
        return f"task {self.grant.task} of {self.grant.token}"

    def _called(self) -> End:
        end = self._attempt.run(self._watched)
        self._go_on_with_interrupts()
        return end

    async def _awaited(self) -> End:
        try:
            result = self._watched(self._attempt.context)
            if isawaitable(result):
                result = await result
            return self._attempt.returned(result)
        except GeneratorExit:
            raise
        except BaseException as problem:  # SystemExit ends a routine, not the test
            task = asyncio.current_task()
            if isinstance(problem, asyncio.CancelledError) and task and task.cancelling():
                raise
            self.raised = problem
            self._go_on_with_interrupts()
            self._attempt.steps.fault(problem)
            return self._attempt.raised(problem)

    def _watched(self, context: object) -> object:
        try:
            return self._routine.function(context)
        except BaseException as problem:
            self.raised = problem
            raise

    def _go_on_with_interrupts(self) -> None:
        """Ctrl-C is for the test, though a routine ran when it came."""
        if isinstance(self.raised, KeyboardInterrupt):
            raise self.raised

    def _write(self, kind: Literal["note", "memory"], body: bytes) -> None:
        if self._over:
            raise self._ended()
        refusal = self._send(note_asked if kind == "note" else memory_asked, body)
        if isinstance(refusal, _LOST):
            self._over = True
        elif refusal is not None:
            logger.warning("%s: the control plane refused a %s: %s", self._named, kind, refusal)

    def _ask(self, ask: Ask, /) -> Any:
        """Ask the state log. Raises what it refuses."""
        if self._over:
            raise self._ended()
        asking = asked_of(self._log, self._log_context, ask, name="of this test")
        return asking if self._routine.awaited else at_once(asking)

    def _ended(self) -> StateousError:
        # What stands beside it sends over HTTP, and is slow to load.
        from stateous_supervisor.mailbox import AttemptEnded  # noqa: PLC0415

        return AttemptEnded(f"{self._named} is over for this attempt")

    def _checkpoint(self, body: bytes, /, *, last: bool = False) -> Checkpointed:  # noqa: ARG002
        """Have a step written down. Raises Refusal, and Crashed when the test wants it so."""
        if len(body) > LARGEST_BODY:
            raise BodyTooLarge(f"the body has more than {LARGEST_BODY} bytes")
        said = step_asked(self.grant.task, read_body(body))
        if isinstance(said, Checkpoint) and said.status == "open":
            correlation = f"{said.task}-{said.name}-{said.revision + 1}"
            said = msgspec.structs.replace(said, correlation=correlation)
        self._crash(said.name, "before")
        answer = self._decide(said)
        if isinstance(answer, Refusal):
            raise answer
        self._crash(said.name, "after")
        assert isinstance(answer, answers.Checkpointed)  # noqa: S101 - a checkpoint is answered so
        return Checkpointed(answer.revision, answer.correlation, answer.child)

    def _crash(self, step: str, moment: Moment) -> None:
        if self.crashed or self._crashes(step, moment):
            self.crashed = self._over = True
            raise Crashed(f"{self._named} crashes {moment} the step {step!r} is written down")

    def _send(self, asked: Callable[[int, Body], Said], body: bytes) -> Refusal | None:
        try:
            said = asked(self.grant.task, read_body(body))
        except Refusal as refusal:
            return refusal
        answer = self._decide(said)
        if isinstance(answer, Refusal):
            return answer
        if isinstance(said, Note):
            self.notes.append(said.text)
        return None


def routine_for(function: object, state: StateRef) -> Routine:
    """The function as the routine of a state, in the process of the test. Raises CannotTest when it cannot be one."""
    inner = inspect.unwrap(function) if callable(function) else function
    code = getattr(inner, "__code__", None)
    file = Path("the test" if code is None else code.co_filename)
    try:
        return check_routine(function, Mark(state), file=file)
    except BadRoutines as problem:
        raise CannotTest(str(problem)) from None


def refuse_running_loop(instead: str) -> None:
    """Raise CannotTest in a test that runs on a loop: what waits for the loop would stop it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise CannotTest(f"this test runs on a loop: write await {instead}(...)")
