"""Measures a state log over HTTP: items that are acquired and set, many in a request and one by one.

Run from the checkout: `python bench/items.py [--db sqlite|postgresql://...] [--workers 64] [--bulk 1000] [--seconds 5]`.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    # A script's own folder comes first on the path, where a file of it would be a module of others.
    sys.path[0] = sys.path[0].rpartition("/")[0]

import argparse
import asyncio
from collections.abc import Callable
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any

import uvloop

from bench.http import WITH_WARM_UP, Took, expect, say, tell
from bench.load import Connection, connect
from bench.processes import cpu_of
from bench.served import served

GRAPH = Path(__file__).parent / "items.json"
BULK_WORKERS = 4
"""So many supervisors send large requests at a time."""


class Work:
    """A task that one worker has claimed, and the items that it sends."""

    def __init__(self, worker: Connection, task: int, numbers: Callable[[], str]) -> None:
        self.worker = worker
        self.task = task
        self._numbers = numbers

    async def items(self, many: int, took: Took) -> None:
        """Acquire new items, then set them."""
        names = [{"item": self._numbers(), "entity": "invoice"} for _ in range(many)]
        acquired = await self.call("acquire", names)
        if any(each["outcome"] != "acquired" for each in acquired.read()["items"]):
            sys.exit(f"an item was not acquired: {acquired.body[:500].decode()}")
        result = {"status": "processed", "data": {"receipt": 7}}
        done = await self.call("set", [{**name, **result} for name in names])
        took["acquire"].append(acquired.took)
        took["set"].extend([done.took] * many)

    async def call(self, what: str, items: list[dict[str, Any]]) -> Any:
        path = f"/tasks/{self.task}/items/{what}"
        body = {"attempt": 1, "items": items}
        return expect(200, await self.worker.request("POST", path, body))

    async def exists(self, took: Took) -> None:
        told = await self.call("exists", [{"item": "I-1", "entity": "invoice"}])
        took["exists"].append(told.took)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure a state log over HTTP.")
    parser.add_argument("--db", default="sqlite", help="sqlite, or the URL of a Postgres")
    parser.add_argument("--workers", type=int, default=64, help="closed-loop connections")
    parser.add_argument("--bulk", type=int, default=1000, help="items in a large request")
    parser.add_argument("--seconds", type=float, default=5, help="how long each load lasts")
    asked = parser.parse_args()
    with served(asked.db, graph=GRAPH) as (host, port, pid):
        uvloop.run(measure(host, port, pid, asked))


async def measure(host: str, port: int, pid: int, asked: argparse.Namespace) -> None:
    workers = [await connect(host, port) for _ in range(asked.workers)]
    numbers = count()

    def named() -> str:
        return f"INV-2026-{next(numbers):08}"

    work = [Work(worker, await claimed(worker, n), named) for n, worker in enumerate(workers)]
    await load(work[:BULK_WORKERS], asked, pid, asked.bulk)
    await load(work, asked, pid, 1)
    for worker in workers:
        worker.close()


async def claimed(worker: Connection, number: int) -> int:
    body: dict[str, Any] = {"token": f"T-{number}", "context": {}}
    expect(201, await worker.request("POST", "/tokens", body))
    claim = {"supervisor": f"bench-{number}", "states": ["dispatch"]}
    return expect(200, await worker.request("POST", "/tasks/claim", claim)).read()["task"]


async def load(work: list[Work], asked: argparse.Namespace, pid: int, many: int) -> None:
    """Each worker sends one request after another, until the time is over; the first sixth warms up."""
    until = perf_counter() + asked.seconds * WITH_WARM_UP
    counted: Took = {"acquire": [], "set": [], "exists": []}
    warming: Took = {"acquire": [], "set": [], "exists": []}
    used = cpu_of(pid)

    async def run(each: Work) -> None:
        while (now := perf_counter()) < until:
            await each.items(many, counted if now >= until - asked.seconds else warming)

    await asyncio.gather(*map(run, work))
    tell(f"acquire + set, {many} at once", counted["set"], asked.seconds, cpu_of(pid) - used)
    say("  acquire", counted["acquire"])
    say("  set", counted["set"])
    if many > 1:
        return
    used, until = cpu_of(pid), perf_counter() + asked.seconds

    async def ask(each: Work) -> None:
        while perf_counter() < until:
            await each.exists(counted)

    await asyncio.gather(*map(ask, work))
    tell("exists", counted["exists"], asked.seconds, cpu_of(pid) - used)
    say("  exists", counted["exists"])


if __name__ == "__main__":
    main()
