"""Measures one supervisor with trivial routines beside its control plane: tasks/s, CPU for each, and what idling costs.

Run from the checkout: `python bench/supervisor.py [--db sqlite|postgresql://...] [--tasks 64] [--seconds 10]`.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    # A script's own folder comes first on the path, where `http.py` would be the standard library's.
    sys.path[0] = sys.path[0].rpartition("/")[0]

import argparse
import asyncio
import os
import platform
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from bench.load import connect
from bench.processes import cpu_of
from bench.served import GRAPH, STATEOUS, served

ROUTINES = '''"""Routines that do nothing."""

from contract import events, states
from stateous import Context, on_state


@on_state(states.draft)
async def draft(ctx: Context) -> events.submitted:
    return events.submitted()


@on_state(states.review)
async def review(ctx: Context) -> events.reviewed:
    return events.reviewed(approved=True)
'''
STARTERS = 64
WARM_UP = 2.0
"""Seconds of work that are not counted."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure one supervisor beside a control plane.")
    parser.add_argument("--db", default="sqlite", help="sqlite, or the URL of a Postgres")
    parser.add_argument("--tasks", type=int, default=64, help="routines that run at once")
    parser.add_argument("--seconds", type=float, default=10, help="how long each is measured")
    parser.add_argument("--tokens", type=int, default=20_000, help="tokens, of two tasks each")
    asked = parser.parse_args()
    database = "SQLite" if asked.db == "sqlite" else "Postgres"
    print(
        f"{database}, tasks: {asked.tasks}, {os.cpu_count()} cores ({platform.machine()}), "
        f"Python {platform.python_version()}, all on one machine"
    )
    with (
        served(asked.db) as (host, port, server),
        supervising(f"http://{host}:{port}", tasks=asked.tasks) as (supervisor, log),
    ):
        idle(supervisor, asked.seconds)
        os.kill(supervisor, signal.SIGSTOP)
        asyncio.run(start(host, port, asked.tokens))
        os.kill(supervisor, signal.SIGCONT)
        busy(supervisor, server, log, asked.seconds, most=2 * asked.tokens)


def idle(supervisor: int, seconds: float) -> None:
    """Tell what a supervisor costs that waits for tasks."""
    time.sleep(1)
    used = cpu_of(supervisor)
    time.sleep(seconds)
    used = cpu_of(supervisor) - used
    print(f"idle: {used / seconds:.2%} of a core")


def busy(supervisor: int, server: int, log: Path, seconds: float, *, most: int) -> None:
    """Tell how fast tasks are done, counted in the supervisor's log."""
    time.sleep(WARM_UP)
    before, cpu, server_cpu, begun = (
        reported(log),
        cpu_of(supervisor),
        cpu_of(server),
        perf_counter(),
    )
    time.sleep(seconds)
    done, took = reported(log), perf_counter() - begun
    cpu, server_cpu = cpu_of(supervisor) - cpu, cpu_of(server) - server_cpu
    if done == most:
        sys.exit("all tasks were done before the time was over: ask for more --tokens")
    tasks = done - before
    print(
        f"busy: {tasks / took:,.0f} tasks/s; for each, {cpu / tasks * 1e6:.0f} µs of CPU of the supervisor "
        f"({cpu / took:.0%} of a core) and {server_cpu / tasks * 1e6:.0f} µs of the server"
    )


def reported(log: Path) -> int:
    return log.read_bytes().count(b": reported ")


async def start(host: str, port: int, tokens: int) -> None:
    """Start tokens over as many connections as the server batches well."""
    names = iter(range(tokens))

    async def work() -> None:
        connection = await connect(host, port)
        for name in names:
            body = {"token": f"B-{name}", "context": {"title": "a new house"}}
            answer = await connection.request("POST", "/tokens", body)
            if answer.status != 201:
                sys.exit(f"expected 201, got {answer.status}: {answer.body[:500].decode()}")
        connection.close()

    await asyncio.gather(*(work() for _ in range(STARTERS)))


@contextmanager
def supervising(url: str, *, tasks: int, routines: str = ROUTINES) -> Generator[tuple[int, Path]]:
    """A supervisor's process id, and its log in its folder, which is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="stateous-bench-") as folder:
        command = [sys.executable, "-c", STATEOUS]
        subprocess.run(
            [*command, "init", "supervisor", str(GRAPH), folder],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        (Path(folder) / "stateous.yaml").write_text(f"url: {url}\ntasks: {tasks}\nname: bench\n")
        (Path(folder) / "routines.py").write_text(routines)
        # A file, not a pipe: nobody reads on while it works.
        log = Path(folder) / "supervise.log"
        with log.open("wb") as written:
            process = subprocess.Popen([*command, "supervise", folder], stderr=written)
        try:
            wait_for(process, log, rb" serves draft")
            yield process.pid, log
        finally:
            process.terminate()
            if process.wait(timeout=30) != 0:
                sys.stderr.write(log.read_text()[-4000:])


def wait_for(process: subprocess.Popen[bytes], log: Path, line: bytes) -> None:
    while not re.search(line, log.read_bytes()):
        try:
            process.wait(timeout=0.05)
        except subprocess.TimeoutExpired:
            continue
        sys.exit(f"the supervisor did not start:\n{log.read_text()}")


if __name__ == "__main__":
    main()
