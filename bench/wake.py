"""Measures how soon a task reaches a supervisor that waits for one, whoever queues it, and what waiting costs.

Run from the checkout: `python bench/wake.py [--db sqlite|postgresql://...] [--times 200] [--idle 20]`.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    # A script's own folder comes first on the path, where `http.py` would be the standard library's `http`.
    sys.path[0] = sys.path[0].rpartition("/")[0]

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from datetime import datetime
from pathlib import Path
from statistics import quantiles
from time import perf_counter
from typing import Any

import uvloop
from psycopg import AsyncConnection, sql

from bench.load import Answer, Connection, connect
from bench.processes import cpu_of
from bench.served import drop, process

GRAPH = Path(__file__).parent / "wake.json"
WAITING = 200
TOGETHER = 20

Place = tuple[str, int, int]
"""Host, port and process id of a server."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how soon who waits is woken.")
    parser.add_argument("--db", default="sqlite", help="sqlite, or the URL of a Postgres")
    parser.add_argument("--times", type=int, default=200, help="how often each way is tried")
    parser.add_argument("--idle", type=float, default=20, help="seconds of waiting for nothing")
    asked = parser.parse_args()
    with servers(asked.db) as (schema, places):
        uvloop.run(measure(asked, schema, places))


@contextmanager
def servers(db: str) -> Generator[tuple[str, list[Place]]]:
    """The schema, and two replicas on Postgres, or one server on SQLite."""
    schema = f"bench_{os.getpid()}"
    options = ["--db", db, "--schema", schema, "--replica"]
    with tempfile.TemporaryDirectory(prefix="stateous-bench-") as folder, ExitStack() as stack:
        if db == "sqlite":
            options = ["--db", f"sqlite:///{folder}/bench.db"]
        else:
            stack.callback(drop, db, schema)
        places: list[Place] = []
        for name in ("one",) if db == "sqlite" else ("one", "other"):
            own = Path(folder) / name
            own.mkdir()
            places.append(stack.enter_context(process(options, str(own), graph=GRAPH)))
        yield schema, places


async def measure(asked: argparse.Namespace, schema: str, places: list[Place]) -> None:
    one = places[0]
    async with asker(one) as here, asker(places[-1]) as there:
        await idle(asked, one, here)
        print("from the answer to whoever queued it until the supervisor has it:")
        starts = Starts("work")
        say("nobody waits", await claimed(here, asked.times))
        say("this process", await woken(here, asked.times, lambda: starts.over(here)))
        if len(places) > 1:
            say("a replica", await woken(there, asked.times, lambda: starts.over(here)))
            async with database(asked.db, schema) as program:
                say("SQL, inbox", await woken(here, asked.times, lambda: starts.by(program)))
                await hide(here, program, asked.times)
                say("SQL, wake()", await woken(here, asked.times, lambda: show_one(program)))
        print("from the moment at which the timer is due:")
        say("clock, here", await due(here, asked.times))
        if len(places) > 1:
            say("clock, replica", await due(there, asked.times))


class Asker:
    """A server, and connections to it that are free."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._free: list[Connection] = []

    async def ask(self, method: str, path: str, body: Any = None) -> Answer:
        connection = self._free.pop() if self._free else await connect(self._host, self._port)
        try:
            answer = await connection.request(method, path, body)
        except asyncio.CancelledError:
            connection.close()
            raise
        self._free.append(connection)
        return answer

    async def claim(self, *states: str, name: str = "box", wait: int = 30) -> list[dict[str, Any]]:
        """What a claim got that waits for so many seconds."""
        body = {"supervisor": name, "states": list(states), "wait": wait}
        answer = await self.ask("POST", "/tasks/claim", body)
        return [answer.read()] if answer.status == 200 else []

    def close(self) -> None:
        for connection in self._free:
            connection.close()


@asynccontextmanager
async def asker(place: Place) -> AsyncGenerator[Asker]:
    made = Asker(place[0], place[1])
    try:
        yield made
    finally:
        made.close()


@asynccontextmanager
async def database(db: str, schema: str) -> AsyncGenerator[AsyncConnection[Any]]:
    """A program's own connection."""
    async with await AsyncConnection.connect(db, autocommit=True) as connection:
        await connection.execute(sql.SQL("set search_path to {}").format(sql.Identifier(schema)))
        yield connection


# -- ways to queue a task -------------------------------------------------------------------------------


