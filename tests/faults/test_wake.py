"""Who waits is woken, whoever queued the task: another control plane, the clock, or plain SQL; also when nobody could be heard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from psycopg import AsyncConnection, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from stateous.control import claiming, inbox, ticking
from stateous.control.claiming import Claiming
from stateous.control.compose import LEASE_FOR, open_plane
from stateous.control.plane import Plane
from stateous.control.waiters import Waiter
from stateous.engine.answers import Granted
from stateous.engine.commands import Claim, Fire, Report, Start
from stateous.model.graph import parse_graph
from stateous.store.news import News
from stateous.store.postgres.session import channel_of
from stateous.store.serving import Mode
from tests.databases import Database
from tests.engine.graphs import Json, main
from tests.faults.rows import checked
from tests.store.calls import Program, program

LONG = 60.0
"""Seconds that no test waits: who waits so long is woken."""

GRAPH: Json = main(
    {
        "a": {"emits": ["go"], "retries": 1},
        "b": {"emits": ["go"]},
        "pause": {"emits": [], "timeout": "1s"},
    },
    [
        ("__start__", "a"),
        ("a", "b", "go"),
        ("a", "pause", "rest"),
        ("pause", "b", "timeout"),
        ("b", "__end__", "go"),
    ],
    events=["go", "rest"],
)

KILL = """
select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and application_name = 'stateous listens'
"""
LISTENERS = """
select count(*) as count from pg_stat_activity
where datname = current_database() and application_name = 'stateous listens'
"""


@pytest.fixture(autouse=True)
def nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks now and then: who is not told waits for ever."""
    for module, name in ((claiming, "LOOK_EVERY"), (ticking, "TICK_EVERY"), (inbox, "LOOK_EVERY")):
        monkeypatch.setattr(module, name, 3600.0)


@asynccontextmanager
async def served(
    database: Database, mode: Mode = "alone", lease_for: timedelta = LEASE_FOR
) -> AsyncGenerator[Plane]:
    """A control plane that listens."""
    plane = await open_plane(
        graph=parse_graph(GRAPH), db=database.url, mode=mode, lease_for=lease_for
    )
    try:
        yield plane
    finally:
        await plane.stop()


@asynccontextmanager
async def replicas(
    database: Database, count: int = 2, *, beside: int = 0, lease_for: timedelta = LEASE_FOR
) -> AsyncGenerator[list[Plane]]:
    """Control planes that serve together, and with those `beside` them all listen; the first runs the clock."""
    async with AsyncExitStack() as stack:
        planes = [
            await stack.enter_async_context(served(database, "replica", lease_for))
            for _ in range(count)
        ]
        async with program(database) as watching:
            await until_listening(watching, count + beside)
        yield planes


async def until_listening(watching: Program, count: int) -> None:
    """Return when this many connections have said that they listen."""
    async with asyncio.timeout(LONG):
        while True:
            (row,) = await watching.run(LISTENERS + " and query like 'listen %%'")
            if row["count"] == count:
                return


@pytest.fixture
async def shop(postgres: Database) -> AsyncGenerator[Program]:
    async with program(postgres) as made:
        yield made


def waits(plane: Plane, *states: str, name: str = "box") -> asyncio.Task[Granted]:
    claim = Claim(supervisor=name, states=states or ("a",))
    return asyncio.create_task(plane.claim(claim, wait=LONG))


async def until_waiting(plane: Plane, count: int) -> None:
    """Return when this many claims wait, and have found that there is nothing."""
    async with asyncio.timeout(LONG):
        while plane.waiting < count:  # noqa: ASYNC110 - it is a number
            await asyncio.sleep(0.001)
    # A claim behind them has its answer only when theirs is there.
    await plane.claim(Claim(supervisor="last", states=("a", "b")))


async def granted(waiting: Awaitable[Granted]) -> list[str]:
    """The tokens of what it got, long before its wait is over."""
    async with asyncio.timeout(LONG / 2):
        return [grant.token for grant in (await waiting).grants]


# -- who queues -----------------------------------------------------------------------------------------


async def test_a_task_that_another_replica_queues_reaches_who_waits(postgres: Database) -> None:
    async with replicas(postgres) as (one, other):
        waiting = waits(other)
        await until_waiting(other, 1)
        await one.submit(Start("T", {}))
        assert await granted(waiting) == ["T"]


