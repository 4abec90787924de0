"""A control plane behind real HTTP whose clock is moved by hand, and what is new in its tokens' ledgers."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

from stateous.control.compose import open_plane
from stateous.control.plane import Plane
from stateous.model.graph import parse_graph
from tests.api.caller import Caller, Reply
from tests.api.serving import served
from tests.cards.entries import Entry
from tests.databases import Clock, Database

Json = dict[str, Any]
BOX = "build-box-1"


class Served:
    """Steps of a story, and what they left. A step fails the test when the server says no."""

    def __init__(self, api: Caller, plane: Plane, clock: Clock, database: Database) -> None:
        self.api = api
        self.plane = plane
        self.clock = clock
        self.database = database
        self._read: dict[str, int] = {}

    async def post(self, path: str, body: Any = None, *, key: str | None = None) -> Reply:
        """Ask for something that may be refused."""
        headers = [] if key is None else [("Idempotency-Key", key)]
        return await self.api.post(path, {} if body is None else body, headers)

    async def start(self, token: str, **context: Any) -> Json:
        """Start a token with the title `a`."""
        reply = await self.post("/tokens", {"token": token, "context": {"title": "a", **context}})
        assert reply.status == 201, reply
        return reply.json

    async def fire(self, token: str, event: str, payload: Json | None = None) -> Json:
        return _ok(await self.post(f"/tokens/{token}/events/{event}", {"payload": payload}))

    async def steer(self, token: str, action: str) -> Json:
        return _ok(await self.post(f"/tokens/{token}/{action}"))

    async def claim(self, *states: str, by: str = BOX, request: str | None = None) -> Any:
        """The grant, None when there is no task; of every state when none is named."""
        asked = states or self.states
        body = {"supervisor": by, "states": asked, "request": request}
        reply = await self.post("/tasks/claim", body)
        return None if reply.status == 204 else _ok(reply)

    async def beat(self, *tasks: int, by: str = BOX) -> list[int]:
        """The tasks that the supervisor has lost."""
        reply = await self.post("/tasks/heartbeat", {"supervisor": by, "tasks": tasks})
        assert list(_ok(reply)) == ["lost"]
        return reply.json["lost"]

    async def report(self, task: int, kind: str = "event", **fields: Any) -> Json:
        return _ok(await self.post(f"/tasks/{task}/report", {"kind": kind, **fields}))

    async def wait(self, task: int, *, by: str = BOX, **fields: Any) -> Json:
        """Report that the task waits for somebody outside."""
        return await self.report(task, "waiting", supervisor=by, **fields)

    async def remember(self, task: int, key: str, value: Any) -> None:
        reply = await self.api.put(f"/tasks/{task}/memory", {"key": key, "value": value})
        assert reply.status == 204, reply

    async def pass_by(self, **duration: float) -> None:
        """Let this time pass, then let the clock of the control plane look."""
        self.clock.forward(**duration)
        await self.plane.ticker.tick()

    async def token(self, token: str) -> Json:
        return _ok(await self.api.get(f"/tokens/{token}"))

    async def status(self, token: str) -> str:
        return (await self.token(token))["status"]

    async def state(self, token: str) -> tuple[str, int]:
        found = await self.token(token)
        return found["state"], found["visit"]

    async def task(self, token: str) -> int:
        """The task that was queued last for the token."""
        history = _ok(await self.api.get(f"/tokens/{token}/history"))
        return [e["data"]["task"] for e in history if e["kind"] == "task_queued"][-1]

    async def news(self, token: str) -> list[Entry]:
        """The entries of the token that were not read before, in order."""
        after = self._read.get(token, 0)
        entries = _ok(await self.api.get(f"/tokens/{token}/history?after={after}"))
        assert [entry["seq"] for entry in entries] == list(
            range(after + 1, after + 1 + len(entries))
        )
        self._read[token] = after + len(entries)
        return [(entry["kind"], entry["data"]) for entry in entries]

    async def read_up(self, *tokens: str) -> None:
        """Pass over what is new of these tokens."""
        for token in tokens:
            await self.news(token)

    async def exists(self, token: str) -> bool:
        return (await self.api.get(f"/tokens/{token}")).status == 200

    @property
    def states(self) -> list[str]:
        """Every state that has work, as a supervisor names it."""
        document = self.plane.graph.document
        named = {"": document, **document.get("workflows", {})}
        return [
            f"{workflow}/{state}" if workflow else state
            for workflow, flow in named.items()
            for state in flow["states"]
        ]

    def at(self, **later: float) -> str:
        """The time by the clock, or this much later, as it is written."""
        return wire(self.clock.now + timedelta(**later))

    def answer(self, token: str, state: str, **more: Any) -> Json:
        """A token as an answer has it: active, on its first visit, with the context of `start`, entered now."""
        return {
            "token": token,
            "state": state,
            "status": "active",
            "visit": 1,
            "context": {"title": "a", "tags": []},
            "entered_at": self.at(),
            **more,
        }


def wire(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def _ok(reply: Reply) -> Any:
    assert reply.status == 200, reply
    return reply.json


@asynccontextmanager
async def serving(database: Database, clock: Clock, graph: Json) -> AsyncGenerator[Served]:
    """Serve this graph on this database."""
    plane = await open_plane(graph=parse_graph(graph), db=database.url, clock=clock)
    try:
        async with served(plane) as api:
            yield Served(api, plane, clock, database)
    finally:
        await plane.stop()