class Starts:
    """New tokens, whose first task is queued at once. Each way answers when that was done."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._count = 0

    def _next(self) -> str:
        self._count += 1
        return f"{self._name}-{self._count}"

    async def over(self, server: Asker) -> float:
        answer = await server.ask("POST", "/tokens", {"token": self._next()})
        assert answer.status == 201
        return perf_counter()

    async def by(self, program: AsyncConnection[Any]) -> float:
        await program.execute("select start(%s)", (self._next(),))
        return perf_counter()


async def hide(server: Asker, program: AsyncConnection[Any], times: int) -> None:
    """Start tokens, and keep their tasks from everybody by hand."""
    starts = Starts("hidden")
    for _ in range(times):
        await starts.over(server)
    await program.execute("update tasks set parked = true where status = 'queued'")


async def show_one(program: AsyncConnection[Any]) -> float:
    """Let go one of these tasks, and say so."""
    async with program.transaction():
        await program.execute(
            "update tasks set parked = false where id = (select min(id) from tasks where parked)"
        )
        await program.execute("select wake()")
    return perf_counter()


async def woken(server: Asker, times: int, queue: Callable[[], Awaitable[float]]) -> list[float]:
    """How many seconds each task took to who waited for it, one after the other."""
    took: list[float] = []
    for _ in range(times):
        waiting = asyncio.ensure_future(server.claim("work"))
        # The claim has looked, and waits.
        await asyncio.sleep(0.03)
        queued = await queue()
        got = await waiting
        took.append(perf_counter() - queued)
        assert got
    return took


async def claimed(server: Asker, times: int) -> list[float]:
    """How many seconds a claim takes whose task is there already: no wake can be faster."""
    starts = Starts("ready")
    took: list[float] = []
    for _ in range(times):
        started = await starts.over(server)
        got = await server.claim("work", wait=0)
        took.append(perf_counter() - started)
        assert got
        await asyncio.sleep(0.03)
    return took


async def due(server: Asker, times: int) -> list[float]:
    """How many seconds after its time a timer's task was with who waited for it."""
    took: list[float] = []
    for first in range(0, times, TOGETHER):
        claims = [asyncio.ensure_future(timed(server)) for _ in range(TOGETHER)]
        ends: dict[str, float] = {}
        for number in range(first, first + TOGETHER):
            token = f"timer-{id(server)}-{number}"
            await server.ask("POST", "/tokens", {"token": token})
            rested = await server.ask("POST", f"/tokens/{token}/events/rest", {})
            assert rested.status == 200
            entered = rested.read()["entered_at"]
            ends[token] = seconds_of(entered) + 1.0
            await asyncio.sleep(0.01)
        for got, at in await asyncio.gather(*claims):
            took.append(at - ends[got["token"]])
    return took


async def timed(server: Asker) -> tuple[dict[str, Any], float]:
    (got,) = await server.claim("other")
    return got, time.time()


def seconds_of(moment: str) -> float:
    """A moment of an answer, as `time.time` counts."""
    return datetime.fromisoformat(moment).timestamp()


# -- waiting for nothing --------------------------------------------------------------------------------


async def idle(asked: argparse.Namespace, place: Place, server: Asker) -> None:
    """What supervisors cost that wait for a task that never comes."""
    before = await cost(place, asked.idle)
    waiting = [asyncio.ensure_future(forever(server, f"box-{number}")) for number in range(WAITING)]
    await asyncio.sleep(1)
    during = await cost(place, asked.idle)
    print(f"idle: {before:.2f} % of a core; {WAITING} supervisors wait: {during:.2f} %")
    for each in waiting:
        each.cancel()
    await asyncio.wait(waiting)


async def forever(server: Asker, name: str) -> None:
    while True:
        await server.claim("work", name=name)


async def cost(place: Place, seconds: float) -> float:
    used, began = cpu_of(place[2]), perf_counter()
    await asyncio.sleep(seconds)
    return 100 * (cpu_of(place[2]) - used) / (perf_counter() - began)


def say(what: str, took: list[float]) -> None:
    cuts = quantiles(took, n=100)
    print(
        f"  {what:14}  p50 {cuts[49] * 1000:6.1f} ms   p99 {cuts[98] * 1000:6.1f} ms   "
        f"longest {max(took) * 1000:6.1f} ms"
    )


if __name__ == "__main__":
    main()
