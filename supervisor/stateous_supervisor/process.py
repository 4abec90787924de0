"""The supervisor's side of an isolated routine: its process is begun, listened to, and ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock, Thread
from typing import Final, Literal, Protocol
from weakref import WeakSet

import msgspec

from stateous.client.answers import Checkpointed, Grant
from stateous.model.refusals import StateousError
from stateous_supervisor.attempt import Attempt, End
from stateous_supervisor.context import Write
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
from stateous_supervisor.item_asks import HandlerFailed, read_ask, write_answer
from stateous_supervisor.items import AskItems
from stateous_supervisor.keeper import GRACE
from stateous_supervisor.outcome import failure_of

_COMMAND: Final = (sys.executable, "-P", "-m", "stateous_supervisor.isolated")


class WaitingSend(Protocol):
    """A `Send` that waits for the answer."""

    def __call__(self, body: bytes, /, *, last: bool = False) -> Checkpointed: ...


class InProcess:
    """A routine with `isolate=True`: a process of its own, which is really ended when it is stopped.

    A thread waits on it; `write` puts what the routine writes into the outbox, `send` waits until the control
    plane has written a step down, `ask` for what the state log answers, `warn` is told what is said for the log.
    """

    stopping = "ending its process"

    def __init__(
        self,
        grant: Grant,
        *,
        name: str,
        write: Write,
        send: WaitingSend,
        ask: AskItems,
        warn: Callable[[str], None],
    ) -> None:
        self._grant = grant
        self._ask = ask
        self._warn = warn
        self._name = name
        self._write = write
        self._send = send
        self._leash: _Leash | None = None
        self._stopped = False

    def begin(self, attempt: Attempt, *, name: str) -> asyncio.Future[End]:
        ended: Future[End] = Future()
        ended.set_running_or_notify_cancel()  # as in ways.py
        Thread(target=self._attend, args=(attempt, ended), name=name, daemon=True).start()
        return asyncio.wrap_future(ended)

    def stop(self) -> bool:
        self._stopped = True
        if self._leash is not None:
            self._leash.let_go()
        return True

    def _attend(self, attempt: Attempt, ended: Future[End]) -> None:
        try:
            ours, theirs = socket.socketpair()
            with theirs:
                channel = Channel(ours)
                self._leash = leash = self._begun(channel, theirs)
        except OSError as problem:
            why = f"the routine's process could not be started: {problem.strerror or problem}"
            ended.set_result(attempt.failed(why))
            return
        if self._stopped:
            leash.let_go()
        try:
            end = self._listen(channel, attempt)
        except EOFError:
            channel.close()  # or it would wait for an answer, when what it said was not understood
            end = attempt.failed(f"the routine's process {leash.wait()}")
        except Exception as problem:  # noqa: BLE001 - nobody else would end what was begun
            leash.let_go()
            end = attempt.raised(problem)
        if self._stopped:
            leash.put_away()  # who stops it waits for its end, and not for what it has to say
        ended.set_result(end)
        leash.put_away()
        channel.close()

    def _begun(self, channel: Channel, theirs: socket.socket) -> _Leash:
        """The process, begun. Raises OSError when it cannot be."""
        try:
            return _Leash(theirs)
        except OSError:
            channel.close()
            raise

    def _listen(self, channel: Channel, attempt: Attempt) -> End:
        """Give out the job, keep what is written. Raises EOFError when the process ends before its routine."""
        routine = attempt.routine
        channel.send(
            Job(
                grant=msgspec.json.encode(self._grant),
                name=self._name,
                file=str(routine.file),
                state=routine.state.name,
                import_path=sys.path,
            )
        )
        while True:
            match channel.receive():
                case Written(kind, body):
                    channel.send(self._kept(kind, body))
                case Stepped(body, last):
                    channel.send(self._accepted(body, last=last))
                case Warned(sentence):
                    self._warn(sentence)
                case Asked(ask):
                    channel.send(self._told(ask))
                case Ended(report, traceback):
                    return End(report, traceback)
                case _:
                    raise EOFError

    def _kept(self, kind: Literal["note", "memory"], body: bytes) -> Frame:
        try:
            self._write(kind, body)
        except StateousError as problem:
            return _refused(problem)
        return Kept()

    def _accepted(self, body: bytes, *, last: bool) -> Frame:
        try:
            done = self._send(body, last=last)
        except StateousError as problem:
            return _refused(problem)
        return Accepted(done.revision, done.correlation, done.child)

    def _told(self, asked: bytes) -> Frame:
        try:
            return Told(write_answer(self._ask(read_ask(asked))))
        except StateousError as problem:
            return _refused(problem)
        except Exception as problem:  # noqa: BLE001 - a handler is the user's, and its errors may be any
            return _refused(HandlerFailed(failure_of(problem).error))


def _refused(problem: StateousError) -> Refused:
    return Refused(type(problem).__module__, type(problem).__qualname__, str(problem))


class _Leash:
    """A process that ends when the pipe to it says so, or ends."""

    def __init__(self, theirs: socket.socket) -> None:
        """Raises OSError when it cannot be begun."""
        reading, self._end = os.pipe()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [*_COMMAND, str(theirs.fileno())],
                stdin=reading,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # the terminal's Ctrl-C is for the supervisor alone
            )
        except OSError:
            os.close(self._end)
            raise
        finally:
            os.close(reading)
        self._order = Lock()
        _HELD.add(self)

    def let_go(self) -> None:
        """Have it end its routine: SIGTERM, and SIGKILL after a while."""
        with self._order:
            if self not in _HELD:
                return
            _HELD.discard(self)
            with contextlib.suppress(OSError):
                os.write(
                    self._end, b"."
                )  # to close is not enough while a forked process has it, too
            os.close(self._end)

    def wait(self) -> str:
        """Wait for its end; how it ended, as the rest of a sentence."""
        code = self._process.wait()
        if code >= 0:
            return f"ended with exit code {code}"
        names = {number.value: f" ({number.name})" for number in signal.Signals}
        return f"ended with signal {-code}{names.get(-code, '')}"

    def put_away(self) -> None:
        """Its routine is over: what does not end by itself is ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE)
        self.let_go()
        self._process.wait()

    def forget(self) -> None:
        """Close our end in a forked process: it must not keep alive what belongs to its parent."""
        _HELD.discard(self)
        os.close(self._end)


_HELD: WeakSet[_Leash] = WeakSet()


def _forget_all() -> None:
    for leash in list(_HELD):
        leash.forget()


os.register_at_fork(after_in_child=_forget_all)
