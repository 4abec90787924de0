"""Claims that wait, on a real database: whatever makes a task ready wakes one, and none is woken for ever in vain."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from datetime import timedelta

import psycopg
import pytest

from stateous.control import claiming, ticking
from stateous.control.clocks import ManualClock
from stateous.control.compose import open_plane
from stateous.control.plane import Plane
from stateous.engine.answers import Grant, Granted
from stateous.engine.commands import (
    Claim,
    Fire,
)
from stateous.model.graph import parse_graph
from stateous.model.refusals import NotServing
from tests.control.readying import (
    STORIES,
    Story,
    claim,
    done,
    let_wait,
    start,
    take,
    the_end_of_a_lease,
)
from tests.databases import Clock, Database
from tests.engine.graphs import parallel

LONG = 30.0
"""Seconds that no test waits: who waits so long is woken."""


@pytest.fixture(autouse=True)
def only_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock and the look of the waiters themselves come when a test says so."""
    monkeypatch.setattr(ticking, "TICK_EVERY", 3600.0)
    monkeypatch.setattr(claiming, "LOOK_EVERY", 3600.0)


@pytest.fixture
async def plane(database: Database, clock: Clock) -> AsyncGenerator[Plane]:
    opened = await open_plane(graph=parse_graph(GRAPH), db=database.url, clock=clock)
    try:
        yield opened
    finally:
        await opened.stop()


GRAPH = parallel()
GRAPH["states"]["work"]["retries"] = 1
GRAPH["transitions"] += [
    {"from": "ship", "to": "work", "on": "leave"},
    {"from": "work", "to": "ship", "on": "leave"},
]
GRAPH["states"]["ship"]["timeout"] = "1h"
GRAPH["transitions"] += [{"from": "ship", "to": "work", "on": "timeout"}]


def waits(plane: Plane, asked: Claim, *, wait: float = LONG) -> asyncio.Task[Granted]:
    """A claim that waits; it is registered when somebody else is given a turn."""
    return asyncio.ensure_future(plane.claim(asked, wait=wait))


async def asleep(plane: Plane, *waiting: asyncio.Task[Granted]) -> None:
    """Return when these claims have found nothing, and wait."""
    # A claim that came later is answered later: whoever was before it has looked by then.
    while plane.waiting < len(waiting):  # noqa: ASYNC110 - it is registered, and nobody is told
        await asyncio.sleep(0)
    await plane.claim(claim("nothing"))
    assert not any(each.done() for each in waiting)


async def granted(waiting: asyncio.Task[Granted]) -> list[Grant]:
    async with asyncio.timeout(20):
        return list((await waiting).grants)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
async def test_whatever_makes_a_task_ready_is_answered_to_who_waits(
    plane: Plane, clock: Clock, story: Story
) -> None:
    trigger = await story(plane, clock)
    waiting = waits(plane, claim())
    await asleep(plane, waiting)
    await trigger
    (grant,) = await granted(waiting)
    assert grant.attempt >= 1
    assert plane.waiting == 0


async def test_who_let_a_lease_end_is_not_given_the_task_again_by_the_claim_it_left_waiting(
    plane: Plane, clock: Clock
) -> None:
    trigger = await the_end_of_a_lease(plane, clock)
    asleep_since, awake = waits(plane, claim(by="box")), waits(plane, claim())
    await asleep(plane, asleep_since, awake)
    await trigger
    assert await granted(asleep_since) == []
    assert [grant.attempt for grant in await granted(awake)] == [2]
    # Whoever is there all the same asks again.
    await start(plane, "NEW")
    assert [grant.token for grant in await granted(waits(plane, claim(by="box")))] == ["NEW"]


async def test_a_manual_clock_wakes_who_waits_and_waits_take_real_time(database: Database) -> None:
    plane = await open_plane(graph=parse_graph(GRAPH), db=database.url, clock=ManualClock())
    try:
        assert plane.advancer is not None
        await start(plane, "T")
        await plane.submit(Fire("T", "leave"))
        await let_wait(plane, await take(plane, "ship"))
        waiting = waits(plane, claim("work"))
        await asleep(plane, waiting)
        await plane.advancer.advance(timedelta(minutes=1))
        assert not waiting.done()
        await plane.advancer.advance(timedelta(hours=2))
        (grant,) = await granted(waiting)
        assert grant.state == "work"
        assert (await plane.claim(claim("ship"), wait=0.02)).grants == ()
    finally:
        await plane.stop()


# -- who is woken -----------------------------------------------------------------------------------------


async def test_a_wait_ends_with_nothing_at_its_time(plane: Plane) -> None:
    assert (await plane.claim(claim(), wait=0.02)).grants == ()
    assert plane.waiting == 0


