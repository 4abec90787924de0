"""Measures what it buys to send NOTIFY after the commit, and not inside the transaction that writes.

Run from the checkout: `python bench/notify.py --db postgresql://... [--reports 64] [--replicas 4] [--seconds 5]`.

The replicas are control planes in this one process, each with lanes and connections of its own; what differs is
whether each of their transactions that write says NOTIFY, too. The product has no such switch.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    # A script's own folder comes first on the path, where `http.py` would be the standard library's `http`.
    sys.path[0] = sys.path[0].rpartition("/")[0]

import argparse
import asyncio
import os
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from statistics import quantiles
from time import perf_counter
from typing import Any

import msgspec
import uvloop
from psycopg import AsyncConnection, sql

from bench.served import drop
from stateous.control.compose import open_plane
from stateous.control.plane import Plane
from stateous.engine.commands import Claim, Report, Start
from stateous.model.graph import Graph, parse_graph
from stateous.store.postgres import batches
from stateous.store.postgres.load import run

GRAPH = Path(__file__).parent / "wake.json"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure NOTIFY inside and outside.")
    parser.add_argument("--db", required=True, help="the URL of a Postgres")
    parser.add_argument("--reports", type=int, default=64, help="how many at a time")
    parser.add_argument("--replicas", type=int, default=4, help="control planes")
    parser.add_argument("--seconds", type=float, default=5, help="how long each is measured")
    parser.add_argument("--rounds", type=int, default=2, help="how often, in turn")
    asked = parser.parse_args()
    schema = f"bench_{os.getpid()}"
    try:
        uvloop.run(measure(asked, schema))
        uvloop.run(measure_commits(asked, schema))
    finally:
        drop(asked.db, schema)


async def measure(asked: argparse.Namespace, schema: str) -> None:
    graph = parse_graph(msgspec.json.decode(GRAPH.read_bytes()))
    async with replicas(asked, schema, graph) as planes:
        await reports(asked, planes, "warm", seconds=1)
        for number in range(asked.rounds):
            say("after the commit", await reports(asked, planes, f"after-{number}"), asked.seconds)
            with notify_inside():
                took = await reports(asked, planes, f"inside-{number}")
            say("inside the transaction", took, asked.seconds)


@asynccontextmanager
async def replicas(
    asked: argparse.Namespace, schema: str, graph: Graph
) -> AsyncGenerator[list[Plane]]:
    async with AsyncExitStack() as stack:
        planes: list[Plane] = []
        for _ in range(asked.replicas):
            plane = await open_plane(graph=graph, db=asked.db, schema=schema, mode="replica")
            stack.push_async_callback(plane.stop)
            planes.append(plane)
        yield planes


@contextmanager
def notify_inside() -> Generator[None]:
    """Every transaction of a lane says NOTIFY before it commits."""
    save = batches.save

    async def save_and_notify(connection: Any, *given: Any, **named: Any) -> bool:
        values = {"channel": named["place"].channel, "payload": '{"from":"bench","ready":{}}'}
        await run(connection, "notify", values)
        return await save(connection, *given, **named)

    batches.save = save_and_notify
    try:
        yield
    finally:
        batches.save = save


async def reports(
    asked: argparse.Namespace, planes: list[Plane], name: str, *, seconds: float | None = None
) -> list[float]:
    """How many seconds each report took: some at a time, each of a token of its own."""
    until = perf_counter() + (seconds or asked.seconds)
    took: list[float] = []
    workers = [
        work(planes[number % len(planes)], f"{name}-{number}", until, took)
        for number in range(asked.reports)
    ]
    await asyncio.gather(*workers)
    return took


async def work(plane: Plane, name: str, until: float, took: list[float]) -> None:
    """Start, claim and report, again and again; only the report's time counts."""
    number = 0
    claim = Claim(supervisor=name, states=("work", "other"))
    while perf_counter() < until:
        number += 1
        await plane.submit(Start(f"{name}-{number}", {}))
        for _ in range(2):
            granted = (await plane.claim(claim, wait=5)).grants
            for grant in granted:
                report = Report(
                    task=grant.task,
                    kind="event",
                    event="done",
                    attempt=grant.attempt,
                    supervisor=name,
                )
                began = perf_counter()
                await plane.submit(report)
                took.append(perf_counter() - began)


# -- without lanes: what the server itself makes of it --------------------------------------------------


async def measure_commits(asked: argparse.Namespace, schema: str) -> None:
    """The same for bare connections, each of which commits one row at a time, as without lanes they would."""
    connections = [
        await AsyncConnection.connect(asked.db, autocommit=True) for _ in range(asked.reports)
    ]
    table = sql.Identifier(schema, "bench_rows")
    await connections[0].execute(sql.SQL("create table {} (id bigint)").format(table))
    plain = sql.SQL("insert into {} values (1)").format(table)
    told = sql.SQL("with added as (insert into {} values (1)) select pg_notify('bench', 'x')")
    for _ in range(asked.rounds):
        for what, statement in (("none", plain), ("inside", told.format(table))):
            until = perf_counter() + asked.seconds
            took: list[float] = []
            await asyncio.gather(*(commit(each, statement, until, took) for each in connections))
            say(f"bare commits, {what}", took, asked.seconds, "commits")
    for connection in connections:
        await connection.close()


async def commit(
    connection: AsyncConnection[Any], statement: sql.Composed, until: float, took: list[float]
) -> None:
    while (began := perf_counter()) < until:
        await connection.execute(statement)
        took.append(perf_counter() - began)


def say(what: str, took: list[float], seconds: float, unit: str = "reports") -> None:
    cuts = quantiles(took, n=100)
    print(
        f"  {what:22}  {len(took) / seconds:6.0f} {unit}/s   "
        f"p50 {cuts[49] * 1000:6.1f} ms   p99 {cuts[98] * 1000:6.1f} ms"
    )


if __name__ == "__main__":
    main()
