"""What a server or a disk does is no command's fault: it is tried again until it works, and its refusal is never `unexpected`."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from stateous.control import lane
from stateous.control.compose import open_plane
from stateous.control.plane import Plane
from stateous.engine.answers import Moved, Started
from stateous.engine.commands import Fire, Start
from stateous.model.graph import parse_graph
from stateous.model.refusals import DatabaseBusy
from stateous.store.sqlite import files
from tests.databases import Database, new_database
from tests.engine.graphs import ORDERS
from tests.faults.sides import refused
from tests.store.opened import raw

LONG = 20.0

FAILS = """
create function stateous.fails() returns trigger language plpgsql as $$
begin
    raise exception 'it is not the time' using errcode = '{state}';
end
$$
"""
ON_ENTRIES = """
create trigger fails before insert on stateous.ledger
for each statement execute function stateous.fails()
"""


@asynccontextmanager
async def serving(database: Database) -> AsyncGenerator[Plane]:
    """A control plane with a token in `draft`."""
    graph = parse_graph(ORDERS)
    plane = await open_plane(graph=graph, db=database.url, hold_for=timedelta(hours=1))
    try:
        await plane.submit(Start("T", {"title": "Chair"}))
        yield plane
    finally:
        await plane.stop()


async def busy_first(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> asyncio.Task[object]:
    """One command is refused as busy, another one waits for its answer."""
    monkeypatch.setattr(lane, "DEADLINE_FOR", 0.1)
    answer = await refused(plane.submit(Fire("T", "leave")))
    assert isinstance(answer, DatabaseBusy), answer
    monkeypatch.setattr(lane, "DEADLINE_FOR", LONG)
    return asyncio.create_task(refused(plane.submit(Fire("T", "leave"))))


async def fired(plane: Plane) -> int:
    """How often the event was applied."""
    return (await plane.token("T")).counts.get("leave", 0)


@pytest.mark.parametrize(
    "state",
    [
        "08006",  # the connection failed
        "25006",  # the server takes no writes
        "25P04",  # the transaction took too long
        "40001",  # it could not be done beside others
        "53100",  # the disk is full
        "53200",  # out of memory
        "55P03",  # somebody has the lock
        "57014",  # the statement took too long, or somebody ended it
        "57P01",  # the session was ended
        "57P02",  # the server crashed
        "57P03",  # it is not up yet
        "58030",  # the disk failed
    ],
)
async def test_what_the_server_does_is_no_commands_fault(
    postgres: Database, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    async with serving(postgres) as plane:
        await raw(postgres, FAILS.format(state=state))
        await raw(postgres, ON_ENTRIES)
        waiting = await busy_first(plane, monkeypatch)
        await raw(postgres, "drop trigger fails on stateous.ledger")
        async with asyncio.timeout(LONG):
            assert isinstance(await waiting, Moved)
        assert await fired(plane) == 1


async def test_a_full_disk_is_no_commands_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[sqlite3.Connection] = []
    connect = files.connect

    def kept(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
        opened.append(connect(path, read_only=read_only))
        return opened[-1]

    with new_database("sqlite", tmp_path) as database:
        monkeypatch.setattr(files, "connect", kept)
        async with serving(database) as plane:
            writer = opened[0]
            # Not less than what is used already.
            writer.execute("pragma max_page_count = 1")
            big = {"title": "x" * 100_000}
            monkeypatch.setattr(lane, "DEADLINE_FOR", 0.1)
            answer = await refused(plane.submit(Start("BIG", big)))
            assert isinstance(answer, DatabaseBusy)
            assert (await plane.token("T")).status == "active"
            monkeypatch.setattr(lane, "DEADLINE_FOR", LONG)
            waiting = asyncio.create_task(plane.submit(Start("BIG", big)))
            await asyncio.wait([waiting], timeout=0.1)
            assert not waiting.done()
            writer.execute("pragma max_page_count = 1000000")
            async with asyncio.timeout(LONG):
                assert isinstance(await waiting, Started)