async def test_a_task_that_is_there_is_given_at_once(plane: Plane) -> None:
    await start(plane, "T")
    (grant,) = await granted(waits(plane, claim()))
    assert grant.token == "T"


async def test_who_came_first_is_answered_first(plane: Plane) -> None:
    waiting = [waits(plane, claim(by=f"box-{n}")) for n in range(3)]
    await asleep(plane, *waiting)
    for n, each in enumerate(waiting):
        await start(plane, f"T{n}")
        (grant,) = await granted(each)
        assert grant.token == f"T{n}"


async def test_each_of_many_tasks_finds_one_who_waits(plane: Plane) -> None:
    waiting = [waits(plane, claim(by=f"box-{n}")) for n in range(40)]
    await asleep(plane, *waiting)
    await asyncio.gather(*(start(plane, f"T{n}") for n in range(40)))
    tasks = [grant.task for each in waiting for grant in await granted(each)]
    assert len(tasks) == len(set(tasks)) == 40


async def test_who_takes_several_gets_what_is_ready_then(plane: Plane) -> None:
    waiting = waits(plane, claim(most=10))
    await asleep(plane, waiting)
    token = asyncio.gather(*(start(plane, f"T{n}") for n in range(4)))
    grants = await granted(waiting)
    await token
    assert 1 <= len(grants) <= 4
    rest = await plane.claim(claim(most=10))
    assert len(grants) + len(rest.grants) == 4


async def test_a_task_that_the_woken_one_did_not_take_wakes_who_waits_for_it(plane: Plane) -> None:
    # One who would take either is called to `ship`, and takes `work`, which is the older task.
    await start(plane, "OLD", "NEW")
    for _ in range(2):
        await take(plane, "work")
    either = waits(plane, claim("work", "ship"))
    ship = waits(plane, claim("ship"))
    await asleep(plane, either, ship)
    await asyncio.gather(plane.submit(Fire("NEW", "leave")), plane.release("box", tasks=[1, 2]))
    (first,) = await granted(either)
    (second,) = await granted(ship)
    assert {first.state, second.state} == {"work", "ship"}


async def test_who_is_called_and_cancelled_passes_its_call_on(plane: Plane) -> None:
    first, second = waits(plane, claim(by="one")), waits(plane, claim(by="two"))
    await asleep(plane, first, second)
    starting = asyncio.ensure_future(start(plane, "T"))
    while not starting.done():  # noqa: ASYNC110
        # Cancelled at the very moment of its call, or just before.
        await asyncio.sleep(0)
    first.cancel()
    (grant,) = await granted(second)
    assert grant.token == "T"
    assert plane.waiting == 0


async def test_who_is_gone_is_given_nothing(plane: Plane) -> None:
    waiting = waits(plane, claim())
    await asleep(plane, waiting)
    waiting.cancel()
    await asyncio.wait([waiting])
    await start(plane, "T")
    assert (await take(plane)).attempt == 1


async def test_claims_that_wait_are_no_load_for_others(plane: Plane) -> None:
    waiting = [waits(plane, claim("nothing", by=f"box-{n}")) for n in range(300)]
    await asleep(plane, *waiting)
    await start(plane, "T")
    assert (await take(plane)).token == "T"
    assert not any(each.done() for each in waiting)
    assert plane.waiting == 300
    plane.end_waits()
    assert [await granted(each) for each in waiting] == [[]] * 300


# -- what nobody tells ------------------------------------------------------------------------------------


def by_hand(database: Database, statement: str) -> None:
    """Somebody else changes the database."""
    if database.dialect == "postgres":
        with psycopg.connect(database.url, autocommit=True) as connection:
            connection.execute(f"set search_path = stateous; {statement}".encode())
        return
    path = database.url.removeprefix("sqlite:///")
    connection = sqlite3.connect(path, timeout=20)
    with connection:
        connection.execute(statement)
    connection.close()


async def test_a_task_that_somebody_else_queued_is_found_by_a_look_for_all(
    database: Database, plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claiming, "LOOK_EVERY", 0.05)
    await start(plane, "T")
    grant = await take(plane)
    waiting = [waits(plane, claim(by="one")), waits(plane, claim("ship", by="two"))]
    await asleep(plane, *waiting)
    queued = "update tasks set status = 'queued', claimed_by = null, lease_until = null"
    await asyncio.to_thread(by_hand, database, f"{queued} where id = {grant.task}")
    (again,) = await granted(waiting[0])
    assert (again.task, again.attempt) == (grant.task, 2)
    assert not waiting[1].done()


async def test_who_waits_is_told_that_another_control_plane_took_the_database(
    database: Database, plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claiming, "LOOK_EVERY", 0.05)
    waiting = waits(plane, claim())
    await asleep(plane, waiting)
    await asyncio.to_thread(by_hand, database, "update control_plane set epoch = epoch + 1")
    with pytest.raises(NotServing):
        await start(plane, "T")
    with pytest.raises(NotServing):
        await granted(waiting)


