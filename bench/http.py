"""Measures a control plane over HTTP: starts and tasks a second, how soon a waiting claim is answered, and old tokens.

Run from the checkout: `python bench/http.py [--db sqlite|postgresql://...] [--workers 64] [--seconds 5]`.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    # A script's own folder comes first on the path, where this file would be the standard library's `http`.
    sys.path[0] = sys.path[0].rpartition("/")[0]

import argparse
import asyncio
import os
import platform
from collections.abc import Awaitable, Callable
from itertools import count
from statistics import median, quantiles
from time import perf_counter
from typing import Any

import uvloop

from bench.load import Answer, Connection, connect
from bench.processes import cpu_of
from bench.served import served

ROUNDS = 1000
BESIDE = 20
"""A round is told as the median of this many neighbours."""

WITH_WARM_UP = 1.2
"""A load lasts so much longer than what is counted of it."""

SUPERVISORS = 4
TASKS = 64
"""So many supervisors take so many tasks at once, and report them in one request."""

WAITED = 100
"""Claims that wait for a start."""

SUBMITTED: dict[str, Any] = {"kind": "event", "event": "submitted"}
SENT_BACK: dict[str, Any] = {"kind": "event", "event": "reviewed", "payload": {"approved": False}}
APPROVED: dict[str, Any] = {"kind": "event", "event": "reviewed", "payload": {"approved": True}}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure a control plane over HTTP.")
    parser.add_argument("--db", default="sqlite", help="sqlite, or the URL of a Postgres")
    parser.add_argument("--workers", type=int, default=64, help="closed-loop connections")
    parser.add_argument("--seconds", type=float, default=5, help="how long each load lasts")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds of the one token")
    asked = parser.parse_args()
    database = "SQLite" if asked.db == "sqlite" else "Postgres"
    print(
        f"{database}, {asked.workers} workers, {os.cpu_count()} cores ({platform.machine()}), "
        f"Python {platform.python_version()}, load generator beside the server"
    )
    with served(asked.db) as (host, port, pid):
        uvloop.run(measure(host, port, pid, asked))


async def measure(host: str, port: int, pid: int, asked: argparse.Namespace) -> None:
    workers = [await connect(host, port) for _ in range(asked.workers)]
    await rounds(workers[0], pid, max(asked.rounds, 2 * BESIDE))
    used = cpu_of(pid)
    started = await load(workers, asked.seconds, starting())
    tell("starts", started["start"], asked.seconds, cpu_of(pid) - used)
    say("  start", started["start"])
    used = cpu_of(pid)
    worked = await load(workers, asked.seconds, working())
    tell("tasks (claim + report)", worked["report"], asked.seconds, cpu_of(pid) - used)
    say("  claim", worked["claim"])
    say("  report", worked["report"])
    tell_empty(worked)
    used = cpu_of(pid)
    supervised = await load(workers[:SUPERVISORS], asked.seconds, supervising())
    tell(f"tasks ({TASKS} at once)", supervised["report"], asked.seconds, cpu_of(pid) - used)
    say("  claim", supervised["claim"])
    say("  messages", supervised["messages"])
    tell_empty(supervised)
    say("a claim that waits, from the start of its token", await waits(workers[0], workers[1]))
    for worker in workers:
        worker.close()


Took = dict[str, list[float]]
Step = Callable[[Connection, int, Took], Awaitable[None]]


async def load(workers: list[Connection], seconds: float, step: Step) -> Took:
    """Each worker takes one step after another, until the time is over; the first sixth warms up."""
    until = perf_counter() + seconds * WITH_WARM_UP
    counted_from = until - seconds
    counted: Took = {name: [] for name in ("start", "claim", "report", "messages", "empty")}
    warming: Took = {name: [] for name in counted}

    async def work(number: int, worker: Connection) -> None:
        while (now := perf_counter()) < until:
            await step(worker, number, counted if now >= counted_from else warming)

    await asyncio.gather(*(work(number, worker) for number, worker in enumerate(workers)))
    return counted


def starting() -> Step:
    """A step that starts a token."""
    numbers = count()

    async def step(worker: Connection, _number: int, took: Took) -> None:
        body = {"token": f"B-{next(numbers)}", "context": {"title": "a new house"}}
        took["start"].append(expect(201, await worker.request("POST", "/tokens", body)).took)

    return step


def working() -> Step:
    """A step that claims a task and reports its event, as a supervisor of both states does."""

    async def step(worker: Connection, number: int, took: Took) -> None:
        claim = {"supervisor": f"bench-{number}", "states": ["draft", "review"]}
        claimed = await worker.request("POST", "/tasks/claim", claim)
        if claimed.status == 204:
            took["empty"].append(claimed.took)
            return
        grant = expect(200, claimed).read()
        report = SUBMITTED if grant["state"] == "draft" else APPROVED
        path = f"/tasks/{grant['task']}/report"
        reported = expect(200, await worker.request("POST", path, report))
        took["claim"].append(claimed.took)
        took["report"].append(reported.took)

    return step


def supervising() -> Step:
    """A step that claims many tasks and reports them all, as a supervisor does that has so many slots."""
    numbers = count()

    async def step(worker: Connection, number: int, took: Took) -> None:
        name = f"supervisor-{number}"
        claim = {"supervisor": name, "states": ["draft", "review"], "max": TASKS}
        claimed = await worker.request("POST", "/tasks/claim", claim)
        if claimed.status == 204:
            took["empty"].append(claimed.took)
            return
        reports: list[dict[str, Any]] = []
        for grant in expect(200, claimed).read()["grants"]:
            report = SUBMITTED if grant["state"] == "draft" else APPROVED
            message = {"task": grant["task"], "attempt": grant["attempt"], "id": str(next(numbers))}
            reports.append({**report, **message, "kind": "report", "outcome": "event"})
        body = {"supervisor": name, "messages": reports}
        told = expect(200, await worker.request("POST", "/tasks/messages", body))
        for result in told.read()["results"]:
            if result["status"] != 200:
                sys.exit(f"a report was refused: {result}")
            took["report"].append(told.took)
        took["claim"].append(claimed.took)
        took["messages"].append(told.took)

    return step


async def waits(starter: Connection, waiter: Connection) -> list[float]:
    """How long after a start is sent a claim is answered that waits for its task."""
    queues = {"supervisor": "bench", "states": ["draft", "review"], "max": 1000}
    while (await waiter.request("POST", "/tasks/claim", queues)).status == 200:
        pass
    took: list[float] = []
    for number in range(WAITED):
        claim = {"supervisor": "bench", "states": ["draft"], "wait": 30}
        claimed = waiter.request("POST", "/tasks/claim", claim)
        # By then it has looked, and sleeps.
        await asyncio.sleep(0.03)
        body = {"token": f"WAIT-{number}", "context": {"title": "a new house"}}
        begun = perf_counter()
        started = starter.request("POST", "/tokens", body)
        expect(200, await claimed)
        took.append(perf_counter() - begun)
        expect(201, await started)
    return took


async def rounds(worker: Connection, pid: int, number: int) -> None:
    """Send one token from draft to review and back, again and again; another one warms the server up."""
    await turn(worker, pid, "WARM-1", 2 * BESIDE)
    took, used = await turn(worker, pid, "ROUND-1", number)
    for where, times, cpu in (
        ("first", took[:BESIDE], used[BESIDE] - used[0]),
        (f"{number}th", took[-BESIDE:], used[-1] - used[-1 - BESIDE]),
    ):
        each = cpu / len(times) * 1e3
        print(
            f"draft -> review -> draft, {where} round: {median(times) * 1e3:.2f} ms, "
            f"server {each:.2f} ms of CPU"
        )


async def turn(
    worker: Connection, pid: int, token: str, number: int
) -> tuple[list[float], list[float]]:
    """Each round of a new token: how long it took, and the server's CPU so far before and after it."""
    start = {"token": token, "context": {"title": "again"}}
    expect(201, await worker.request("POST", "/tokens", start))
    took: list[float] = []
    used = [cpu_of(pid)]
    for _ in range(number):
        begun = perf_counter()
        for state, report in (("draft", SUBMITTED), ("review", SENT_BACK)):
            claim = {"supervisor": "bench", "states": [state]}
            grant = expect(200, await worker.request("POST", "/tasks/claim", claim)).read()
            path = f"/tasks/{grant['task']}/report"
            expect(200, await worker.request("POST", path, report))
        took.append(perf_counter() - begun)
        used.append(cpu_of(pid))
    expect(200, await worker.request("POST", f"/tokens/{token}/cancel"))
    return took, used


def expect(status: int, answer: Answer) -> Answer:
    if answer.status != status:
        sys.exit(f"expected {status}, got {answer.status}: {answer.body[:500].decode()}")
    return answer


def tell(what: str, took: list[float], seconds: float, cpu: float) -> None:
    each = cpu / WITH_WARM_UP / max(1, len(took)) * 1e6
    print(f"{what}: {len(took) / seconds:,.0f}/s, server {each:.0f} µs of CPU each")


def tell_empty(took: Took) -> None:
    if took["empty"]:
        print(f"  {len(took['empty'])} claims found no task: start more tokens first")


def say(what: str, took: list[float]) -> None:
    cuts = quantiles(took, n=100) if len(took) > 1 else [0.0] * 99
    print(f"{what}: p50 {cuts[49] * 1e3:.1f} ms, p99 {cuts[98] * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
