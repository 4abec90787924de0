"""Items that many want at once, and items that another transaction holds: one gets each, and nobody else waits."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from stateous.control.compose import open_plane
from stateous.control.plane import Plane
from stateous.engine.answers import ItemTold
from stateous.engine.commands import Claim, ItemAsked, ItemCall, Messages, Note, Report, Start
from stateous.model.graph import parse_graph
from stateous.model.refusals import DatabaseBusy, ItemMoveNotAllowed
from stateous.store.store import ItemsAsked
from tests.databases import Clock, Database
from tests.engine.graphs import way
from tests.store.opened import raw
from tests.store.test_locks import other, until_somebody_waits

GRAPH = parse_graph(
    {
        "stateous": 1,
        "workflow": "m",
        "states": {"work": {"emits": ["done", "again"], "state_log": {}}},
        "events": {"done": {}, "again": {}},
        "transitions": [
            way("__start__", "work"),
            way("work", "__end__", "done"),
            way("work", "work", "again"),
        ],
        "schemas": {},
    }
)
SOAK = "STATEOUS_SOAK" in os.environ
CONNECTIONS, MANY = 200, 10_000


@asynccontextmanager
async def opened(database: Database, *, count: int) -> AsyncGenerator[list[Plane]]:
    """Control planes of one database: on SQLite the same one, as often."""
    async with AsyncExitStack() as stack:
        planes: list[Plane] = []
        for number in range(count if database.dialect == "postgres" else 1):
            mode: Any = "replica" if database.dialect == "postgres" else "alone"
            plane = await open_plane(
                graph=GRAPH, db=database.url, clock=Clock(), mode=mode, serving=f"p{number}"
            )
            stack.push_async_callback(plane.stop)
            planes.append(plane)
        yield [planes[number % len(planes)] for number in range(count)]


async def working(plane: Plane, *names: str) -> list[int]:
    """Claimed tasks of new tokens."""
    for name in names:
        await plane.submit(Start(name, {}))
    granted = await plane.claim(Claim(supervisor="box", states=("work",), max=len(names)))
    return [grant.task for grant in granted.grants]


async def call(
    plane: Plane, task: int, what: ItemCall, names: Sequence[str], **fields: Any
) -> tuple[ItemTold, ...]:
    status: Any = {"acquire": "processing", "set": "processed", "upsert": "processed"}[what]
    asked = [ItemAsked("", name, status) for name in names]
    while True:
        try:
            told = await plane.items.call(
                task, what, asked, attempt=1, supervisor=None, size=len(names) * 20, **fields
            )
        except DatabaseBusy:
            # As every client does: nothing was done.
            continue
        return told.items


async def race(
    planes: Sequence[Plane], tasks: Sequence[int], names: Sequence[str], *, part: int
) -> None:
    """Each task asks for all items, in an order of its own and in parts; each item is got once."""
    got: dict[str, list[int]] = {name: [] for name in names}

    async def take(number: int, task: int) -> None:
        wanted = random.sample(list(names), len(names))
        for at in range(0, len(wanted), part):
            asked = wanted[at : at + part]
            told = await call(planes[number % len(planes)], task, "acquire", asked)
            mine = [
                name for name, each in zip(asked, told, strict=True) if each.outcome == "acquired"
            ]
            assert {each.outcome for each in told} <= {"acquired", "busy", "done"}
            for name in mine:
                got[name].append(task)
            if mine:
                await call(planes[number % len(planes)], task, "set", mine)

    await asyncio.gather(*(take(number, task) for number, task in enumerate(tasks)))
    assert [name for name, by in got.items() if len(by) != 1] == []


async def test_of_many_who_acquire_an_item_at_once_one_gets_it(database: Database) -> None:
    async with opened(database, count=2) as planes:
        tasks = await working(planes[0], *(f"T{number}" for number in range(16)))
        await race(planes, tasks, [f"i{number}" for number in range(60)], part=7)
        stored = await planes[0].items.list(ItemsAsked(limit=1000))
        assert len(stored) == 60
        assert {item.status for item in stored} == {"processed"}


@pytest.mark.skipif(not SOAK, reason="takes minutes: make soak")
async def test_two_hundred_connections_want_ten_thousand_items(postgres: Database) -> None:
    async with opened(postgres, count=2) as planes:
        tasks = await working(planes[0], *(f"T{number}" for number in range(CONNECTIONS)))
        await race(planes, tasks, [f"i{number}" for number in range(MANY)], part=500)


@pytest.fixture
async def plane(postgres: Database) -> AsyncGenerator[Plane]:
    async with opened(postgres, count=1) as planes:
        yield planes[0]


HELD = """
select 1 from stateous.items where item = 'i1' for update
"""
MADE = """
insert into stateous.items (scope, place, entity, item, changed_at) values (4, 'work', '', 'i2', now())
"""


@pytest.mark.parametrize("how", [HELD, MADE])
async def test_an_item_that_another_transaction_has_holds_nobody_else_up(
    plane: Plane, postgres: Database, how: str
) -> None:
    mine, his = await working(plane, "A", "B")
    await call(plane, mine, "acquire", ["i1"])
    async with other(postgres) as connection:
        await connection.execute(how.encode())
        waiting = asyncio.create_task(call(plane, his, "acquire", ["i0", "i1", "i2"]))
        await until_somebody_waits(postgres)
        async with asyncio.timeout(5):
            for number in range(20):
                await plane.submit(Start(f"N{number}", {}))
            await call(plane, mine, "acquire", ["i7"])
            await plane.submit(Note(task=mine, text="the lane goes on"))
        assert not waiting.done()
        await connection.rollback()
    told = await waiting
    assert [each.outcome for each in told] == ["acquired", "busy", "acquired"]


@pytest.mark.parametrize("many", [False, True])
async def test_the_end_of_an_attempt_waits_alone_for_an_item_that_another_transaction_has(
    plane: Plane, postgres: Database, *, many: bool
) -> None:
    mine, his = await working(plane, "A", "B")
    await call(plane, mine, "acquire", ["i0", "i1"])
    report = Report(task=mine, kind="event", event="done", attempt=1)
    async with other(postgres) as connection:
        await connection.execute(HELD.encode())
        if many:
            said = (Note(task=mine, text="nearly"), report)
            ending = asyncio.create_task(plane.tell([Messages(task=mine, said=said)]))
        else:
            ending = asyncio.create_task(plane.submit(report))
        await until_somebody_waits(postgres)
        async with asyncio.timeout(5):
            await plane.submit(Start("N", {}))
            await plane.submit(Note(task=his, text="the lane goes on"))
        assert not ending.done()
        await connection.rollback()
    await ending
    stored = await plane.items.list(ItemsAsked())
    assert [(item.item, item.status) for item in stored] == [("i0", "failed"), ("i1", "failed")]
    kinds = [entry.kind for entry in await plane.history("A")]
    assert kinds.count("item_failed") == 1
    assert kinds.count("note") == many
    assert kinds[-1] == "completed"


async def test_an_item_of_which_nothing_became_leaves_no_row(
    plane: Plane, postgres: Database
) -> None:
    (mine,) = await working(plane, "A")
    # They share a batch, which is written though one of its commands is refused.
    refused, _ = await asyncio.gather(
        call(plane, mine, "set", ["i1"]), plane.submit(Start("B", {})), return_exceptions=True
    )
    assert isinstance(refused, ItemMoveNotAllowed)
    assert (await plane.token("B")).status == "active"
    assert await raw(postgres, "select count(*) from items") == [(0,)]