# -- requests ---------------------------------------------------------------------------------------------


async def test_a_second_claim_of_a_waiting_request_takes_its_place(plane: Plane) -> None:
    first = waits(plane, claim(request="r"))
    await asleep(plane, first)
    second = waits(plane, claim(request="r"))
    assert await granted(first) == []
    await asleep(plane, second)
    await start(plane, "T")
    (grant,) = await granted(second)
    (again,) = (await plane.claim(claim(request="r"))).grants
    assert again == grant


async def test_a_claim_without_a_wait_takes_its_place_too(plane: Plane) -> None:
    first = waits(plane, claim(request="r"))
    await asleep(plane, first)
    assert (await plane.claim(claim(request="r"))).grants == ()
    assert await granted(first) == []


async def test_requests_of_others_and_other_requests_wait_beside_it(plane: Plane) -> None:
    waiting = [
        waits(plane, claim(request="r")),
        waits(plane, claim(request="r", by="another")),
        waits(plane, claim(request="s")),
        waits(plane, claim()),
    ]
    await asleep(plane, *waiting)
    await start(plane, *(f"T{n}" for n in range(4)))
    assert [len(await granted(each)) for each in waiting] == [1, 1, 1, 1]


async def test_all_grants_of_a_request_that_are_still_held_come_back(plane: Plane) -> None:
    await start(plane, "A", "B", "C")
    (a, b, c) = (await plane.claim(claim(request="r", most=3), wait=LONG)).grants
    await done(plane, b, "ready")
    again = (await plane.claim(claim("nothing", request="r", most=1), wait=LONG)).grants
    assert [grant.task for grant in again] == [a.task, c.task]
    assert await plane.release("waiter", tasks=[a.task, c.task]) == (a.task, c.task)
    assert (await plane.claim(claim("nothing", request="r", most=3), wait=0.02)).grants == ()


async def test_the_release_of_a_waiting_request_ends_it(plane: Plane) -> None:
    waiting = waits(plane, claim(request="r"))
    await asleep(plane, waiting)
    assert await plane.release("waiter", request="r") == ()
    assert await granted(waiting) == []
    await start(plane, "T")
    # It may have been overtaken on its way; the next request is a claim again.
    assert (await plane.claim(claim(request="r"), wait=LONG)).grants == ()
    assert len((await plane.claim(claim(request="s"))).grants) == 1
    assert await plane.release("waiter", request="r") == ()


async def test_the_release_of_a_request_gives_back_what_it_was_granted(plane: Plane) -> None:
    await start(plane, "A", "B", "C")
    grants = (await plane.claim(claim(request="r", most=3))).grants
    await done(plane, grants[1], "ready")
    assert await plane.release("waiter", request="r") == (grants[0].task, grants[2].task)
    assert await plane.release("waiter", request="r") == ()
    assert [(await take(plane, "work")).attempt for _ in range(2)] == [2, 2]


async def test_the_release_of_an_earlier_request_leaves_what_the_last_one_has(plane: Plane) -> None:
    await start(plane, "A", "B")
    await plane.claim(claim(request="r"))
    (kept,) = (await plane.claim(claim(request="s"))).grants
    assert await plane.release("waiter", request="r") == ()
    assert await plane.release("waiter", request="unknown") == ()
    (again,) = (await plane.claim(claim(request="s"))).grants
    assert again == kept


async def test_a_claim_that_is_in_a_batch_is_released_when_it_was_decided(plane: Plane) -> None:
    await start(plane, "A", "B")
    for wait in (0.0, LONG):
        asked = claim(request=f"r-{wait}")
        claiming_now = waits(plane, asked, wait=wait)
        await asyncio.sleep(0)
        released = await plane.release("waiter", request=asked.request)
        assert released == (1,)
        assert await granted(claiming_now) == []


async def test_a_claim_that_hung_up_in_its_batch_is_released_when_it_was_decided(
    plane: Plane,
) -> None:
    await start(plane, "A")
    hanging_up = waits(plane, claim(request="r"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    hanging_up.cancel()
    released = await plane.release("waiter", request="r")
    assert released in {(1,), ()}
    assert (await take(plane)).attempt == 1 + len(released)


async def test_only_what_is_held_is_given_back(plane: Plane) -> None:
    await start(plane, "A", "B", "C")
    mine = [(await plane.claim(claim())).grants[0].task for _ in range(2)]
    other = await take(plane)
    asked = [999, other.task, *reversed(mine), mine[0]]
    assert await plane.release("waiter", tasks=asked) == tuple(sorted(mine))
    assert await plane.release("waiter", tasks=asked) == ()
    assert await plane.release("waiter") == ()
