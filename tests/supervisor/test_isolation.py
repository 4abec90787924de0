"""Routines with `isolate=True`: processes that tell what others tell, and that are really ended."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from stateous.client import AsyncClient, calls
from stateous_supervisor import process
from stateous_supervisor.routine import Routine
from tests.databases import Database
from tests.store.opened import raw
from tests.supervisor.processes import make_folder, supervise
from tests.supervisor.running import STATES, supervising

HEAD = """
import asyncio, os, pathlib, signal, subprocess, sys, threading, time
from stateous import Event, StateRef, on_state

here = pathlib.Path(__file__).parent
class submitted(Event):
    name = "submitted"

def say_pid(pid=None):
    (here / "pid.new").write_text(str(pid or os.getpid()))
    (here / "pid.new").rename(here / "pid")

@on_state(StateRef("draft", emits=("submitted",)), isolate=True)
"""


def isolated(folder: Path, text: str, *, awaited: bool = False) -> Routine:
    """The routine of `draft` as a supervisor would have found it in a file."""
    file = folder / "isolated_routines.py"
    file.write_text(HEAD + text)
    return Routine(state=STATES["draft"], function=print, awaited=awaited, file=file, isolate=True)


@pytest.fixture
def dialect() -> str:
    """No process of a routine knows a database."""
    return "sqlite"


async def until(holds: Callable[[], bool], *, within: float = 30) -> None:
    """Wait for what other processes do, and tell nobody."""
    async with asyncio.timeout(within):
        while not holds():  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.01)


async def pid_in(folder: Path) -> int:
    """The process that a routine has named; waited for."""
    await until((folder / "pid").exists)
    return int((folder / "pid").read_text())


def is_gone(pid: int) -> bool:
    """Also when it is dead, and whoever began it has not asked for its end yet."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except ProcessLookupError:
        return True
    except FileNotFoundError:  # gone meanwhile, or a system that does not say so
        return Path("/proc/self").exists()


@pytest.mark.parametrize("kind", ["def", "async def"])
async def test_it_is_told_the_token_and_tells_what_others_tell(
    url: str, client: AsyncClient, tmp_path: Path, kind: str
) -> None:
    text = f"""{kind} draft(ctx):
    ctx.note("begun by %s" % ctx.entered_by.name)
    ctx.memory["page"] = 2**70
    ctx["title"] = ctx["title"] + "!"
    print("seen by nobody who looks at the log")
    return submitted
"""
    await client.start("A", {"title": "é"})
    routine = isolated(tmp_path, text, awaited=kind != "def")
    async with supervising(url, tmp_path, {"draft": routine}) as box:
        await box.says("task 1 of A: reported submitted")
    token = await client.get("A")
    assert (token.state, token.context["title"]) == ("review", "é!")
    entries = {entry.kind: entry.data for entry in await client.history("A")}
    assert entries["note"]["text"] == "begun by __started__"
    assert "memory_set" in entries


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("raise ValueError('no\\x00 card') from KeyError('card')", "ValueError: no\ufffd card, because of KeyError: 'card'"),
        ("sys.exit(3)", "SystemExit: 3"),
        ("os._exit(4)", "the routine's process ended with exit code 4"),
        ("os._exit(0)", "the routine's process ended with exit code 0"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "the routine's process ended with signal 9 (SIGKILL)"),
        ("import ctypes; ctypes.string_at(0)", "the routine's process ended with signal 11 (SIGSEGV)"),
        ("raise ValueError('\\ud800')", "ValueError: \ufffd"),
        ("raise ValueError('x' * 10**8)", f"ValueError: {'x' * 9987}…"),
        ("[os.write(n, b'\\x7f' * 64) for n in range(3, 50) if pathlib.Path(f'/dev/fd/{n}').is_socket()]", "the routine's process ended with exit code 0"),
        ("return submitted(1)", "TypeError: the event 'submitted' takes no payload"),
        ("return 1", "draft in isolated_routines.py returned an int: it must return an event, or None to wait"),
        ("ctx['title'] = {1}", "NotJson: context.title is a set, which JSON cannot hold"),
        ("ctx.note('')", "ValueError: a note is a text of 1 to 500 characters"),
    ],
)  # fmt: skip
async def test_however_it_ends_the_attempt_fails_with_the_reason(
    url: str, client: AsyncClient, tmp_path: Path, text: str, error: str
) -> None:
    routine = isolated(tmp_path, f"def draft(ctx):\n    {text}\n")
    await client.start("A")
    async with supervising(url, tmp_path, {"draft": routine}) as box:
        await box.says("task 1 of A: reported failed: ")
    failed = [e.data["error"] for e in await client.history("A") if e.kind == "task_failed"]
    assert failed[0] == error


