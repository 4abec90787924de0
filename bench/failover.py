"""Measures how long a database is without a control plane, and replicas without a clock, when a process is killed.

Run from the checkout: `python bench/failover.py [--db sqlite|postgresql://...] [--times 10]`.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    # A script's own folder comes first on the path, where `http.py` would be the standard library's `http`.
    sys.path[0] = sys.path[0].rpartition("/")[0]

import argparse
import os
import signal
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter

from bench.served import GRAPH, STATEOUS, drop

SERVES = "serving on http://"
WAITS = "hold.waits"
TAKEN = "clock.taken"
LONGEST = 60.0


class Process:
    """A `stateous serve` of the bench, whose log is read while it is written."""

    def __init__(self, options: Sequence[str], log: Path) -> None:
        self._log = log
        with log.open("wb") as written:
            command = [sys.executable, "-c", STATEOUS, "serve", str(GRAPH), *options]
            self.process = subprocess.Popen(
                [*command, "--listen", "127.0.0.1:0"], stdout=written, stderr=subprocess.STDOUT
            )

    def has_said(self, words: str) -> bool:
        return words in self._log.read_text()

    def until(self, words: str) -> float:
        """The time at which the log has these words. Looks every 5 ms."""
        end = perf_counter() + LONGEST
        while not self.has_said(words):
            if self.process.poll() is not None or perf_counter() > end:
                sys.exit(f"no {words!r} in the log:\n{self._log.read_text()}")
            try:
                self.process.wait(timeout=0.005)
            except subprocess.TimeoutExpired:
                continue
        return perf_counter()

    def send(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how soon a control plane is followed.")
    parser.add_argument("--db", default="sqlite", help="sqlite, or the URL of a Postgres")
    parser.add_argument("--times", type=int, default=10, help="how often each is tried")
    parser.add_argument("--hold", default=None, help="as `serve --hold`")
    asked = parser.parse_args()
    options = [] if asked.hold is None else ["--hold", asked.hold]
    with (
        tempfile.TemporaryDirectory(prefix="stateous-bench-") as folder,
        database(asked.db, folder) as db,
    ):
        tried = Tried(Path(folder), [*db, *options])
        say(
            "a standby serves after kill -9",
            [tried.standby(signal.SIGKILL) for _ in range(asked.times)],
        )
        say(
            "a standby serves after SIGTERM",
            [tried.standby(signal.SIGTERM) for _ in range(asked.times)],
        )
        slept = max(1, asked.times // 5)
        say("a standby serves after SIGSTOP", [tried.standby(signal.SIGSTOP) for _ in range(slept)])
        if asked.db != "sqlite":
            say(
                "a replica runs the clock after kill -9",
                [tried.clock() for _ in range(asked.times)],
            )


@contextmanager
def database(db: str, folder: str) -> Generator[list[str]]:
    """The options that name a database of the bench's own."""
    if db == "sqlite":
        yield ["--db", f"sqlite:///{folder}/bench.db"]
        return
    schema = f"bench_{os.getpid()}"
    try:
        yield ["--db", db, "--schema", schema]
    finally:
        drop(db, schema)


class Tried:
    """What is tried, each time with processes of its own."""

    def __init__(self, folder: Path, options: list[str]) -> None:
        self._folder = folder
        self._options = options
        self._started = 0

    def standby(self, number: signal.Signals) -> float:
        """Seconds from the signal to the one that serves until the one that waited does."""
        with ExitStack() as stack:
            first = stack.enter_context(self._process())
            first.until(SERVES)
            second = stack.enter_context(self._process("--standby"))
            second.until(WAITS)
            began = perf_counter()
            first.send(number)
            return second.until(SERVES) - began

    def clock(self) -> float:
        """Seconds from the death of the replica with the clock until another one has it."""
        with ExitStack() as stack:
            first = stack.enter_context(self._process("--replica"))
            first.until(TAKEN)
            second = stack.enter_context(self._process("--replica"))
            second.until(SERVES)
            began = perf_counter()
            first.send(signal.SIGKILL)
            return second.until(TAKEN) - began

    @contextmanager
    def _process(self, *options: str) -> Generator[Process]:
        self._started += 1
        log = self._folder / f"serve-{self._started}.log"
        started = Process([*self._options, *options], log)
        try:
            yield started
        finally:
            if started.process.poll() is None:
                # Who was stopped cannot hear anything else.
                started.send(signal.SIGCONT)
                started.process.terminate()
                started.process.wait()


def say(what: str, seconds: list[float]) -> None:
    print(
        f"{what}: median {median(seconds):.2f} s, longest {max(seconds):.2f} s, of {len(seconds)}",
        flush=True,
    )


if __name__ == "__main__":
    main()
