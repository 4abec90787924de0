"""A database of the version before flows keeps all that is in it, and its tasks that wait go on with steps."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from stateous.engine.batch import Batch
from stateous.engine.commands import Checkpoint, FireTimer, Report, Respond
from stateous.engine.rules import Rules
from stateous.model.graph import parse_graph
from stateous.store.store import Store
from tests.databases import Clock, Database
from tests.engine.graphs import ORDERS
from tests.store.opened import opened, raw
from tests.upgrade.past import make_version
from tests.upgrade.test_views import AT, FIRST, KEPT

MORE = [
    """
    insert into timers (id, token, state, visit, event, payload, kind, status, parked, set_at, due_at)
    values (2, 'T', 'draft', 1, 'timeout', null, 'timeout', 'fired', false, :at, :at),
           (3, 'T', 'draft', 1, 'nudge', '{}', 'timer', 'pending', false, :at, '2027-01-02T03:04:05.678901Z')
    """,
    """
    insert into ledger (token, seq, at, kind, key, data)
    values ('U', 2, :at, 'event_rejected', 'q', '{"event":"nudge","reason":"it is over"}')
    """,
    "update tokens set seq = 2 where token = 'U'",
    "insert into memory (token, state, key, value) values ('T', 'draft', 'x', '1')",
]
ALL = (
    *KEPT,
    "select id, token, state, visit, event, payload, kind, status, parked, set_at, due_at from timers order by id",
    "select token, state, key, value from memory",
)


async def test_a_database_of_the_version_before_flows_keeps_everything_and_takes_steps(
    dialect: str, postgres: Database, tmp_path: Path, clock: Clock
) -> None:
    database = Database(dialect, f"sqlite:///{tmp_path}/old.db")
    if dialect == "postgres":
        database = postgres
        await raw(database, "drop schema stateous cascade")
        await raw(database, "drop schema stateous_views cascade")
        await raw(database, "create schema stateous")
    await asyncio.to_thread(make_version, database, "0003")
    for statement in (*FIRST, *MORE):
        text = statement.replace(":at", f"'{AT}'")
        await raw(database, text.replace("false", "0") if dialect == "sqlite" else text)
    if dialect == "sqlite":
        await raw(database, "update ids set next = 100")
    else:
        await raw(database, "select setval('ids', 100)")
    before = [await raw(database, query) for query in ALL]

    async with opened(database.store(clock)) as store:
        assert [await raw(database, query) for query in ALL] == before
        await do(store, step(0, "charge", "done"))
        await do(store, step(1, "label", "open"))
        waiting = Report(task=1, kind="waiting", supervisor="box", awaiting=("label",))
        await do(store, waiting)
        assert await store.timers_due(clock.now, limit=9) == []
        clock.forward(hours=2)
        ((timer, token, _),) = await store.timers_due(clock.now, limit=9)
        await do(store, FireTimer(timer, token))
        late = Respond(task=1, step="label", correlation="c", status="completed")
        with pytest.raises(Exception, match="nobody awaits"):
            await do(store, late)
        read = await store.flow_read("T")
        assert read is not None
        assert read.task is not None
        assert (read.task.status, read.flow and read.flow.revision) == ("queued", 3)
        assert [(each.name, each.status) for each in read.steps] == [
            ("charge", "done"),
            ("label", "faulted"),
        ]

    with pytest.raises(Exception, match="append-only"):
        await raw(database, "delete from ledger")
    with pytest.raises(Exception, match="append-only"):
        await raw(database, "update ledger set kind = 'note'")


def step(revision: int, name: str, status: str) -> Checkpoint:
    is_open = status == "open"
    return Checkpoint(
        task=1,
        attempt=1,
        revision=revision,
        name=name,
        kind="response" if is_open else "step",
        status="open" if is_open else "done",
        correlation="c" if is_open else "",
        timeout="2h" if is_open else None,
    )


async def do(store: Store, command: Checkpoint | Report | Respond | FireTimer) -> None:
    batch = Batch(Rules(parse_graph(ORDERS)), [command])
    await store.batch_decide(batch)
    assert batch.faults == []
    if isinstance(batch.answers[0], Exception):
        raise batch.answers[0]
