"""A proxy between a supervisor and a real control plane: it notes what is asked, and cuts, loses or holds answers."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict, deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

Json = dict[str, Any]

CUT: Final = "cut"
"""The request does not get through, and its connection is closed."""
PASS: Final = "pass"
"""Nothing happens to the request."""
LOSE: Final = "lose"
"""The request gets through; the connection is closed in place of the answer."""


class Passed(NamedTuple):
    """A request as it came by."""

    path: str
    body: Json


class Hold:
    """The request gets through; its answer waits until `go` is set. `reached` is set when the answer is there."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.go = asyncio.Event()


class Late(Hold):
    """The request itself waits until `go` is set; `reached` is set when it is there."""


class Lost(Hold):
    """The request gets through; once `go` is set, the connection is closed in place of the answer."""


class Stall(NamedTuple):
    """The request gets through; its answer comes so many seconds later."""

    seconds: float


class Instead(NamedTuple):
    """The request does not get through; this is the answer to it."""

    status: int
    body: Json


Step = str | Hold | Stall | Instead


def refuse(status: int, code: str) -> Instead:
    return Instead(status, {"error": "No.", "code": code})


class Proxy:
    """`then` is what happens to the next requests of a path, `always` to all of them after that."""

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream
        self._then: dict[str, deque[Step]] = defaultdict(deque)
        self._always: dict[str, Step] = {}
        self._hidden: dict[str, frozenset[str]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()
        self.passed: list[Passed] = []
        self.url = ""

    def then(self, path: str, *steps: Step) -> None:
        self._then[path].extend(steps)

    def always(self, path: str, step: Step | None) -> None:
        if step is None:
            self._always.pop(path, None)
        else:
            self._always[path] = step

    def is_old(self) -> None:
        """From now on, the control plane seems to be one that knows single claims and messages only."""
        for path in ("/tasks/messages", "/tasks/release"):
            self.always(path, refuse(404, "not_found"))
        self._hidden["/tasks/claim"] = frozenset({"wait", "max"})

    def is_renewed(self) -> None:
        """It is itself again."""
        self._always.clear()
        self._hidden.clear()

    def bodies(self, path: str) -> list[Json]:
        return [each.body for each in self.passed if each.path == path]

    async def passes(self, path: str, *, times: int = 1) -> None:
        """Wait until so many requests of a path have come by."""
        async with asyncio.timeout(30):
            while len(self.bodies(path)) < times:
                self._news.clear()
                await self._news.wait()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            # Cancelled by `close` alone; a server's callback would tell it as a fault.
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while await self._serve_one(reader, writer):
                    pass
        finally:
            writer.close()

    async def close(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        request = await _read(reader)
        path = request.split(b" ", 2)[1].decode()
        body = request.partition(b"\r\n\r\n")[2]
        self.passed.append(Passed(path, json.loads(body) if body else {}))
        self._news.set()
        step = self._then[path].popleft() if self._then[path] else self._always.get(path)
        if step == CUT:
            return False
        if isinstance(step, Instead):
            data = json.dumps(step.body).encode()
            answer = (
                b"HTTP/1.1 %d X\r\ncontent-length: %d\r\n\r\n" % (step.status, len(data)) + data
            )
        else:
            if isinstance(step, Late):
                step.reached.set()
                await step.go.wait()
            answer = await self._forward(self._without(path, request), reader)
        if step == LOSE:
            return False
        if isinstance(step, Hold) and not isinstance(step, Late):
            step.reached.set()
            await step.go.wait()
        if isinstance(step, Lost):
            return False
        if isinstance(step, Stall):
            await asyncio.sleep(step.seconds)
        writer.write(answer)
        await writer.drain()
        return True

    def _without(self, path: str, request: bytes) -> bytes:
        """The request without fields that an old control plane would not look at."""
        hidden = self._hidden.get(path)
        if hidden is None:
            return request
        head, _, body = request.partition(b"\r\n\r\n")
        shown = {field: value for field, value in json.loads(body).items() if field not in hidden}
        data = json.dumps(shown).encode()
        lines = [x for x in head.split(b"\r\n") if not x.lower().startswith(b"content-length")]
        return b"\r\n".join([*lines, b"content-length: %d" % len(data), b"", data])

    async def _forward(self, request: bytes, asker: asyncio.StreamReader) -> bytes:
        """The control plane's answer; who asks and hangs up, hangs up on the control plane, too."""
        parts = urlsplit(self.upstream)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        answering = asyncio.create_task(_read(reader))
        gone = asyncio.create_task(asker.read(1))  # nothing comes before the answer, but the end
        try:
            writer.write(request)
            await asyncio.wait((answering, gone), return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                raise ConnectionResetError
            return answering.result()
        finally:
            writer.close()  # before the wait, which is cancelled when the proxy closes
            for task in (answering, gone):
                task.cancel()
            await asyncio.wait((answering, gone))  # the next to read must be alone


async def _read(reader: asyncio.StreamReader) -> bytes:
    """A request or an answer, whole."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    return head + await reader.readexactly(length)


@asynccontextmanager
async def proxying(upstream: str) -> AsyncGenerator[Proxy]:
    """A proxy on a free port; its connections are closed when the block ends."""
    proxy = Proxy(upstream)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
        await proxy.close()
        await server.wait_closed()
