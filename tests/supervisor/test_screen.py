"""A supervisor in a terminal: what is worked on is seen, below the log, and nothing writes over it."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from stateous.client import AsyncClient
from tests.e2e.processes import STATEOUS
from tests.supervisor.processes import make_folder

ROUTINES = """
import os, pathlib, subprocess, sys, time
from contract import events, states
from stateous import on_state

here = pathlib.Path(__file__).parent

@on_state(states.draft)
def draft(ctx):
    print("printed", flush=True)
    print("half a line, ", end="", flush=True)
    subprocess.run(["echo", "a program\\x1b[2J\\x1b]0;title\\x07 says\\x1b[31m"])
    while not (here / "go").exists():
        time.sleep(0.01)
    raise ValueError("\\x1b]0;stolen\\x07 :smile: [bold]")
"""


class Terminal:
    """A process whose terminal we are."""

    def __init__(self, *arguments: str, cwd: Path) -> None:
        self._ours, theirs = os.openpty()
        os.environ.pop("COLUMNS", None)
        self.process = subprocess.Popen(
            [STATEOUS, *arguments],
            cwd=cwd,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "30"},
        )
        os.close(theirs)
        self.seen = ""

    async def shows(self, pattern: str) -> str:
        """Wait until it has shown this, and forget what came before; what was shown until then."""
        async with asyncio.timeout(60):
            while not (found := re.search(pattern, self.seen)):
                await self._read()
        before, self.seen = self.seen[: found.end()], self.seen[found.end() :]
        return before

    async def ends(self) -> tuple[int, str]:
        """Its exit code, and what it showed until its end."""
        async with asyncio.timeout(60):
            while await self._read():
                pass
        return await asyncio.to_thread(self.process.wait), self.seen

    async def _read(self) -> bool:
        try:
            shown = await asyncio.to_thread(os.read, self._ours, 65536)
        except OSError:  # as Linux says that the other side is closed
            return False
        self.seen += shown.decode()
        return bool(shown)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)


@pytest.fixture
def dialect() -> str:
    """No terminal knows a database."""
    return "sqlite"


async def test_what_is_worked_on_is_seen_below_the_log(url: str, tmp_path: Path) -> None:
    async with AsyncClient(url) as client:
        checksum = (await client.health()).checksum
        folder = make_folder(tmp_path / "box", url, checksum=checksum, routines=ROUTINES)
        await client.start("ORDER-1")
        terminal = Terminal("supervise", "box", cwd=tmp_path)
        try:
            shown = await terminal.shows(r"half a line, a program says\r\n")
            assert re.search(r"\d\d:\d\d:\d\d  task 1: draft of ORDER-1, attempt 1\r\n", shown)
            assert "printed\r\n" in shown
            await terminal.shows(r"1 +ORDER-1 +draft +1 +1s")
            (folder / "go").touch()
            shown += await terminal.shows(r"task 1 of ORDER-1: reported failed: ValueError: .*\r\n")
            os.kill(terminal.process.pid, signal.SIGINT)
            shown += await terminal.shows("stopping: no new tasks")
            code, rest = await terminal.ends()
        finally:
            terminal.close()
    assert code == 0
    assert "\\x1b]0;stolen\\x07 :smile: [bold]" in shown
    for character in ("\x07", "\x1b]", "\x1b[2J", "\x1b[31m"):
        assert character not in shown + rest
    assert rest.rstrip("\r").endswith("\x1b[?25h")  # the cursor is shown again


async def test_an_error_is_seen_when_the_terminal_is_given_back(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "box", "http://127.0.0.1:1", routines="1/0")
    (folder / "stateous.yaml").unlink()
    terminal = Terminal("supervise", "box", cwd=tmp_path)
    try:
        code, shown = await terminal.ends()
    finally:
        terminal.close()
    assert code == 1
    assert shown.startswith("error: box has no stateous.yaml")


async def test_a_log_for_programs_is_no_picture(url: str, tmp_path: Path) -> None:
    async with AsyncClient(url) as client:
        make_folder(tmp_path / "box", url, checksum=(await client.health()).checksum)
    terminal = Terminal("supervise", "box", "--log-format", "json", cwd=tmp_path)
    try:
        shown = await terminal.shows('"event": "supervisor.started".*\n')
        os.kill(terminal.process.pid, signal.SIGINT)
        code, rest = await terminal.ends()
    finally:
        terminal.close()
    assert code == 0
    assert "\x1b" not in shown + rest