async def test_who_waits_here_is_asked_first_and_the_others_hear_of_the_rest(
    postgres: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with replicas(postgres, 3) as planes:
        first = planes[0]
        waiting = [[waits(plane) for _ in range(4)] for plane in planes]
        for plane in planes:
            await until_waiting(plane, 4)
        called: list[Waiter] = []
        call = Waiter.call

        def counted(self: Waiter, queue: str) -> None:
            called.append(self)
            call(self, queue)

        monkeypatch.setattr(Waiter, "call", counted)
        await first.submit(Start("T0", {}))
        done = await first_of(waiting[0])
        assert await granted(done) == ["T0"]
        waiting[0].remove(done)
        # One task, one waiter: nobody else was told.
        assert len(called) == 1
        await asyncio.gather(*(first.submit(Start(f"T{n}", {})) for n in range(1, 12)))
        got = await asyncio.gather(*(granted(each) for group in waiting for each in group))
        assert {token for (token,) in got} == {f"T{n}" for n in range(1, 12)}


async def first_of(waiting: list[asyncio.Task[Granted]]) -> asyncio.Task[Granted]:
    done, _ = await asyncio.wait(waiting, timeout=LONG / 2, return_when=asyncio.FIRST_COMPLETED)
    (one,) = done
    return one


async def test_who_is_called_and_hangs_up_passes_its_call_on_to_another_replica(
    postgres: Database,
) -> None:
    async with replicas(postgres) as (one, other):
        gone, waiting = waits(one), waits(other)
        await until_waiting(one, 1)
        await until_waiting(other, 1)
        await one.submit(Start("T", {}))
        gone.cancel()
        await asyncio.wait([gone])
        if gone.cancelled():
            assert await granted(waiting) == ["T"]
        else:
            waiting.cancel()


async def test_who_let_a_lease_end_waits_at_no_replica_for_the_next_task(
    postgres: Database,
) -> None:
    async with replicas(postgres, lease_for=timedelta(seconds=1)) as (one, other):
        await one.submit(Start("T", {}))
        assert await granted(waits(one)) == ["T"]
        left, awake = waits(other), waits(other, name="awake")
        await until_waiting(other, 2)
        assert await granted(left) == []
        assert await granted(awake) == ["T"]


async def test_a_timer_that_another_replica_sets_is_fired_and_wakes_who_waits(
    postgres: Database,
) -> None:
    async with replicas(postgres) as (clock, other):
        waiting = waits(other, "b")
        await until_waiting(other, 1)
        # One second: the clock sleeps for hours, and is told.
        await other.submit(Start("T", {}))
        await other.submit(Fire("T", "rest"))
        assert await granted(waiting) == ["T"]
        assert not clock.waiting


async def test_a_timer_of_its_own_wakes_who_waits(postgres: Database) -> None:
    async with served(postgres) as plane:
        waiting = waits(plane, "b")
        await until_waiting(plane, 1)
        await plane.submit(Start("T", {}))
        await plane.submit(Fire("T", "rest"))
        assert await granted(waiting) == ["T"]


async def test_a_row_of_the_inbox_wakes_who_waits(postgres: Database, shop: Program) -> None:
    async with served(postgres) as plane:
        await until_listening(shop, 1)
        waiting = waits(plane)
        await until_waiting(plane, 1)
        await shop.start("T", "{}")
        assert await granted(waiting) == ["T"]


@pytest.mark.parametrize("by_hand", ["select stateous.wake()", f"notify {channel_of('stateous')}"])
async def test_what_people_change_by_hand_wakes_who_waits_when_they_say_so(
    postgres: Database, shop: Program, by_hand: str
) -> None:
    async with served(postgres) as plane:
        await until_listening(shop, 1)
        await plane.submit(Start("T", {}))
        await shop.run("update stateous.tasks set parked = true")
        waiting = waits(plane)
        await until_waiting(plane, 1)
        await shop.run("update stateous.tasks set parked = false")
        await shop.run(by_hand)
        assert await granted(waiting) == ["T"]


def tells_nobody(claiming: Claiming, nobodys: Mapping[str, int]) -> None:
    """Says nothing."""


async def test_who_takes_the_clock_has_everybody_look(
    postgres: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = parse_graph(GRAPH)
    async with AsyncExitStack() as ends:
        clock = await open_plane(graph=graph, db=postgres.url, mode="replica")
        ends.push_async_callback(clock.stop)
        async with replicas(postgres, 1, beside=1) as (other,):
            waiting = waits(other)
            await until_waiting(other, 1)
            # It ends before it has told anybody.
            monkeypatch.setattr(Claiming, "_tell", tells_nobody)
            await clock.submit(Start("T", {}))
            await ends.aclose()
            assert await granted(waiting) == ["T"]


# -- who listens ----------------------------------------------------------------------------------------


async def test_what_was_queued_while_nobody_listened_is_found_when_somebody_does(
    postgres: Database, shop: Program
) -> None:
    async with replicas(postgres) as (one, other):
        # All connections of its lane are there, for nobody gets in later.
        for name in ("EARLIER", "EARLIER-2"):
            await one.submit(Start(name, {}))
        await other.claim(Claim(supervisor="box", states=("a",), max=2))
        waiting = waits(other)
        await until_waiting(other, 1)
        async with deaf(postgres, shop):
            await one.submit(Start("T", {}))
        assert await granted(waiting) == ["T"]


@asynccontextmanager
async def deaf(database: Database, shop: Program) -> AsyncGenerator[None]:
    """Nobody listens, and nobody gets in to listen, until the block is left."""
    name = conninfo_to_dict(database.url)["dbname"]
    gate = sql.SQL("alter database {} allow_connections {}")
    url = make_conninfo(database.url, dbname="postgres")
    async with await AsyncConnection.connect(url, autocommit=True) as keeper:
        await keeper.execute(gate.format(sql.Identifier(str(name)), sql.SQL("false")))
        try:
            await shop.run(KILL)
            async with asyncio.timeout(LONG):
                while (await shop.run(LISTENERS))[0]["count"]:
                    pass
            yield
        finally:
            await keeper.execute(gate.format(sql.Identifier(str(name)), sql.SQL("true")))


async def test_nobody_is_forgotten_when_the_listening_is_killed_three_times_under_load(
    postgres: Database, shop: Program
) -> None:
    async with replicas(postgres) as (one, other):
        done: set[str] = set()
        workers = [
            asyncio.create_task(work(plane, f"{name}-{n}", done))
            for name, plane in (("one", one), ("other", other))
            for n in range(4)
        ]
        for round_ in range(3):
            tokens = {f"T{round_}-{n}" for n in range(60)}
            starting = asyncio.create_task(start_all(one, tokens))
            await shop.run(KILL)
            await starting
            async with asyncio.timeout(LONG):
                while not tokens <= done:  # noqa: ASYNC110 - it is a set
                    await asyncio.sleep(0.01)
        for worker in workers:
            worker.cancel()
        await asyncio.wait(workers)
    await checked(postgres, GRAPH)


async def start_all(plane: Plane, tokens: set[str]) -> None:
    for token in sorted(tokens):
        await plane.submit(Start(token, {}))


async def work(plane: Plane, name: str, done: set[str]) -> None:
    """A supervisor that waits for tasks, and reports that it did them."""
    claim = Claim(supervisor=name, states=("a", "b"))
    while True:
        for grant in (await plane.claim(claim, wait=LONG)).grants:
            report = Report(
                task=grant.task, kind="event", event="go", attempt=grant.attempt, supervisor=name
            )
            await plane.submit(report)
            if grant.state == "b":
                done.add(grant.token)


async def test_alone_nobody_is_told_and_a_replica_tells_outside_its_batches(
    postgres: Database,
) -> None:
    heard = await AsyncConnection.connect(postgres.url, autocommit=True)
    async with heard:
        await heard.execute(f"listen {channel_of('stateous')}".encode())
        async with served(postgres) as plane:
            await plane.submit(Start("ALONE", {}))
        assert await said(heard) == []
        async with replicas(postgres) as (one, _):
            await one.submit(Start("TOLD", {}))
            async with asyncio.timeout(LONG):
                while not (told := [each for each in await said(heard) if each.ready]):
                    pass
        assert told == [Said({"a": 1}, "stateous notifies")]


class Said(msgspec.Struct, frozen=True):
    """What was said, and by which kind of session."""

    ready: dict[str, int] | None
    application: str


async def said(heard: AsyncConnection[Any]) -> list[Said]:
    """What has come so far."""
    notes = [note async for note in heard.notifies(timeout=0.01)]
    found: list[Said] = []
    for note in notes:
        cursor = await heard.execute(
            "select application_name from pg_stat_activity where pid = %s", (note.pid,)
        )
        news = msgspec.json.decode(note.payload.encode(), type=News)
        found.append(Said(news.ready, (await cursor.fetchone() or [""])[0]))
    return found


async def test_two_schemas_of_a_database_do_not_hear_each_other(postgres: Database) -> None:
    another = await open_plane(
        graph=parse_graph(GRAPH), db=postgres.url, schema="another", mode="replica"
    )
    channels = {channel_of("stateous"), channel_of("another")}
    async with await AsyncConnection.connect(postgres.url, autocommit=True) as heard:
        try:
            for channel in channels:
                await heard.execute(f"listen {channel}".encode())
            await another.submit(Start("T", {}))
            async with asyncio.timeout(LONG):
                told = [note.channel async for note in heard.notifies(stop_after=1)]
        finally:
            await another.stop()
        told += [note.channel async for note in heard.notifies(timeout=0.01)]
    assert set(told) == {channel_of("another")}
