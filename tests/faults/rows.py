"""All rows of a database at one moment, as a world: so that the invariants of worlds hold on real rows, too."""

from __future__ import annotations

from typing import Any

import msgspec

from stateous.engine.family import Entry
from stateous.store.postgres.session import Place
from stateous.store.statements import statement_text
from stateous.store.values import held_of, json_value, task_of, time_value, timers_of, token_of
from tests.databases import Database
from tests.engine.graphs import Json
from tests.engine.world import World


def _all_of(statement: str) -> str:
    """The statement that the control plane reads such rows with, for all of them."""
    return statement_text(statement, "postgres").partition(" where ")[0]


_TOKENS = _all_of("token_read")
_TASKS = _all_of("tasks_read")
_TIMERS = """
select json_agg(json_build_array(id, token, state, visit, event, payload::text, kind, status,
                                 set_at, due_at, step))::text
from timers"""
_HELD = """
select arrival, token, event, payload::text, key, task, state, visit, context::text,
       schedules::text, root
from held order by root, arrival"""
_LEDGER = "select token, seq, at, kind, data::text, key from ledger order by token, seq"
_MEMORY = "select token, state, key, value::text from memory"


async def world_of(database: Database, document: Json) -> World:
    """The rows as one snapshot has them."""
    world = World(document)
    connection = await Place(database.url, schema="stateous").connect({})

    async def rows(statement: str) -> list[Any]:
        cursor = await connection.execute(statement.encode())
        return await cursor.fetchall()

    try:
        await connection.execute("begin isolation level repeatable read")
        for row in await rows(_TOKENS):
            world.tokens[row[0]] = token_of(row)
            world.ledger[row[0]] = []
        for row in await rows(_TASKS):
            world.tasks[row[0]] = task_of(row)
        parked = await rows("select id from tasks where parked")
        world.parked_tasks.update(row[0] for row in parked)
        for timer in timers_of((await rows(_TIMERS))[0][0]):
            world.timers[timer.id] = timer
        parked = await rows("select id from timers where parked")
        world.parked_timers.update(row[0] for row in parked)
        for row in await rows(_HELD):
            world.held.setdefault(row[10], []).append(held_of(row))
        for token, seq, at, kind, data, key in await rows(_LEDGER):
            entry = Entry(token, seq, time_value(at), kind, json_value(data), key)
            world.ledger[token].append(entry)
        for token, state, key, value in await rows(_MEMORY):
            world.memory[token, state, key] = json_value(value)
    finally:
        await connection.close()
    return world


async def checked(database: Database, document: Json) -> World:
    """The rows at this moment, after every invariant was checked on them."""
    world = await world_of(database, document)
    world.check_invariants()
    for token in world.tokens.values():
        if token.status == "cancelled":
            kinds = world.kinds(token.token)
            after = set(kinds[kinds.index("cancelled") + 1 :])
            # A resume can meet a join that cancels a child, and drops what the child had held after that.
            assert after <= {"event_rejected", "event_dropped"}, (token.token, kinds)
    return world


def lasting(world: World, token: str) -> Json:
    """What never changes again of a token that has ended."""
    found = msgspec.to_builtins(world.tokens[token])
    return {name: found[name] for name in ("state", "status", "visit", "context")}
