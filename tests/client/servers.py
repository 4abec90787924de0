"""A real server on a socket that answers as a test's script says: rightly, wrongly, late, half or not at all."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Final, NamedTuple, Self

CUT: Final = b""
"""A step of a script: the connection is closed instead of an answer."""


class Received(NamedTuple):
    """A request as it came in; header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, object]:
        return json.loads(self.body)


def answer(status: int, body: object = None, **headers: str) -> bytes:
    """A step of a script: a JSON answer. `retry_after="2"` becomes the header Retry-After."""
    data = b"" if body is None else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(data)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + data


def refusal(status: int, code: str, sentence: str = "No.", **headers: str) -> bytes:
    return answer(status, {"error": sentence, "code": code}, **headers)


TOKEN: Final = {
    "token": "A",
    "state": "draft",
    "status": "active",
    "visit": 1,
    "context": {"title": "x"},
    "entered_at": "2026-01-02T03:04:05.000006Z",
}


class ScriptedServer:
    """Gives one step of its script to each request, and then cuts; keeps what it received.

    `routes` are scripts for paths of their own; the last step of such a script is given for ever.
    """

    def __init__(self, *script: bytes, routes: Mapping[str, Sequence[bytes]] | None = None) -> None:
        self.received: list[Received] = []
        self.connections = 0
        self._script = list(script)
        self._routes = {path: list(steps) for path, steps in (routes or {}).items()}
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def bodies(self, path: str) -> list[dict[str, object]]:
        """What was sent to this path, in order."""
        return [received.json for received in self.received if received.path == path]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        with self._lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        for thread in list(self._threads):
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            with self._lock:
                self.connections += 1
                self._open.append(connection)
            thread = threading.Thread(target=self._serve, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _step(self, path: str) -> bytes:
        steps = self._routes.get(path)
        if steps is not None:
            return steps.pop(0) if len(steps) > 1 else steps[0]
        return self._script.pop(0) if self._script else CUT

    def _answer(self, connection: socket.socket, step: bytes) -> None:
        connection.sendall(step)

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as reader, suppress(OSError):
            while line := reader.readline():
                method, path, _ = line.decode("ascii").split(" ", 2)
                headers: dict[str, str] = {}
                while (header := reader.readline().strip()) != b"":
                    name, _, value = header.decode("latin-1").partition(":")
                    headers[name.lower()] = value.strip()
                body = reader.read(int(headers.get("content-length", "0")))
                with self._lock:
                    self.received.append(Received(method, path, headers, body))
                    step = self._step(path)
                if step == CUT:
                    return
                self._answer(connection, step)
                if b"Connection: close" in step:
                    return


class TricklingServer(ScriptedServer):
    """Gives its only step, then a byte now and then for 5 seconds: never silent for long, and never at an end."""

    def _answer(self, connection: socket.socket, step: bytes) -> None:
        connection.sendall(step)
        for _ in range(100):
            connection.sendall(b" ")
            time.sleep(0.05)
