"""Worlds that random commands made, written into a database as they are, and the views over them."""

from __future__ import annotations

import os
import random
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from stateous.engine.changes import Changes
from stateous.store.store import Store
from tests.databases import Database
from tests.engine.chance import Seeded
from tests.engine.random_graphs import random_graph
from tests.engine.walking import Walk
from tests.engine.world import World
from tests.store.written import write

DEEP = bool(os.environ.get("STATEOUS_DEEP"))
SEEDS = random.sample(range(10**9), 400) if DEEP else range(40)
STEPS = ("one", "one", "one", "several", "messages", "claim", "work", "work", "later")

TRUNCATE = """
truncate stateous.tokens, stateous.tasks, stateous.timers, stateous.held, stateous.memory, stateous.ledger, stateous.flows,
    stateous.steps
"""

Row = dict[str, Any]


@cache
def walked(seed: int) -> World:
    """The world somewhere on the walk from this seed. Nobody may change it."""
    chance = Seeded(seed)
    walk = Walk(random_graph(chance))
    for _ in range(chance.one(range(8, 60))):
        if walk.is_long:
            break
        getattr(walk, chance.one(STEPS))(chance)
    return walk.world


async def write_world(database: Database, store: Store, world: World) -> None:
    """Everything of the world, in one batch, and nothing else in the tables."""
    async with await psycopg.AsyncConnection.connect(database.url) as connection:
        await connection.execute("set local stateous.erase = on")
        await connection.execute(TRUNCATE)
    changes = Changes(
        new_tokens=list(world.tokens.values()),
        entries=[entry for entries in world.ledger.values() for entry in entries],
        new_tasks=list(world.tasks.values()),
        new_timers=list(world.timers.values()),
        held=[(root, held) for root, every in world.held.items() for held in every],
        flows=list(world.flows.values()),
        steps=list(world.steps.values()),
        memory=[(*where, value) for where, value in world.memory.items()],
    )
    await write(store, changes)


async def viewed(database: Database, query: str, *, schema: str = "stateous_views") -> list[Row]:
    """The rows of a query over the views, in a session whose own time zone is far from UTC."""
    async with await psycopg.AsyncConnection.connect(database.url, autocommit=True) as connection:
        await connection.execute("set timezone = 'Pacific/Auckland'")
        await connection.execute(sql.SQL("set search_path = {}").format(sql.Identifier(schema)))
        cursor = connection.cursor(row_factory=dict_row)
        await cursor.execute(query.encode())
        return await cursor.fetchall()


@contextmanager
def from_seed(seed: int) -> Generator[World]:
    """The world of a seed, which a failure tells."""
    try:
        yield walked(seed)
    except Exception as fault:
        fault.add_note(f"on the walk from seed {seed}")
        raise
