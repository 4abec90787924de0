"""Who was heard of is written down, on both databases alike: names, what they ask for, and when."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from stateous.model.refusals import NotServing
from stateous.store.store import FORGOTTEN_AFTER, Seen, Store
from stateous.store.values import time_value
from tests.databases import Database
from tests.store.opened import raw

ROWS = "select name, states, last_seen_at from supervisors order by name"


async def rows(database: Database) -> dict[str, tuple[list[str], datetime]]:
    read = await raw(database, ROWS)
    if database.dialect == "sqlite":
        read = [(name, json.loads(states), at) for name, states, at in read]
    return {name: (states, time_value(at)) for name, states, at in read}


async def now(database: Database) -> datetime:
    """The database's own time."""
    sqlite = "select strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
    (row,) = await raw(database, sqlite if database.dialect == "sqlite" else "select now()")
    return time_value(row[0])


async def test_who_was_heard_of_is_written_down(database: Database, store: Store) -> None:
    before = await now(database)
    await store.supervisors_see(
        [
            Seen(name="box-1", states=("draft", "credit/ask"), ago=0.0),
            Seen(name="only beats", states=None, ago=2.5),
        ]
    )
    after = await now(database)
    written = await rows(database)
    assert [states for states, _ in written.values()] == [["draft", "credit/ask"], []]
    a_bit = timedelta(milliseconds=1)
    assert before - a_bit <= written["box-1"][1] <= after + a_bit
    ago = timedelta(seconds=2.5)
    assert before - ago - a_bit <= written["only beats"][1] <= after - ago + a_bit


async def test_it_is_renewed_and_never_goes_back(database: Database, store: Store) -> None:
    await store.supervisors_see([Seen(name="box", states=("draft",), ago=60)])
    _, first = (await rows(database))["box"]
    await store.supervisors_see([Seen(name="box", states=("draft", "review"), ago=0)])
    states, second = (await rows(database))["box"]
    assert (states, second > first) == (["draft", "review"], True)
    # As another control plane, which only heard it beat, and longer ago.
    await store.supervisors_see([Seen(name="box", states=None, ago=90)])
    assert await rows(database) == {"box": (["draft", "review"], second)}


async def test_who_was_not_heard_of_for_long_is_forgotten(database: Database, store: Store) -> None:
    await store.supervisors_see(
        [
            Seen(name="gone", states=("draft",), ago=FORGOTTEN_AFTER + 60),
            Seen(name="away", states=("draft",), ago=FORGOTTEN_AFTER - 60),
        ]
    )
    assert list(await rows(database)) == ["away"]
    await store.supervisors_see([])
    assert list(await rows(database)) == ["away"]


async def test_the_epoch_is_looked_at(database: Database, store: Store) -> None:
    await raw(database, "update control_plane set epoch = epoch + 1")
    with pytest.raises(NotServing):
        await store.supervisors_see([Seen(name="box", states=(), ago=0)])
    assert not store.is_serving
    assert await rows(database) == {}


async def test_times_are_utc_text_as_all_others_on_sqlite(database: Database, store: Store) -> None:
    await store.supervisors_see([Seen(name="box", states=(), ago=0)])
    if database.dialect == "sqlite":
        ((text,),) = await raw(database, "select last_seen_at from supervisors")
        assert datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
        assert len(text) == len("2026-01-02T03:04:05.678901Z")
