"""The ways in which a routine runs: on the supervisor's loop, in a thread; processes are in process.py."""

from __future__ import annotations

import asyncio
import contextvars
import os
from concurrent.futures import Future
from inspect import isawaitable
from threading import Thread
from typing import Protocol

from stateous_supervisor.attempt import Attempt, End


class Way(Protocol):
    """One run of a routine. `stopping` is what `stop` does, in the log's words.

    What `begin` returns gets a result, whatever the routine does, unless it is stopped.
    """

    stopping: str

    def begin(self, attempt: Attempt, *, name: str) -> asyncio.Future[End]: ...

    def stop(self) -> bool:
        """End the routine as far as that is possible; whether its end will come soon."""
        ...


class OnLoop:
    """An `async def` routine: a task of the loop, which is cancelled when it is stopped."""

    stopping = "cancelling its routine"

    def __init__(self) -> None:
        self._task: asyncio.Task[End] | None = None

    def begin(self, attempt: Attempt, *, name: str) -> asyncio.Future[End]:
        self._task = asyncio.create_task(self._run(attempt), name=name)
        return self._task

    def stop(self) -> bool:
        return self._task is not None and self._task.cancel()

    async def _run(self, attempt: Attempt) -> End:
        process = os.getpid()
        try:
            with attempt.ambience:
                result = attempt.routine.function(attempt.context)
                if isawaitable(result):
                    result = await result
            _leave_if_forked(process)
            return attempt.returned(result)
        except BaseException as problem:  # noqa: BLE001 - as in Attempt.run; also a cancellation of its own
            _leave_if_forked(process)
            await attempt.steps.fault_async(problem)
            return attempt.raised(problem)


def _leave_if_forked(process: int) -> None:
    """End a forked child that came back: it would be a second supervisor, on the same connections."""
    if os.getpid() != process:
        os._exit(1)


class InThread:
    """A `def` routine: a thread of its own, which nobody can stop."""

    stopping = "its result is ignored"

    def begin(self, attempt: Attempt, *, name: str) -> asyncio.Future[End]:
        ended: Future[End] = Future()
        ended.set_running_or_notify_cancel()  # a thread cannot be cancelled, and may always set a result

        def run() -> None:
            ended.set_result(attempt.run(attempt.routine.function))

        # A daemon: a routine that hangs must not keep a supervisor that was told to stop now.
        work = contextvars.copy_context().run
        Thread(target=work, args=(run,), name=name, daemon=True).start()
        return asyncio.wrap_future(ended)

    def stop(self) -> bool:
        return False
