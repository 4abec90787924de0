"""Measures steps of routines: checkpoints a second over HTTP, steps a second in one supervisor, and what a long flow costs.

Run from the checkout: `python bench/steps.py [--db sqlite|postgresql://...] [--workers 64] [--seconds 5]`.
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
import time
from itertools import pairwise
from statistics import median
from time import perf_counter
from typing import Any

import psycopg
import uvloop

from bench.http import WITH_WARM_UP, expect, say, tell
from bench.load import Connection, connect
from bench.processes import cpu_of
from bench.served import served
from bench.supervisor import WARM_UP, start, supervising
from stateous.client import Client

LONG = 1000
"""Steps of the long flow, each with a result of a KiB."""
BESIDE = 20
RESULT = "x" * 1022

ROUTINES = '''"""A routine in steps that do nothing, until the bench is over."""

from pathlib import Path

from contract import events, states
from stateous import Context, on_state


OVER = Path(__file__).with_name("over")


def nothing() -> int:
    return 7


@on_state(states.draft)
async def draft(ctx: Context) -> events.submitted:
    number = 0
    while not OVER.exists():
        await ctx.step(f"step {number}", nothing)
        number += 1
    return events.submitted()
'''


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure steps of routines over HTTP.")
    parser.add_argument("--db", default="sqlite", help="sqlite, or the URL of a Postgres")
    parser.add_argument("--workers", type=int, default=64, help="tasks that are in steps at once")
    parser.add_argument("--seconds", type=float, default=5, help="how long each load lasts")
    asked = parser.parse_args()
    database = "SQLite" if asked.db == "sqlite" else "Postgres"
    print(
        f"{database}, {asked.workers} tasks at once, {os.cpu_count()} cores ({platform.machine()}), "
        f"Python {platform.python_version()}, all on one machine"
    )
    with served(asked.db) as (host, port, pid):
        uvloop.run(measure(host, port, pid, asked))
    with (
        served(asked.db) as (host, port, pid),
        supervising(f"http://{host}:{port}", tasks=asked.workers, routines=ROUTINES) as (
            worker,
            log,
        ),
    ):
        supervised(host, port, pid, worker, asked)
        (log.parent / "over").touch()


async def measure(host: str, port: int, pid: int, asked: argparse.Namespace) -> None:
    await start(host, port, asked.workers + 1)
    workers = [await connect(host, port) for _ in range(asked.workers)]
    await long_flow(workers[0], pid, asked.db)
    used = cpu_of(pid)
    took = await load(workers, asked.seconds)
    tell("checkpoints", took, asked.seconds, cpu_of(pid) - used)
    say("  checkpoint", took)
    for worker in workers:
        worker.close()


async def claim(worker: Connection) -> int:
    body = {"supervisor": "bench", "states": ["draft"]}
    return int(expect(200, await worker.request("POST", "/tasks/claim", body)).read()["task"])


async def step(worker: Connection, task: int, number: int, result: Any) -> float:
    """Write one step down; how long it took."""
    body = {
        "attempt": 1,
        "revision": number,
        "name": f"step {number}",
        "kind": "step",
        "supervisor": "bench",
        "result": result,
    }
    return expect(200, await worker.request("POST", f"/tasks/{task}/steps", body)).took


async def long_flow(worker: Connection, pid: int, db: str) -> None:
    """Tell what the first and the last steps of a long flow take, and on Postgres what is written of each half."""
    task = await claim(worker)
    took: list[float] = []
    used = [cpu_of(pid)]
    written = [written_to(db)]
    for number in range(LONG):
        if number == LONG // 2:
            written.append(written_to(db))
        took.append(await step(worker, task, number, RESULT))
        used.append(cpu_of(pid))
    for where, times, cpu in (
        (
            f"{BESIDE} after the first {BESIDE}",
            took[BESIDE : 2 * BESIDE],
            used[2 * BESIDE] - used[BESIDE],
        ),
        (f"last {BESIDE}", took[-BESIDE:], used[-1] - used[-1 - BESIDE]),
    ):
        each = cpu / len(times) * 1e3
        print(
            f"one flow of {LONG} steps, {where}: {median(times) * 1e3:.2f} ms, server {each:.2f} ms of CPU"
        )
    written.append(written_to(db))
    halves = [(after - before) / (LONG // 2) for before, after in pairwise(written)]
    if all(halves):
        first, second = halves
        print(
            f"  bytes of WAL for each step: {first:,.0f} in the first half, {second:,.0f} in the second"
        )


def written_to(db: str) -> int:
    """How many bytes this Postgres has written to its log; 0 for SQLite."""
    if db == "sqlite":
        return 0
    with psycopg.connect(db) as connection:
        row = connection.execute("select pg_current_wal_lsn() - '0/0'").fetchone()
    return 0 if row is None else int(row[0])


async def load(workers: list[Connection], seconds: float) -> list[float]:
    """Each worker has a task, and writes one step after another; the first sixth of the time warms up."""
    tasks = [await claim(worker) for worker in workers]
    until = perf_counter() + seconds * WITH_WARM_UP
    counted_from = until - seconds
    counted: list[float] = []

    async def work(worker: Connection, task: int) -> None:
        number = 0
        while (now := perf_counter()) < until:
            took = await step(worker, task, number, 7)
            number += 1
            if now >= counted_from:
                counted.append(took)

    await asyncio.gather(*map(work, workers, tasks))
    return counted


def supervised(host: str, port: int, server: int, worker: int, asked: argparse.Namespace) -> None:
    """Tell how many steps routines get done in one supervisor, counted by the revisions of their flows."""
    asyncio.run(start(host, port, asked.workers))
    with Client(f"http://{host}:{port}") as client:
        time.sleep(WARM_UP)
        before, cpu, server_cpu = done(client, asked.workers), cpu_of(worker), cpu_of(server)
        begun = perf_counter()
        time.sleep(asked.seconds)
        cpu, server_cpu, took = (
            cpu_of(worker) - cpu,
            cpu_of(server) - server_cpu,
            perf_counter() - begun,
        )
        steps = done(client, asked.workers) - before
    print(
        f"one supervisor: {steps / took:,.0f} steps/s; for each, {cpu / steps * 1e6:.0f} µs of CPU of the "
        f"supervisor ({cpu / took:.0%} of a core) and {server_cpu / steps * 1e6:.0f} µs of the server"
    )


def done(client: Client, tokens: int) -> int:
    return sum(client.flow(f"B-{number}").revision for number in range(tokens))


if __name__ == "__main__":
    main()
