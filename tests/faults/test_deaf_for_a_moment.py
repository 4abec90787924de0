"""The connection that listens is killed again and again under load: nobody waits longer than until it listens again, and a second."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from stateous.control import claiming, inbox, ticking
from stateous.control.compose import open_plane
from stateous.control.hearing import Ears
from stateous.control.plane import Plane
from stateous.engine.answers import Moved
from stateous.engine.commands import Claim, Fire, Report, Start
from stateous.model.graph import parse_graph
from tests.databases import Database
from tests.engine.graphs import Json, main
from tests.store.calls import program

LONG = 60.0
KILLS = 3
TOKENS = 10
"""How many are started each time while nobody listens."""
WORKERS = 4
LOADS = 4
AT_MOST = 1.0
"""How much longer than the connection is away anybody waits (seconds)."""

GRAPH: Json = main(
    {"a": {"emits": ["go"]}, "load": {"emits": ["again"]}},
    [
        ("__start__", "a"),
        ("a", "__end__", "go"),
        ("a", "load", "again"),
        ("load", "load", "again"),
    ],
    events=["go", "again"],
)

KILL = """
select count(pg_terminate_backend(pid, 5000)) as count from pg_stat_activity
where datname = current_database() and application_name = 'stateous listens'
"""
LISTENERS = """
select count(*) as count from pg_stat_activity
where datname = current_database() and application_name = 'stateous listens' and query like 'listen %%'
"""


@pytest.fixture(autouse=True)
def nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks now and then: who is not told waits for ever."""
    for module, name in ((claiming, "LOOK_EVERY"), (ticking, "TICK_EVERY"), (inbox, "LOOK_EVERY")):
        monkeypatch.setattr(module, name, 3600.0)


@pytest.fixture
def listened(monkeypatch: pytest.MonkeyPatch) -> dict[Ears, list[float]]:
    """When connections began to listen, and had everybody look."""
    told: dict[Ears, list[float]] = {}
    anything = Ears.anything

    def noted(self: Ears) -> None:
        told.setdefault(self, []).append(now())
        anything(self)

    monkeypatch.setattr(Ears, "anything", noted)
    return told


def is_back(listened: dict[Ears, list[float]], before: list[list[float]]) -> bool:
    """Whether both have listened anew."""
    return all(
        len(times) > len(heard) for times, heard in zip(listened.values(), before, strict=True)
    )


def now() -> float:
    return asyncio.get_running_loop().time()


@asynccontextmanager
async def replicas(database: Database) -> AsyncGenerator[list[Plane]]:
    async with AsyncExitStack() as ends:
        planes: list[Plane] = []
        for _ in range(2):
            graph = parse_graph(GRAPH)
            planes.append(await open_plane(graph=graph, db=database.url, mode="replica"))
            ends.push_async_callback(planes[-1].stop)
        yield planes


async def work(plane: Plane, name: str, taken: dict[str, float]) -> None:
    """A supervisor that waits for tasks, and reports that it did them."""
    claim = Claim(supervisor=name, states=("a",))
    while True:
        for grant in (await plane.claim(claim, wait=LONG)).grants:
            taken[grant.token] = now()
            report = Report(
                task=grant.task, kind="event", event="go", attempt=grant.attempt, supervisor=name
            )
            await plane.submit(report)


async def load(plane: Plane, token: str) -> None:
    """Decisions that queue tasks which nobody here waits for, and are told to the others."""
    while True:
        assert isinstance(await plane.submit(Fire(token, "again")), Moved)


async def test_nobody_waits_a_second_longer_than_it_takes_to_listen_again(
    postgres: Database, listened: dict[Ears, list[float]]
) -> None:
    async with replicas(postgres) as (one, other), program(postgres) as killing:
        for n in range(LOADS):
            await one.submit(Start(f"LOAD-{n}", {}))
            await one.submit(Fire(f"LOAD-{n}", "again"))
        taken: dict[str, float] = {}
        running = [asyncio.create_task(work(other, f"box-{n}", taken)) for n in range(WORKERS)]
        running += [asyncio.create_task(load(one, f"LOAD-{n}")) for n in range(LOADS)]
        async with asyncio.timeout(LONG):
            while (await killing.run(LISTENERS))[0]["count"] < 2 or len(listened) < 2:  # noqa: ASYNC110 - it is the server that knows
                await asyncio.sleep(0.001)
            for kill in range(KILLS):
                heard = [list(times) for times in listened.values()]
                killed = now()
                assert (await killing.run(KILL))[0]["count"] == 2
                started: dict[str, float] = {}
                for n in range(TOKENS):
                    await one.submit(Start(f"T{kill}-{n}", {}))
                    started[f"T{kill}-{n}"] = now()
                while not (started.keys() <= taken.keys() and is_back(listened, heard)):  # noqa: ASYNC110 - it is written down by others
                    await asyncio.sleep(0.001)
                back = max(times[-1] for times in listened.values())
                waits = [taken[token] - at for token, at in started.items()]
                assert max(waits) < back - killed + AT_MOST, (waits, back - killed)
        for each in running:
            each.cancel()
        ended = await asyncio.gather(*running, return_exceptions=True)
        assert {type(each) for each in ended} == {asyncio.CancelledError}
