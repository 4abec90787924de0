"""Real `stateous` processes for tests: what they say is awaited, and none outlives its test."""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

STATEOUS = str(Path(sys.executable).with_name("stateous"))
PATIENCE = 60.0


class Running:
    """A process that goes on, read line by line."""

    def __init__(self, *arguments: str, cwd: Path) -> None:
        self._process = subprocess.Popen(
            [STATEOUS, *arguments],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self.said: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def says(self, pattern: str) -> re.Match[str]:
        """Wait for a line that was not awaited before. Fails when the process ends without it."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no line with {pattern!r} in {self.said}") from None
            if line is None:
                self._lines.put(None)
                raise AssertionError(f"ended without a line with {pattern!r}: {self.said}")
            found = re.search(pattern, line)
            if found:
                return found

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Send a signal and wait for the end; its exit code."""
        self._process.send_signal(number)
        return self.ends()

    def ends(self) -> int:
        code = self._process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._reader.join(PATIENCE)
        if self._process.stdout is not None:
            self._process.stdout.close()
        if error is not None:
            error.add_note("\n".join([f"{self._process.args}:", *self.said]))

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self.said.append(line.rstrip("\n"))
            self._lines.put(self.said[-1])
        self._lines.put(None)


class Shell:
    """Runs commands to their end in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = ""

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [STATEOUS, *arguments],
            cwd=self.folder,
            env={**os.environ, "STATEOUS_URL": self.url},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )

    def says(self, *arguments: str) -> str:
        """What a command prints; it must end well."""
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def serve(self, db: str, *more: str, graph: str = "orders/build/orders.json") -> Running:
        """A control plane that serves, on a free port."""
        serve = ("serve", graph, "--listen", "127.0.0.1:0", "--db", db, *more)
        serving = Running(*serve, cwd=self.folder)
        try:
            self.url = serving.says(r"^serving on (http://127\.0\.0\.1:\d+) \(Ctrl-C stops\)$")[1]
        except AssertionError as error:
            serving.__exit__(type(error), error, None)
            raise
        return serving
