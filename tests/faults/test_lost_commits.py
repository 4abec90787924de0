"""Connections that die before, while and after COMMIT is sent: an event without a key is applied once or not at all.

The answer tells the truth: a yes if and only if it was applied, `unexpected` only when it cannot be told.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator
from datetime import timedelta

import pytest

from stateous.engine.answers import Answer, Moved
from stateous.engine.commands import Fire, Start
from stateous.engine.rules import Rules
from stateous.model.graph import parse_graph
from stateous.model.refusals import Refusal, Unexpected
from stateous.store.postgres import save
from stateous.store.postgres.session import Place
from tests.databases import Clock, Database
from tests.engine.graphs import ORDERS
from tests.faults.rows import checked
from tests.faults.sides import DEEP, Side, saves_stopped, together, until_waiting, watched
from tests.store.cutting import Cut, Proxy
from tests.store.opened import opened

ROUNDS = 1_000 if DEEP else 100
NAMES = ("A", "B", "C")
CUTS = (Cut.BEFORE_THE_SERVER, Cut.BEFORE_THE_ANSWER)


@pytest.fixture
async def proxy(postgres: Database) -> AsyncGenerator[Proxy]:
    async with watched(postgres), Proxy(postgres).listening() as listening:
        yield listening


@pytest.fixture
async def side(proxy: Proxy, clock: Clock) -> AsyncGenerator[Side]:
    """A side behind the proxy, with three tokens in `draft`."""
    rules = Rules(graph=parse_graph(ORDERS), lease_for=timedelta(minutes=2))
    async with opened(proxy.database.store(clock)) as store:
        made = Side(store, rules, clock)
        await together(made.submit(Start(name, {"title": "Chair"})) for name in NAMES)
        yield made


async def fire_all(side: Side) -> list[Answer | Refusal]:
    """An event without a key at each token; it leads back to where it came from."""
    return await together(side.submit(Fire(name, "leave")) for name in NAMES)


async def applied(postgres: Database) -> list[int]:
    """How often each token took it."""
    world = await checked(postgres, ORDERS)
    return [world.tokens[name].counts.get("leave", 0) for name in NAMES]


async def test_what_is_cut_at_any_moment_is_applied_once_and_said_so(
    postgres: Database, proxy: Proxy, side: Side
) -> None:
    dice = random.Random(7)
    for n in range(ROUNDS):
        if proxy.cut is Cut.NOWHERE:
            proxy.cut, proxy.passing = dice.choice(CUTS), dice.randrange(4)
        answers = await fire_all(side)
        assert all(isinstance(answer, Moved) for answer in answers), (n, answers)
    proxy.cut = Cut.NOWHERE
    assert proxy.cuts > ROUNDS // 4
    assert await applied(postgres) == [ROUNDS] * len(NAMES)


async def test_sessions_that_are_ended_at_any_moment_apply_it_once(
    postgres: Database, proxy: Proxy, side: Side
) -> None:
    dice = random.Random(8)
    ended = 0
    connection = await Place(postgres.url, schema="stateous").connect({})
    try:
        for _ in range(ROUNDS):
            firing = asyncio.create_task(fire_all(side))
            state = dice.choice(("active", "idle in transaction"))
            while not firing.done():
                cursor = await connection.execute(
                    "select count(pg_terminate_backend(pid)) from pg_stat_activity "
                    "where datname = current_database() and state = %s "
                    "and pid <> pg_backend_pid()",
                    (state,),
                )
                row = await cursor.fetchone()
                assert row is not None
                ended += row[0]
                if row[0]:
                    break
            assert all(isinstance(answer, Moved) for answer in await firing)
    finally:
        await connection.close()
    assert ended > 0
    assert await applied(postgres) == [ROUNDS] * len(NAMES)


async def test_a_commit_that_goes_on_without_its_connection_is_waited_for(
    postgres: Database, proxy: Proxy, side: Side
) -> None:
    async with saves_stopped(postgres):
        firing = asyncio.create_task(side.submit(Fire("A", "leave")))
        await until_waiting(postgres)
        proxy.cut_all()
    # The server had got the COMMIT, and makes it though nobody listens.
    assert isinstance(await firing, Moved)
    assert await applied(postgres) == [1, 0, 0]


async def test_a_commit_that_is_ended_with_its_session_is_made_again(
    postgres: Database, proxy: Proxy, side: Side
) -> None:
    async with saves_stopped(postgres) as connection:
        firing = asyncio.create_task(side.submit(Fire("A", "leave")))
        await until_waiting(postgres)
        await connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where datname = current_database() and wait_event_type = 'Lock'"
        )
    assert isinstance(await firing, Moved)
    assert await applied(postgres) == [1, 0, 0]


@pytest.mark.parametrize("goes_on", [True, False])
async def test_only_what_cannot_be_told_is_unexpected_and_it_is_not_tried_again(
    *,
    postgres: Database,
    proxy: Proxy,
    side: Side,
    monkeypatch: pytest.MonkeyPatch,
    goes_on: bool,
) -> None:
    monkeypatch.setattr(save, "_ASKED_FOR", 0.1)
    async with saves_stopped(postgres) as connection:
        firing = asyncio.create_task(side.submit(Fire("A", "leave")))
        await until_waiting(postgres)
        proxy.refuses = True
        proxy.cut_all()
        if not goes_on:
            await connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity "
                "where datname = current_database() and wait_event_type = 'Lock'"
            )
        answer = await firing
        assert isinstance(answer, Unexpected)
        assert answer.code == "unexpected"
    proxy.refuses = False
    # Whoever comes next finds the token as it is.
    assert isinstance(await side.submit(Fire("A", "leave")), Moved)
    assert await applied(postgres) == [2 if goes_on else 1, 0, 0]
