"""docs/upgrading.md says what is true: who has its grants and nothing else serves everything, and changes no table."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from stateous.control.compose import open_plane
from stateous.engine.commands import Beat, Claim, Messages, Note, Release, SetMemory, Start
from stateous.model.graph import parse_graph
from stateous.store.contents import promised
from stateous.store.migrate import known_versions
from stateous.store.store import CannotOpen, Seen
from stateous.store.upkeep import check, upgrade
from stateous.store.urls import open_store, open_upkeep
from tests.databases import Clock, Database
from tests.store.opened import opened, raw
from tests.upgrade.past import GRAPH, fill, last_time
from tests.upgrade.test_past_versions import STATES, Served

TEXT = (Path(__file__).parents[2] / "docs/upgrading.md").read_text(encoding="utf-8")
GRANTS, LATER = re.findall(r"^```sql\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
NEWEST = known_versions()[-1]


@asynccontextmanager
async def serving_role(database: Database) -> AsyncGenerator[Database]:
    """The database as a role comes to it that was made as the page says."""
    role = f"serving_{uuid4().hex[:12]}"
    for statement in GRANTS.split(";\n"):
        if statement.strip():
            await raw(database, re.sub(r"\bserving\b", role, statement))
    join = "&" if "?" in database.url else "?"
    try:
        yield Database("postgres", f"{database.url}{join}options=-crole%3D{role}")
    finally:
        await raw(database, f"drop owned by {role}")
        await raw(database, f"drop role {role}")


async def test_who_has_the_grants_serves_everything(postgres: Database, clock: Clock) -> None:
    rows = fill(postgres, NEWEST)
    clock.now = last_time(rows)
    graph = parse_graph(GRAPH)
    async with serving_role(postgres) as own:
        one = await open_plane(
            graph=graph, db=own.url, clock=clock, mode="replica", migrates=False, serving="a:1:a"
        )
        two = await open_plane(
            graph=graph, db=own.url, clock=clock, mode="replica", serving="a:2:b"
        )
        try:
            await one.submit(Start("ORDER-30", {"title": "A lamp"}))
            claim = Claim(supervisor="box", states=("draft",), request="r", max=10)
            granted = (await two.claim(claim)).grants
            assert granted
            for grant in granted:
                said = (
                    Note(task=grant.task, text="n", id="i"),
                    SetMemory(task=grant.task, key="k", value=1),
                    SetMemory(task=grant.task, key="k", value=None),
                )
                await one.tell([Messages(task=grant.task, said=said)])
            assert await two.beat(Beat("box", (granted[0].task,))) == ()
            await one.submit(Release(task=granted[0].task, supervisor="box"))
            for grant in granted[1:]:
                await two.submit(Release(task=grant.task, supervisor="box"))
            await one.inbox.empty()
            await Served(postgres, two, clock).serve_to_the_end()
            assert (await one.token("ORDER-20")).status == "completed"
        finally:
            await two.stop()
            await one.stop()
        async with opened(own.store(clock)) as store:
            await store.supervisors_see([Seen(name="box", states=tuple(STATES), ago=0)])
            await store.clock_write(clock.now)
        assert await check(open_upkeep(own.url)) == NEWEST
    assert await raw(postgres, "select count(*) from stateous_views.board") != [(0,)]


async def test_who_has_the_grants_changes_no_table_and_no_entry(
    postgres: Database, clock: Clock
) -> None:
    async with serving_role(postgres) as own:
        for statement in (
            "update ledger set kind = 'failed'",
            "delete from ledger",
            "truncate ledger",
            "delete from tokens",
            "delete from tasks",
            "delete from inbox",
            "create table mine (a int)",
            "alter table tokens add column mine int",
            "drop table tokens",
            "create schema mine",
            "update stateous_version set version_num = '9999'",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await raw(own, statement)

        # Older tables are not its to alter, whether it is told so or not.
        await raw(postgres, "update stateous_version set version_num = '0002'")
        with pytest.raises(CannotOpen) as caught:
            await own.store(clock).open()
        assert re.fullmatch(
            r"this role may not change the tables \(.*\): run stateous db upgrade as the role that owns them",
            str(caught.value),
        )
        with pytest.raises(CannotOpen, match="this role may not change the tables"):
            await upgrade(open_upkeep(own.url), own.store(clock))
        # Nor are new ones its to make.
        with pytest.raises(CannotOpen, match="this role may not change the tables"):
            await open_store(own.url, schema="other", clock=clock).open()
        assert await raw(postgres, "select nspname from pg_namespace where nspname = 'other'") == []


async def test_tables_to_come_are_granted_ahead(postgres: Database) -> None:
    async with serving_role(postgres) as own:
        role = own.url.rpartition("%3D")[2]
        for statement in filter(str.strip, LATER.split(";\n")):
            await raw(postgres, re.sub(r"\bserving\b", role, statement))
        await raw(postgres, "create table later (id bigint default nextval('ids'))")
        await raw(own, "insert into later default values")
        assert await raw(own, "select count(*) from later") == [(1,)]
        await raw(postgres, "drop table later")


async def test_an_owner_may_own_two_schemas_and_nothing_else(
    postgres: Database, clock: Clock
) -> None:
    role = f"owner_{uuid4().hex[:12]}"
    await raw(postgres, f"create role {role}")
    try:
        for schema in ("shop", "shop_views"):
            await raw(postgres, f"create schema {schema} authorization {role}")
        join = "&" if "?" in postgres.url else "?"
        url = f"{postgres.url}{join}options=-crole%3D{role}"
        store = open_store(url, schema="shop", clock=clock)
        assert (await upgrade(open_upkeep(url, schema="shop"), store)).after == NEWEST
        await raw(postgres, f"drop owned by {role} cascade")
    finally:
        await raw(postgres, f"drop role {role}")


def test_each_table_is_granted() -> None:
    """Whoever adds a table says on the page what a role that serves may do with it."""
    writes = GRANTS.partition("grant insert")[2]
    for line in promised("postgres"):
        if line.startswith("table "):
            assert f"stateous.{line.removeprefix('table ')}" in writes
