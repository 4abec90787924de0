"""The supervisor's coroutine is run to its end, whatever routines do to the loop that they share with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from stateous_supervisor.log import Log


def run_steadily(
    runner: asyncio.Runner, work: Coroutine[Any, Any, int], *, stop: Callable[[], None], log: Log
) -> int:
    """The result of `work`. `stop` is called for a Ctrl-C that comes as an exception.

    A task that a routine began ends the loop when it raises SystemExit; a routine can stop the loop, too.
    Then it goes on: what others have begun on it must not be lost.
    """
    loop = runner.get_loop()
    task = loop.create_task(work)
    while not task.done():
        try:
            loop.run_until_complete(task)
        except KeyboardInterrupt:
            stop()
        except BaseException as problem:
            if task.done() or loop.is_closed():
                raise
            _say(problem, log)
    return task.result()


def _say(problem: BaseException, log: Log) -> None:
    said = f"a routine ended the loop of the supervisor ({type(problem).__name__}); it goes on"
    log.error(said, kind="loop.ended", exc_info=problem)
