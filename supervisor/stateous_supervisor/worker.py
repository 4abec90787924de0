"""The child that runs an isolated routine: what it writes and its end are told to the supervisor."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from inspect import isawaitable
from pathlib import Path
from threading import Lock
from types import FrameType
from typing import Any, Literal, NoReturn

import msgspec

from stateous.client.answers import Checkpointed, Grant
from stateous.model.refusals import StateousError
from stateous_supervisor.attempt import Attempt, End
from stateous_supervisor.context import RunContext
from stateous_supervisor.frames import (
    Accepted,
    Asked,
    Channel,
    Ended,
    Frame,
    Job,
    Kept,
    Refused,
    Stepped,
    Told,
    Warned,
    Written,
)
from stateous_supervisor.item_asks import Ask, read_answer, write_ask
from stateous_supervisor.outcome import Failed, clean, failure_of, report_body
from stateous_supervisor.routine import Routine
from stateous_supervisor.routines import load_routine


class SupervisorGone(StateousError):
    """The supervisor of this process is gone, or has heard its end already."""


def work(number: int) -> None:
    """Run the routine of the job that comes over the socket `number`, and tell its end."""
    channel = Channel(socket.socket(fileno=number), trusts=True)
    try:
        job = channel.receive()
        assert isinstance(job, Job)  # noqa: S101 - the supervisor sends nothing else first
    except EOFError:
        return
    signal.signal(signal.SIGTERM, _end)
    end, close = _run(job, _Desk(channel))
    with suppress(EOFError):  # what the routine began is put away, even when nobody listens
        channel.send(Ended(report=end.report, traceback=end.traceback))
    close()


def _run(job: Job, desk: _Desk) -> tuple[End, Callable[[], None]]:
    """The routine's end, and what is to be done once that is told."""
    grant = msgspec.json.decode(job.grant, type=Grant)
    sys.path[:] = job.import_path
    try:
        routine = load_routine(Path(job.file), job.state)
    except BaseException as problem:  # noqa: BLE001 - the file is imported, and may do anything
        said = isinstance(problem, StateousError)
        failed = Failed(clean(str(problem))) if said else failure_of(problem)
        body = report_body(
            failed, context={}, schedules=[], attempt=grant.attempt, supervisor=job.name
        )
        return End(body), _nothing
    attempt = Attempt(
        grant,
        routine,
        name=job.name,
        write=desk.write,
        send=desk.send,
        ask=desk.ask,
        warn=desk.warn,
    )
    if not routine.awaited:
        return attempt.run(routine.function), _nothing

    import asyncio  # noqa: PLC0415 - a tenth of a second that only these routines need

    runner = asyncio.Runner()
    return attempt.run(lambda ctx: runner.run(_awaited(routine, ctx))), runner.close


async def _awaited(routine: Routine, context: RunContext) -> object:
    result = routine.function(context)
    return await result if isawaitable(result) else result


class _Desk:
    """Where the routine's threads hand in what they write, one at a time."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._order = Lock()
        self._in_step = True

    def write(self, kind: Literal["note", "memory"], body: bytes) -> None:
        """Return when it is on the disk. Raises what the supervisor raised, or SupervisorGone."""
        answer = self._exchange(Written(kind, body))
        if not isinstance(answer, Kept):
            raise SupervisorGone(f"the supervisor answered {type(answer).__name__}")

    def send(self, body: bytes, /, *, last: bool = False) -> Checkpointed:
        """Return when the control plane has written the step down. Raises as `write` does, and its refusals."""
        answer = self._exchange(Stepped(body, last))
        if not isinstance(answer, Accepted):
            raise SupervisorGone(f"the supervisor answered {type(answer).__name__}")
        return Checkpointed(answer.revision, answer.correlation, answer.child)

    def ask(self, ask: Ask, /) -> Any:
        """Return what the state log answers. Raises as `write` does, and what it refuses."""
        answer = self._exchange(Asked(write_ask(ask)))
        if not isinstance(answer, Told):
            raise SupervisorGone(f"the supervisor answered {type(answer).__name__}")
        return read_answer(ask.call, answer.answer)

    def warn(self, sentence: str) -> None:
        """Have a sentence put into the supervisor's log, if it still listens."""
        with self._order, suppress(EOFError):
            if self._in_step:
                self._in_step = False  # as in `_exchange`
                self._channel.send(Warned(clean(sentence)))
                self._in_step = True

    def _exchange(self, frame: Frame) -> Frame:
        with self._order:
            if not self._in_step:
                raise SupervisorGone("this process is being ended")
            self._in_step = False  # until the answer is read: SIGTERM raises anywhere
            try:
                self._channel.send(frame)
                answer = self._channel.receive()
            except EOFError:
                raise SupervisorGone("the supervisor listens to this process no more") from None
            self._in_step = True
        if isinstance(answer, Refused):
            refusal: type[StateousError] = getattr(import_module(answer.module), answer.kind)
            raise refusal(answer.sentence)
        return answer


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    """SIGTERM ends the routine as an exception does, so that it can put away what it holds."""
    raise SystemExit(128 + signal.SIGTERM)


def _nothing() -> None: ...
