"""Servers that take no writes for a while: a standby that takes over, and one that somebody closed for writing."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from urllib.parse import urlsplit

import psycopg
import pytest

from stateous.control import claims, heartbeats, lane
from stateous.control.compose import open_plane
from stateous.control.plane import Plane
from stateous.engine.answers import Moved, Started
from stateous.engine.commands import Beat, Claim, Fire, Start
from stateous.model.graph import parse_graph
from stateous.model.refusals import DatabaseBusy, Refusal
from stateous.store.postgres import save
from stateous.store.postgres.save import commit
from stateous.store.postgres.session import Place
from stateous.store.rows import entry_row, json_text
from stateous.store.store import CannotOpen, OutcomeUnknown
from stateous.store.urls import open_store
from stateous.store.writes import Write
from tests.clusters import Cluster
from tests.databases import Clock
from tests.engine.graphs import ORDERS
from tests.faults.sides import refused
from tests.store.opened import opened
from tests.store.written import entry

pytestmark = pytest.mark.postgres

LONG = 30.0


@asynccontextmanager
async def served(url: str) -> AsyncGenerator[Plane]:
    plane = await open_plane(graph=parse_graph(ORDERS), db=url, hold_for=timedelta(seconds=1))
    try:
        yield plane
    finally:
        await plane.stop()


def both(one: Cluster, other: Cluster) -> str:
    """The URL of two servers, of which either may take the writes."""
    hosts = ",".join(urlsplit(each.url).netloc.partition("@")[2] for each in (one, other))
    return f"postgresql://postgres@{hosts}/postgres"


async def works(plane: Plane, token: str) -> None:
    """The lane, claims, heartbeats and reads do what they are asked, without any refusal."""
    async with asyncio.timeout(LONG):
        assert isinstance(await plane.submit(Start(token, {"title": "Chair"})), Started)
        (grant,) = (await plane.claim(Claim(supervisor="box", states=("draft",)))).grants
        assert await plane.beat(Beat("box", (grant.task,))) == ()
        assert isinstance(await plane.submit(Fire(token, "submitted")), Moved)
        assert (await plane.token(token)).state == "review"


async def holds(cluster: Cluster) -> list[int]:
    """How many sessions of this server have the hold, and how many listen."""
    place = Place(cluster.url, schema="stateous")
    async with await psycopg.AsyncConnection.connect(cluster.url) as connection:
        cursor = await connection.execute(
            "select (select count(*) from pg_locks where locktype = 'advisory' and granted "
            "and (classid::bigint << 32 | objid::bigint) = %s), "
            "(select count(*) from pg_stat_activity where application_name = 'stateous listens')",
            (place.hold,),
        )
        return list(await cursor.fetchone() or ())


async def test_a_standby_that_takes_over_is_found_and_nothing_that_was_accepted_is_lost(
    cluster: Cluster,
) -> None:
    standby = cluster.standby()
    try:
        standby.start()
        async with served(both(standby, cluster)) as plane:
            await works(plane, "BEFORE")
            assert await holds(cluster) == [1, 1]
            asked = [
                asyncio.create_task(refused(plane.submit(Start(f"T-{n}", {"title": "Chair"}))))
                for n in range(50)
            ]
            await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.to_thread(cluster.kill)
            await asyncio.to_thread(standby.promote)
            async with asyncio.timeout(LONG):
                answers = await asyncio.gather(*asked)
            assert all(isinstance(answer, Started) for answer in answers), answers
            await works(plane, "AFTER")
            listed = await plane.tokens(limit=100)
            assert {token.token for token in listed} == {
                "BEFORE",
                "AFTER",
                *(f"T-{n}" for n in range(50)),
            }
            async with asyncio.timeout(LONG):
                while await holds(standby) != [1, 1]:
                    pass
    finally:
        standby.remove()


async def test_a_standby_alone_is_not_served_and_tells_nothing_of_commits(
    cluster: Cluster, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(save, "_ASKED_FOR", 0.5)
    async with opened(open_store(cluster.url, clock=clock)):
        pass
    standby = cluster.standby()
    try:
        standby.start()
        with pytest.raises(CannotOpen, match="session is read-only") as caught:
            await open_store(standby.url, clock=clock).open()
        assert "\n" not in str(caught.value)
        anywhere = f"{standby.url}?target_session_attrs=any"
        with pytest.raises(CannotOpen, match="in a read-only transaction"):
            await open_store(anywhere, clock=clock).open()
        # What a standby never heard of would look as if a crash had undone it.
        place = Place(anywhere, schema="stateous")
        gone = await place.connect({})
        await gone.close()
        writes = [Write("entries_add", {"rows": json_text([entry_row(entry("T", 1))])})]
        with pytest.raises(OutcomeUnknown):
            await commit(gone, writes, place=place, xid="1000000", proof=None)
    finally:
        standby.remove()


async def test_a_server_that_is_closed_for_writing_is_busy_and_then_goes_on(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in (lane, claims, heartbeats):
        monkeypatch.setattr(each, "DEADLINE_FOR", 0.5)
    async with served(cluster.url) as plane:
        await works(plane, "BEFORE")
        close(cluster, "on")
        answer = None
        async with asyncio.timeout(LONG):
            for n in itertools.count():
                answer = await refused(plane.submit(Start(f"T-{n}", {"title": "Chair"})))
                if isinstance(answer, Refusal):
                    break
        assert isinstance(answer, DatabaseBusy)
        assert isinstance(await refused(plane.submit(Fire("BEFORE", "x"))), DatabaseBusy)
        assert isinstance(await refused(plane.beat(Beat("box", (1,)))), DatabaseBusy)
        claim = Claim(supervisor="box", states=("draft",))
        assert isinstance(await refused(plane.claim(claim)), DatabaseBusy)
        assert (await plane.token("BEFORE")).state == "review"
        close(cluster, "off")
        async with asyncio.timeout(LONG):
            while isinstance(
                await refused(plane.submit(Start("AGAIN", {"title": "Chair"}))), DatabaseBusy
            ):
                pass
        await plane.claim(Claim(supervisor="box", states=("draft",), max=1000))
        await works(plane, "AFTER")


def close(cluster: Cluster, said: str) -> None:
    """Close a server for writing, or open it again. Sessions hear of it a moment later."""
    with psycopg.connect(cluster.url, autocommit=True) as connection:
        connection.execute("set default_transaction_read_only = off")
        connection.execute(f"alter system set default_transaction_read_only = {said}".encode())
        connection.execute("select pg_reload_conf()")