async def test_what_its_threads_write_at_once_is_kept_and_a_thread_left_behind_is_ended(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    text = """def draft(ctx):
    threads = [threading.Thread(target=ctx.note, args=(f"note {n}",)) for n in range(20)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    threading.Thread(target=time.sleep, args=(600,)).start()
    say_pid()
    return submitted
"""
    await client.start("A")
    async with supervising(url, tmp_path, {"draft": isolated(tmp_path, text)}) as box:
        await box.says("task 1 of A: reported submitted")
        pid = await pid_in(tmp_path)
        await until(lambda: is_gone(pid))
    notes = [e.data["text"] for e in await client.history("A") if e.kind == "note"]
    assert sorted(notes) == sorted(f"note {n}" for n in range(20))


async def test_a_file_that_does_not_import_any_more_fails_the_attempt(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    routine = isolated(tmp_path, "def draft(ctx): ...\n1/0")
    await client.start("A")
    async with supervising(url, tmp_path, {"draft": routine}) as box:
        await box.says("isolated_routines.py, line 15: ZeroDivisionError: division by zero")


async def test_a_process_that_cannot_be_begun_fails_the_attempt(
    url: str, client: AsyncClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_more() -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(process.socket, "socketpair", no_more)
    await client.start("A")
    async with supervising(url, tmp_path, {"draft": isolated(tmp_path, HANGS)}) as box:
        await box.says("failed: the routine's process could not be started: Too many open files")


HANGS = """def draft(ctx):
    say_pid()
    time.sleep(600)
"""
IGNORES = """def draft(ctx):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    say_pid()
    time.sleep(600)
"""
KEEPS_THE_LOCK = """def draft(ctx):
    say_pid()
    sum(range(10**13))  # one call of C code, in which no other thread gets its turn
"""
STARTS_A_PROGRAM = """def draft(ctx):
    program = subprocess.Popen(["sleep", "600"])
    say_pid(program.pid)
    program.wait()
"""
FORKS = """def draft(ctx):
    if os.fork() == 0:
        say_pid()
        time.sleep(600)
    time.sleep(600)
"""
STUBBORN = """async def draft(ctx):
    say_pid()
    while True:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            pass
"""


class TestShortLeases:
    """With a lease of two seconds, that a task was taken back is heard soon."""

    @pytest.fixture
    def lease_for(self) -> timedelta:
        return timedelta(seconds=2)

    @pytest.mark.parametrize(
        "text",
        [HANGS, IGNORES, KEEPS_THE_LOCK, STARTS_A_PROGRAM, FORKS, STUBBORN],
        ids=["hangs", "ignores", "keeps the lock", "starts a program", "forks", "stubborn"],
    )
    async def test_a_lost_task_ends_the_process_and_what_it_began(
        self, url: str, client: AsyncClient, tmp_path: Path, text: str
    ) -> None:
        await client.start("A")
        routine = isolated(tmp_path, text, awaited=text is STUBBORN)
        async with supervising(url, tmp_path, {"draft": routine}) as box:
            pid = await pid_in(tmp_path)
            await client.cancel("A")
            await box.says("task 1 of A: the control plane took it back; ending its process")
            await until(lambda: is_gone(pid))
            box.stop.ask()
            assert await box.exit_code() == 0
        assert not any("reported" in line for line in box.lines.said)


@pytest.mark.parametrize("waits", ["def draft(ctx):", "async def draft(ctx):"])
async def test_it_may_put_away_what_it_holds_when_it_is_ended(
    url: str, client: AsyncClient, tmp_path: Path, waits: str
) -> None:
    sleep = "await asyncio.sleep" if waits.startswith("async") else "time.sleep"
    text = f"""{waits}
    say_pid()
    try:
        {sleep}(600)
    finally:
        (here / "put away").touch()
"""
    routine = isolated(tmp_path, text, awaited=waits.startswith("async"))
    await client.start("A")
    async with supervising(url, tmp_path, {"draft": routine}) as box:
        pid = await pid_in(tmp_path)
        box.stop.ask()
        await box.says("stopping: no new tasks; waiting for 1 routine(s)")
        box.stop.ask()
        assert await box.exit_code() == 1
        assert is_gone(pid)
    assert (tmp_path / "put away").exists()


@pytest.mark.parametrize("text", [KEEPS_THE_LOCK, STARTS_A_PROGRAM])
async def test_it_is_ended_when_the_supervisor_is_killed(
    url: str, tmp_path: Path, text: str
) -> None:
    async with AsyncClient(url) as client:
        folder = make_folder(tmp_path / "box", url, checksum=(await client.health()).checksum)
        (folder / "routines.py").write_text(HEAD + text)
        await client.start("A")
        with supervise(folder) as running:
            pid = await pid_in(folder)
            assert os.getsid(pid) != os.getsid(
                running.pid
            )  # Ctrl-C in a terminal does not reach it
            os.kill(running.pid, signal.SIGKILL)
            await until(lambda: is_gone(pid), within=5)


async def test_a_flow_of_any_size_gets_into_the_process(
    database: Database, url: str, client: AsyncClient, tmp_path: Path
) -> None:
    """More than the supervisor takes from it at once."""
    await client.start("A")
    assert await client.send(calls.claim("other", ["draft"], "r"))
    await client.checkpoint(1, "book", "step", attempt=1, revision=0, result="x")
    await raw(
        database, "update steps set result = '\"' || hex(zeroblob(cast(34e6 as integer))) || '\"'"
    )
    await client.send(calls.release("other", tasks=[1]))
    text = """def draft(ctx):
    assert len(ctx.step("book", print)) == 68_000_000
    return submitted
"""
    async with supervising(url, tmp_path, {"draft": isolated(tmp_path, text)}) as box:
        assert "reported submitted" in await box.says("task 1 of A: reported")
