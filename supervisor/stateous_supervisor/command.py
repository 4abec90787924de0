"""`stateous supervise FOLDER`: everything is checked, then the loop runs until it is stopped."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from stateous.client.answers import Health
from stateous.client.asynchronous import AsyncClient
from stateous.model.refusals import StateousError
from stateous_supervisor.folder import (
    Contract,
    Settings,
    check_contract,
    read_contract,
    read_settings,
)
from stateous_supervisor.link import GaveUp, Link
from stateous_supervisor.log import Log, LogFormat, open_log
from stateous_supervisor.loop import CANCEL_FOR, Supervisor
from stateous_supervisor.outbox import Outbox
from stateous_supervisor.routines import find_routines
from stateous_supervisor.signals import Stop, wait_for_any
from stateous_supervisor.stderr import Stderr


def supervise(folder: Path, *, leash: int | None = None, log_format: LogFormat = "text") -> int:
    """Run the routines of a folder until a signal, or until the other end of `leash` closes; the exit code.

    Prints its own errors.
    """
    try:
        settings, contract = read_settings(folder), read_contract(folder)
        log = open_log(log_format, write=Stderr().write)
        with Outbox(folder) as outbox:
            return _run(settings, contract, outbox, leash=leash, log=log)
    except StateousError as problem:
        print(f"error: {problem}", file=sys.stderr)  # noqa: T201 - a command's answer, not its log
    except KeyboardInterrupt:
        pass  # before anything was begun
    return 1


def _run(
    settings: Settings, contract: Contract, outbox: Outbox, *, leash: int | None, log: Log
) -> int:
    with asyncio.Runner() as runner:
        stop = Stop(leash)
        code = runner.run(_supervise(settings, contract, outbox, stop=stop, log=log))
        if asyncio.all_tasks(runner.get_loop()):
            # Something of a routine does not let itself be cancelled: to wait for it would be to not stop.
            outbox.close()
            sys.stderr.flush()
            os._exit(code)
        return code


async def _supervise(
    settings: Settings, contract: Contract, outbox: Outbox, *, stop: Stop, log: Log
) -> int:
    stop.listen()
    try:
        async with AsyncClient(settings.url) as client:
            link = Link(client, log=log)
            health = await _greet(link, stop)
            if health is None:
                return 0
            check_contract(contract, health, settings=settings, url=link.url)
            supervisor = Supervisor(
                link,
                outbox,
                routines=find_routines(settings.folder),
                name=settings.name,
                tasks=settings.tasks,
                lease_for=health.lease_for,
                stop=stop,
                log=log,
            )
            return await supervisor.run()
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
    answered = asyncio.Event()
    greeting.add_done_callback(lambda _: answered.set())
    await wait_for_any(answered, stop.asked)
    if not greeting.done():
        greeting.cancel()
        await asyncio.wait([greeting])
        return None
    try:
        return greeting.result()
    except GaveUp:
        return None
