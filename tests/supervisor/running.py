"""A supervisor in the test's own loop, what it says, and the routines that it runs."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from stateous import Event, StateRef
from stateous.client import AsyncClient, Health
from stateous_supervisor.folder import BadFolder, Settings
from stateous_supervisor.link import Link
from stateous_supervisor.loop import Supervisor
from stateous_supervisor.outbox import Outbox
from stateous_supervisor.routine import Routine
from stateous_supervisor.signals import Stop

Function = Callable[[Any], Any]

STATES = {
    "draft": StateRef("draft", emits=("submitted",)),
    "review": StateRef("review", emits=("reviewed", "skipped")),
}


class submitted(Event):  # noqa: N801 - as a contract names it
    name = "submitted"


class reviewed(Event):  # noqa: N801
    name = "reviewed"
    model = dict


class skipped(Event):  # noqa: N801
    name = "skipped"


class nudged(Event):  # noqa: N801
    name = "nudged"


class Lines:
    """A log that tests wait on. Any thread may write to it."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self._loop = asyncio.get_running_loop()
        self._more = asyncio.Event()
        self._read = 0

    def info(self, event: str, **_values: Any) -> None:
        self.said.append(event)
        self._loop.call_soon_threadsafe(self._more.set)

    warning = info
    error = info

    async def says(self, part: str) -> str:
        """The next line, after the last one that was awaited, that has `part`."""
        async with asyncio.timeout(30):
            while True:
                while self._read < len(self.said):
                    self._read += 1
                    if part in self.said[self._read - 1]:
                        return self.said[self._read - 1]
                self._more.clear()
                await self._more.wait()


class Box:
    """A supervisor that runs: its log, how to stop it, and its exit code when it ended."""

    def __init__(self, *, stop: Stop, lines: Lines, outbox: Outbox) -> None:
        self.stop = stop
        self.lines = lines
        self.outbox = outbox
        self.ends: asyncio.Task[int]

    async def says(self, part: str) -> str:
        return await self.lines.says(part)

    async def exit_code(self) -> int:
        async with asyncio.timeout(30):
            return await asyncio.shield(self.ends)


@asynccontextmanager
async def supervising(
    url: str,
    folder: Path,
    routines: Mapping[str, Function | Routine],
    *,
    name: str = "box",
    tasks: int = 4,
    serves: str | None = None,
) -> AsyncGenerator[Box]:
    """Run a supervisor with these functions; it is stopped at once when the block ends."""
    stop, lines = Stop(), Lines()

    def check(health: Health) -> None:
        if serves is not None and health.checksum != serves:
            raise BadFolder("contract.py is for another version of the workflow")

    with Outbox(folder) as outbox:
        async with AsyncClient(url) as client:
            box = Box(stop=stop, lines=lines, outbox=outbox)
            link = Link(client, log=lines)
            supervisor = Supervisor(
                link,
                outbox,
                settings=Settings(folder=folder, url=url, tasks=tasks, name=name),
                routines={state: _routine(state, each) for state, each in routines.items()},
                check=check,
                stop=stop,
                log=lines,
            )
            box.ends = asyncio.create_task(supervisor.run())
            try:
                yield box
            finally:
                stop.ask()
                stop.ask()
                with suppress(BadFolder):  # which a test has seen, if it is why this one ends
                    await box.ends


def _routine(state: str, function: Function | Routine) -> Routine:
    if isinstance(function, Routine):
        return function
    awaited = inspect.iscoroutinefunction(function)
    return Routine(
        state=STATES[state], function=function, awaited=awaited, file=Path("routines.py")
    )
