"""The log on a terminal: its lines, and below them a line for each task that is worked on now."""

from __future__ import annotations

import fcntl
import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Final, Self

from stateous.model.sentences import printable
from stateous_supervisor.run import Run

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.live import Live
    from rich.segment import Segment

_DRAWN: Final = 0.1
_COUNTED: Final = 0.5
"""Seconds: the shortest time between two pictures, and the longest while something runs."""
_ROOM: Final = 1 << 20
_LONGEST: Final = 1 << 16
"""Bytes that a routine may print before they are read, and characters of a line."""
_MOST: Final = 100_000
"""Lines that wait to be drawn: somebody may have stopped the terminal."""
_ESCAPES: Final = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[@-Z\\-_])")


def is_terminal() -> bool:
    """Whether stderr is something on which lines can be drawn again."""
    try:
        return os.isatty(2) and os.environ.get("TERM", "dumb") != "dumb"
    except OSError:
        return False


class Screen:
    """Draws from a thread of its own, from when it is entered until `close`.

    What routines and their programs write to the terminal is taken in and shown among the lines of the log:
    they would write over the picture.
    """

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=_MOST)
        self._runs: Callable[[], Sequence[Run]] = tuple
        self._more = Event()
        self._over = Event()
        self._file = os.fdopen(os.dup(2), "w", encoding="utf-8", errors="backslashreplace")
        self._captured = [number for number in (1, 2) if os.isatty(number)]
        self._kept = [os.dup(number) for number in self._captured]
        self._drawing = Thread(target=self._draw_on, name="screen", daemon=True)
        self._reading = Thread(target=self._read_on, name="output", daemon=True)

    def write(self, line: str) -> None:
        """Show a line of the log, which has no character that a terminal acts on."""
        self._lines.append(line)
        self._more.set()

    def shows(self, runs: Callable[[], Sequence[Run]]) -> None:
        """From now on, show the tasks that `runs` returns."""
        self._runs = runs

    def __enter__(self) -> Self:
        self._output, ours = os.pipe()
        with suppress(AttributeError, OSError):  # Linux: C code may write a lot before we can read
            fcntl.fcntl(ours, fcntl.F_SETPIPE_SZ, _ROOM)
        for number in self._captured:
            os.dup2(ours, number)
        os.close(ours)
        self._reading.start()
        self._drawing.start()
        return self

    def __exit__(self, *_ended: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the terminal back, with everything said."""
        if self._over.is_set():
            return
        for number, kept in zip(self._captured, self._kept, strict=True):
            os.dup2(kept, number)
            os.close(kept)
        self._reading.join(_COUNTED)  # a program that goes on keeps the other end open
        self._over.set()
        self._more.set()
        self._drawing.join()
        self._file.close()

    def _read_on(self) -> None:
        with os.fdopen(self._output, encoding="utf-8", errors="replace", newline="\n") as output:
            while line := output.readline(_LONGEST):
                shown = _ESCAPES.sub("", line).rstrip("\r\n").rpartition("\r")[2]
                self.write(printable(shown.expandtabs()))

    def _draw_on(self) -> None:
        from rich.console import Console  # noqa: PLC0415 - 50 ms that only a terminal needs
        from rich.live import Live  # noqa: PLC0415

        console = Console(file=self._file, force_terminal=True, markup=False, emoji=False)
        live = Live(
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        with live:
            while not self._over.is_set():
                self._more.wait(_COUNTED if self._runs() else None)
                self._more.clear()
                self._draw(live)
                self._over.wait(_DRAWN)
            self._draw(live)

    def _draw(self, live: Live) -> None:
        lines = [self._lines.popleft() for _ in range(len(self._lines))]
        live.update(_table(self._runs(), most=live.console.height // 2))
        if lines:
            live.console.print(
                _AsItIs("".join(f"{line}\n" for line in lines)), crop=False, soft_wrap=True
            )
        else:
            live.refresh()


class _AsItIs:
    """Text that rich neither measures nor wraps: there can be thousands of lines a second."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __rich_console__(self, _console: Console, _options: ConsoleOptions) -> Iterator[Segment]:
        from rich.segment import Segment  # noqa: PLC0415

        yield Segment(self._text)


def _table(runs: Sequence[Run], *, most: int) -> RenderableType:
    """The oldest of the routines that run first; at most `most` rows."""
    from rich.console import Group  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    running = [run for run in runs if run.running]
    if not running:
        return Group()
    shown = running[: max(most, 1)]
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim")
    for heading in ("task", "token", "state", "attempt", "runs for"):
        table.add_column(heading, no_wrap=True, overflow="ellipsis")
    now = monotonic()
    for run in shown:
        grant = run.grant
        table.add_row(
            str(grant.task),
            printable(grant.token),
            printable(grant.state),
            str(grant.attempt),
            _spelled(int(now - run.begun)),
        )
    if len(running) > len(shown):
        table.add_row("", f"and {len(running) - len(shown)} more")
    return table


def _spelled(seconds: int) -> str:
    """`7s`, `3m 07s`, `2h 03m`."""
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 3600:
        return f"{seconds // 60}m {seconds % 60:02}s"
    return f"{seconds // 3600}h {seconds // 60 % 60:02}m"
