"""`stateous supervise FOLDER`: everything is checked, then the loop runs until it is stopped."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from time import monotonic

from stateous.client.answers import Health
from stateous.client.asynchronous import AsyncClient
from stateous.model.refusals import StateousError
from stateous_supervisor.doubts import doubts
from stateous_supervisor.folder import (
    Contract,
    Settings,
    check_contract,
    read_contract,
    read_settings,
)
from stateous_supervisor.link import GaveUp, Link
from stateous_supervisor.log import Log, LogFormat, open_log
from stateous_supervisor.log_handlers import (
    check_handlers,
    close_handlers,
    find_handlers,
    make_handlers,
    with_logs,
)
from stateous_supervisor.loop import CANCEL_FOR, Supervisor
from stateous_supervisor.outbox import Outbox
from stateous_supervisor.routines import find_routines
from stateous_supervisor.screen import Screen, is_terminal
from stateous_supervisor.signals import Interrupted, Stop, wait_for_any
from stateous_supervisor.stderr import Stderr
from stateous_supervisor.steady import run_steadily


def supervise(
    folder: Path, *, leash: int | None = None, log_format: LogFormat | None = None
) -> int:
    """Run the routines of a folder until a signal, or until the other end of `leash` closes; the exit code.

    Without a format for the log a terminal that is ours alone also shows the tasks that are worked on.
    Prints its own errors.
    """
    try:
        settings, contract = read_settings(folder), read_contract(folder)
        watched = log_format is None and leash is None and is_terminal()
        with Outbox(folder) as outbox, Screen() if watched else Stderr() as output:
            log = open_log(log_format or "text", write=output.write)
            return _run(settings, contract, outbox, leash=leash, output=output, log=log)
    except StateousError as problem:
        return _refused(problem)
    except KeyboardInterrupt:
        return 1  # before anything was begun


def _refused(problem: StateousError) -> int:
    print(f"error: {problem}", file=sys.stderr)  # noqa: T201 - a command's answer, not its log
    return 1


def _run(
    settings: Settings,
    contract: Contract,
    outbox: Outbox,
    *,
    leash: int | None,
    output: Screen | Stderr,
    log: Log,
) -> int:
    # The outbox's thread needs Python's lock a few times for each write, and must not wait 5 ms each time.
    sys.setswitchinterval(0.001)
    with asyncio.Runner() as runner:
        # The loop's own would be waited for, however long something that a routine gave to it takes.
        executor = ThreadPoolExecutor(thread_name_prefix="executor")
        runner.get_loop().set_default_executor(executor)
        stop = Stop(leash)
        try:
            work = _supervise(settings, contract, outbox, stop=stop, output=output, log=log)
            code = run_steadily(runner, work, stop=stop.ask, log=log)
        except StateousError as problem:
            code = _refused(problem)
        executor.shutdown(wait=False, cancel_futures=True)
        if asyncio.all_tasks(runner.get_loop()) or not _threads_end():
            # Something of a routine does not let itself be ended: to wait for it would be to not stop.
            outbox.close()
            output.close()
            for stream in (sys.stdout, sys.stderr):
                # A routine may have closed it, or put something else in its place.
                with suppress(Exception):
                    stream.flush()
            os._exit(code)
        return code


def _threads_end() -> bool:
    """Wait a moment for threads that routines left behind, and that Python would wait for; whether all ended."""
    until = monotonic() + CANCEL_FOR
    for thread in threading.enumerate():
        if not thread.daemon and thread is not threading.current_thread():
            thread.join(max(0.0, until - monotonic()))
            if thread.is_alive():
                return False
    return True


async def _supervise(
    settings: Settings,
    contract: Contract,
    outbox: Outbox,
    *,
    stop: Stop,
    output: Screen | Stderr,
    log: Log,
) -> int:
    stop.listen()
    try:
        async with AsyncClient(settings.url) as client:
            link = Link(client, log=log)
            health = await _greet(link, stop)
            if health is None:
                return 0

            def check(health: Health) -> None:
                check_contract(contract, health, settings=settings, url=link.url)

            check(health)
            try:
                with stop.interrupts():  # what is imported may take its time, and take the signals
                    routines = find_routines(settings.folder)
                    found = find_handlers(settings.folder)
                    check_handlers(routines.values(), found)
                    logs = make_handlers(found)
            except Interrupted:
                return 0
            for doubt in doubts(routines.values()):
                log.warning(doubt, kind="routine.doubtful")
            supervisor = Supervisor(
                link,
                outbox,
                settings=settings,
                routines=with_logs(routines, logs),
                check=check,
                stop=stop,
                log=log,
            )
            output.shows(lambda: supervisor.runs)
            try:
                return await supervisor.run()
            finally:
                await close_handlers(logs.values())
    finally:
        stop.ignore()
        await _cancel_the_rest()


async def _cancel_the_rest() -> None:
    """Cancel what routines have left behind on the loop."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    if rest:
        await asyncio.wait(rest, timeout=CANCEL_FOR)


async def _greet(link: Link, stop: Stop) -> Health | None:
    """The health of the control plane, once it answers; None when the supervisor is stopped before."""
    greeting = asyncio.create_task(link.greet(until=stop.asked))
    await wait_for_any(greeting, stop.asked)
    if not greeting.done():
        greeting.cancel()
        await asyncio.wait([greeting])
        return None
    try:
        return greeting.result()
    except GaveUp:
        return None
