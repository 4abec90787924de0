"""Several control planes that serve one database together: how they begin, who may join, and what is on record."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from structlog.testing import capture_logs

from stateous.engine.changes import Changes
from stateous.model.refusals import NotServing
from stateous.store.migrate import known_versions
from stateous.store.serving import Candidate, Mode
from stateous.store.store import CannotOpen, NotCommitted, Store
from stateous.store.urls import open_store
from tests.databases import Clock, Database
from tests.store.opened import raw, since_on_record
from tests.store.test_hold import KILL_THE_HOLDS
from tests.store.written import token, write

SERVING = "select serving, epoch from control_plane"


def candidate(name: str, *, checksum: str = "sha256:c", structure: str = "s") -> Candidate:
    return Candidate(
        workflow="orders", structure=structure, checksum=checksum, graph="{}", name=name
    )


@asynccontextmanager
async def serving(
    database: Database, clock: Clock, who: Candidate, *, mode: Mode = "replica"
) -> AsyncGenerator[Store]:
    store = database.store(clock)
    await store.open(mode=mode, candidate=who)
    try:
        yield store
    finally:
        await store.close()


async def refusal(database: Database, clock: Clock, who: Candidate, *, mode: Mode) -> str:
    """The sentence that keeps this one from serving."""
    with pytest.raises(CannotOpen) as caught:
        async with serving(database, clock, who, mode=mode):
            pass
    return str(caught.value)


async def test_all_replicas_write_with_the_epoch_of_the_first(
    postgres: Database, clock: Clock
) -> None:
    async with (
        serving(postgres, clock, candidate("box:1:aa")) as one,
        serving(postgres, clock, candidate("box:2:bb")) as two,
    ):
        await write(one, Changes(new_tokens=[token("A")]))
        await write(two, Changes(new_tokens=[token("B")]))
        assert await one.token_read("B") == token("B")
        assert [await two.clock_try(), await one.clock_try(), await two.clock_try()] == [
            True,
            False,
            True,
        ]
    assert one.is_serving is two.is_serving is False


async def test_replicas_that_start_at_once_are_served_by_one_epoch(
    postgres: Database, clock: Clock
) -> None:
    before = (await raw(postgres, SERVING))[0][1]
    stores = [postgres.store(clock) for _ in range(4)]
    try:
        await asyncio.gather(
            *(
                store.open(mode="replica", candidate=candidate(f"box:{n}:id{n}"))
                for n, store in enumerate(stores)
            )
        )
        ((names, epoch),) = await raw(postgres, SERVING)
        assert epoch == before + 1
        assert sorted(names.split(", ")) == [f"box:{n}:id{n}" for n in range(4)]
    finally:
        for store in stores:
            await store.close()


async def test_replicas_make_the_tables_of_a_new_schema_once(
    postgres: Database, clock: Clock
) -> None:
    stores = [postgres.store(clock, schema="fresh") for _ in range(3)]
    try:
        await asyncio.gather(
            *(
                store.open(mode="replica", candidate=candidate(f"box:{n}:id{n}"))
                for n, store in enumerate(stores)
            )
        )
        assert [
            epoch for (epoch,) in await raw(postgres, "select epoch from fresh.control_plane")
        ] == [1]
    finally:
        for store in stores:
            await store.close()


async def test_the_names_on_record_are_of_those_who_serve(postgres: Database, clock: Clock) -> None:
    async def names() -> str:
        return (await raw(postgres, SERVING))[0][0]

    async with serving(postgres, clock, candidate("box:1:aa")):
        assert await names() == "box:1:aa"
        async with serving(postgres, clock, candidate("box:2:bb")):
            async with serving(postgres, clock, candidate("box:3:cc")) as third:
                assert await names() == "box:1:aa, box:2:bb, box:3:cc"
                # The second one goes without a word.
                await raw(
                    postgres,
                    "select pg_terminate_backend(pid, 5000) from pg_stat_activity "
                    "where datname = current_database() and application_name = 'stateous replica bb'",
                )
                assert await third.clock_try()
                assert await names() == "box:1:aa, box:3:cc"
            assert await names() == "box:1:aa"
    assert await names() == "box:1:aa"


async def test_a_replica_with_another_graph_is_told_what_to_do(
    postgres: Database, clock: Clock
) -> None:
    newer = candidate("box:2:bb", checksum="sha256:d")
    async with serving(postgres, clock, candidate("box:1:aa")) as first:
        assert await refusal(postgres, clock, newer, mode="replica") == (
            "replicas serve this database with another graph (sha256:c, and this one is sha256:d): "
            "stop all of them, then start the new ones; the first puts its graph on record"
        )
        assert first.is_serving
    async with serving(postgres, clock, newer):
        assert await raw(postgres, "select checksum from control_plane") == [("sha256:d",)]


async def test_a_replica_of_a_newer_stateous_alters_no_table_that_others_use(
    postgres: Database, clock: Clock
) -> None:
    *_, older, newest = known_versions()
    async with serving(postgres, clock, candidate("box:1:aa")):
        await raw(postgres, f"update stateous_version set version_num = '{older}'")  # noqa: S608
        assert await refusal(postgres, clock, candidate("box:2:bb"), mode="replica") == (
            f"replicas of an older Stateous serve this database (its version is {older}, this Stateous "
            f"makes {newest}): stop all of them, then start the new ones; the first upgrades the tables"
        )
        await raw(postgres, "update stateous_version set version_num = '9999'")
        said = await refusal(postgres, clock, candidate("box:3:cc"), mode="replica")
        assert "upgrade Stateous" in said


async def test_who_serves_alone_and_replicas_keep_each_other_out(
    postgres: Database, clock: Clock
) -> None:
    async with serving(postgres, clock, candidate("box:1:aa"), mode="alone"):
        since = await since_on_record(postgres)
        assert await refusal(postgres, clock, candidate("box:2:bb"), mode="replica") == (
            f"another control plane serves this database: box:1:aa since {since}, and it "
            "shares it with nobody: stop it, then start every control plane with --replica"
        )
    async with (
        serving(postgres, clock, candidate("box:1:aa")),
        serving(postgres, clock, candidate("box:2:bb")),
    ):
        since = await since_on_record(postgres)
        assert await refusal(postgres, clock, candidate("box:3:cc"), mode="alone") == (
            f"replicas serve this database: box:1:aa, box:2:bb since {since}: "
            "start this one with --replica, too, or stop all of them first"
        )


async def test_of_replicas_those_are_named_that_live(postgres: Database, clock: Clock) -> None:
    async with (
        serving(postgres, clock, candidate("box:1:aa")),
        serving(postgres, clock, candidate("box:2:bb")),
        serving(postgres, clock, candidate("box:3:cc")),
    ):
        # The server ends the session of a process that was killed, too.
        await raw(
            postgres,
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity "
            "where datname = current_database() and application_name = 'stateous replica bb'",
        )
        ((names, _),) = await raw(postgres, SERVING)
        assert names == "box:1:aa, box:2:bb, box:3:cc"
        said = await refusal(postgres, clock, candidate("box:4:dd"), mode="alone")
        assert said.startswith("replicas serve this database: box:1:aa, box:3:cc since ")


@pytest.mark.parametrize("mode", ["alone", "replica"])
async def test_who_has_gone_is_not_named_for_who_has_begun(
    postgres: Database, clock: Clock, mode: Mode
) -> None:
    async with serving(postgres, clock, candidate("box:1:aa"), mode="alone"):
        # As it is before the new one has put itself on record.
        await raw(postgres, "update control_plane set serving = 'box:0:zz'")
        said = await refusal(postgres, clock, candidate("box:2:bb"), mode=mode)
        assert said.startswith("another control plane serves this database")
        assert "box:" not in said


async def test_a_replica_that_was_cut_off_comes_back_or_is_fenced(
    postgres: Database, clock: Clock
) -> None:
    async with serving(postgres, clock, candidate("box:1:aa")) as old:
        await raw(postgres, KILL_THE_HOLDS)
        async with serving(postgres, clock, candidate("box:2:bb")) as new:
            # Nobody had the hold, so the new one is the first again.
            with pytest.raises(NotServing):
                await write(old, Changes(new_tokens=[token("T")]))
            assert not old.is_serving
            await write(new, Changes(new_tokens=[token("T")]))


async def test_a_file_has_no_replicas(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "x.db"
    with pytest.raises(CannotOpen, match="--replica needs Postgres"):
        await open_store(f"sqlite:///{path}", clock=clock).open(mode="replica")
    assert not path.exists()


# -- waiting for it --------------------------------------------------------------------------------------


async def test_a_standby_serves_when_the_other_has_gone(database: Database, clock: Clock) -> None:
    async with serving(database, clock, candidate("box:1:aa"), mode="alone") as first:
        standby = database.store(clock)
        opening = asyncio.create_task(
            standby.open(mode="standby", candidate=candidate("box:2:bb", checksum="sha256:d"))
        )
        await write(first, Changes(new_tokens=[token("T")]))
        assert not standby.is_serving
        assert not opening.done()
    try:
        async with asyncio.timeout(20):
            await opening
        assert await standby.token_read("T") == token("T")
        assert (await raw(database, SERVING))[0][0] == "box:2:bb"
        with pytest.raises((NotServing, NotCommitted)):
            await write(first, Changes(new_tokens=[token("U")]))
    finally:
        await standby.close()


async def test_a_standby_of_a_database_that_nobody_serves_serves_it(
    database: Database, clock: Clock
) -> None:
    async with serving(database, clock, candidate("box:1:aa"), mode="standby") as store:
        assert store.is_serving
        assert await store.clock_try()


async def test_a_standby_that_is_stopped_while_it_waits_leaves_nothing(
    database: Database, clock: Clock
) -> None:
    async with serving(database, clock, candidate("box:1:aa"), mode="alone") as first:
        standby = database.store(clock)
        opening = asyncio.create_task(standby.open(mode="standby"))
        await asyncio.wait([opening], timeout=0.3)
        opening.cancel()
        with suppress(asyncio.CancelledError):
            await opening
        await write(first, Changes(new_tokens=[token("T")]))
    async with serving(database, clock, candidate("box:3:cc"), mode="alone"):
        pass


async def test_a_standby_waits_through_an_outage(postgres: Database, clock: Clock) -> None:
    kill = (
        "select count(pg_terminate_backend(pid, 5000)) from pg_stat_activity "
        "where datname = current_database() and application_name = 'stateous standby bb'"
    )
    async with serving(postgres, clock, candidate("box:1:aa"), mode="alone"):
        standby = postgres.store(clock)
        with capture_logs() as logged:
            opening = asyncio.create_task(
                standby.open(mode="standby", candidate=candidate("box:2:bb"))
            )
            async with (
                asyncio.timeout(20),
                await psycopg.AsyncConnection.connect(postgres.url, autocommit=True) as killing,
            ):
                while "hold.waits" not in [each["event"] for each in logged]:
                    await killing.execute("select 1")
                while [each["event"] for each in logged].count("hold.not_tried") < 2:
                    await killing.execute(kill)
        assert not opening.done()
    try:
        async with asyncio.timeout(20):
            await opening
    finally:
        await standby.close()


async def test_a_standby_with_another_structure_says_ahead_what_it_will_meet(
    database: Database, clock: Clock
) -> None:
    other = candidate("box:2:bb", structure="other")
    async with serving(database, clock, candidate("box:1:aa"), mode="alone") as first:
        await write(first, Changes(new_tokens=[token("T")]))
        standby = database.store(clock)
        with capture_logs() as logged:
            opening = asyncio.create_task(standby.open(mode="standby", candidate=other))
            async with asyncio.timeout(20):
                while "hold.would_be_refused" not in [each["event"] for each in logged]:
                    await first.token_read("T")
        assert not opening.done()
    with pytest.raises(CannotOpen, match="has another structure than the one on record"):
        await opening
    assert (await raw(database, SERVING))[0][0] == "box:1:aa"


async def test_a_standby_that_is_too_old_does_not_wait(database: Database, clock: Clock) -> None:
    async with serving(database, clock, candidate("box:1:aa"), mode="alone"):
        await raw(database, "update stateous_version set version_num = '9999'")
        said = await refusal(database, clock, candidate("box:2:bb"), mode="standby")
        assert "upgrade Stateous" in said
