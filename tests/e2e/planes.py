"""Real control planes side by side on one database, and plain requests to each of them."""

from __future__ import annotations

import http.client
import json
import signal
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from tests.e2e.processes import PATIENCE, Running
from tests.engine.graphs import ORDERS, Json

SERVES = r"^serving on (http://127\.0\.0\.1:\d+) \(Ctrl-C stops\)$"
WAITS = r"^standby on (http://127\.0\.0\.1:\d+) \(Ctrl-C stops\)$"
LOST = "error: another control plane took the database; this control plane stopped"


class Reply(msgspec.Struct, frozen=True):
    status: int
    headers: dict[str, str]
    json: Any

    @property
    def refusal(self) -> tuple[int, str]:
        return self.status, self.json["code"]


class Control:
    """A `stateous serve` process and where it listens."""

    def __init__(self, process: Running, url: str) -> None:
        self.process = process
        self.url = url

    def ask(self, method: str, path: str, body: Any = None) -> Reply:
        place = urlsplit(self.url)
        connection = http.client.HTTPConnection(place.netloc, timeout=PATIENCE)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            told = answer.read()
            headers = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, headers, json.loads(told) if told else None)
        finally:
            connection.close()

    def start(self, token: str) -> Reply:
        return self.ask("POST", "/tokens", {"token": token, "context": {"title": "a"}})

    def fire(self, token: str, event: str) -> Reply:
        return self.ask("POST", f"/tokens/{token}/events/{event}", {})

    def kinds(self, token: str) -> list[str]:
        """The kinds of the token's ledger entries."""
        return [entry["kind"] for entry in self.ask("GET", f"/tokens/{token}/history").json]

    def sent(self, method: str, path: str, body: Any) -> socket.socket:
        """A connection on which this request is on its way, whether the process looks at it or not."""
        place = urlsplit(self.url)
        text = json.dumps(body)
        head = f"{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {len(text)}"
        connection = socket.create_connection((place.hostname, place.port), timeout=PATIENCE)
        connection.sendall(f"{head}\r\n\r\n{text}".encode())
        return connection

    def kill(self) -> None:
        self.process.stop(signal.SIGKILL)


def answer_on(connection: socket.socket) -> bytes:
    """All that the server answers on the connection, until it closes it; empty when it was cut off."""
    told = b""
    with connection:
        try:
            while more := connection.recv(65536):
                told += more
        except ConnectionError:
            return b""
    return told


class Computer:
    """Starts control planes of one graph in one folder, all on one database."""

    def __init__(self, folder: Path, db: str) -> None:
        self._folder = folder
        self._db = db
        self.serve_graph(ORDERS)

    def serve_graph(self, graph: Json) -> None:
        """Serve this graph from the next start on."""
        (self._folder / "graph.json").write_text(json.dumps(graph))

    def run(self, *options: str) -> Running:
        """A process of `serve` on a free port."""
        listen = ("--listen", "127.0.0.1:0")
        return Running("serve", "graph.json", *listen, "--db", self._db, *options, cwd=self._folder)

    @contextmanager
    def serving(self, *options: str) -> Generator[Control]:
        """A control plane that serves."""
        with self.run(*options) as process:
            yield Control(process, process.says(SERVES)[1])

    @contextmanager
    def waiting(self, *options: str) -> Generator[Control]:
        """A control plane that waits for the database, which another one has."""
        with self.run("--standby", *options) as process:
            control = Control(process, process.says(WAITS)[1])
            process.says(r"hold\.waits")
            yield control

    def refused(self, *options: str) -> str:
        """What a control plane says that ends at once with an error."""
        with self.run(*options) as process:
            assert process.ends() == 1
            return process.said[-1]
