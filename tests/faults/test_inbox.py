"""Rows of the inbox are done exactly once and in the order of their token, whoever else does them and whatever is cut."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncGenerator

import pytest

from stateous.control.compose import open_plane
from stateous.control.inbox import Inbox
from stateous.engine.commands import Fire, FromInbox
from stateous.model.graph import parse_graph
from tests.databases import Clock, Database
from tests.engine.graphs import Json
from tests.faults.sides import DEEP, Both, locked, saves_stopped, third, two_sides, until_waiting
from tests.store.calls import Program, program

TALK: Json = {
    "stateous": 1,
    "workflow": "talk",
    "states": {"open": {"emits": []}},
    "events": {"said": {"payload": "Said"}},
    "transitions": [
        {"from": "__start__", "to": "open"},
        {"from": "open", "to": "open", "on": "said"},
    ],
    "schemas": {"Said": {"type": "object"}},
}
TOKENS = 100
ROWS = 1000

SAID = """
select token, data #>> '{payload,by}' as by, (data #>> '{payload,n}')::int as n
from stateous.ledger
where kind = 'event_accepted' and data ->> 'event' = 'said'
order by token, seq"""


@pytest.fixture
async def both(postgres: Database, clock: Clock) -> AsyncGenerator[Both]:
    async with two_sides(postgres, TALK, clock=clock) as made:
        yield made


async def said(shop: Program) -> dict[str, list[tuple[str | None, int]]]:
    """By whom what was said to each token, in the order of its ledger."""
    found: defaultdict[str, list[tuple[str | None, int]]] = defaultdict(list)
    for row in await shop.run(SAID):
        found[row["token"]].append((row["by"], row["n"]))
    return found


async def pending(shop: Program) -> int:
    """How many rows are."""
    (row,) = await shop.run("select count(*) from stateous.inbox where status = 'pending'")
    return row["count"]


async def emptied(shop: Program, *inboxes: Inbox) -> None:
    """All of them look until nothing is pending."""
    async with asyncio.timeout(60):
        while await pending(shop):
            await asyncio.gather(*(inbox.empty() for inbox in inboxes))


async def fill(shop: Program) -> None:
    """Each token is started, and hears its numbers in their order."""
    await shop.run("select stateous.start('T' || t) from generate_series(1, %s) t", TOKENS)
    await shop.run(
        "select stateous.fire('T' || (1 + n %% %s), 'said', json_build_object('n', n)) "
        "from generate_series(0, %s) n",
        TOKENS,
        ROWS - TOKENS - 1,
    )


async def check_filled(shop: Program) -> None:
    """Each number was heard by its token, once and in order; each row says that it was applied."""
    heard = await said(shop)
    for token in range(TOKENS):
        numbers = [(None, n) for n in range(token, ROWS - TOKENS, TOKENS)]
        assert heard[f"T{token + 1}"] == numbers
    counted = await shop.run(
        "select status, duplicate, count(*) from stateous_views.inbox group by status, duplicate"
    )
    assert [tuple(row.values()) for row in counted] == [("applied", False, ROWS)]


async def test_two_control_planes_that_do_the_same_rows_do_each_once(
    postgres: Database, both: Both
) -> None:
    async with program(postgres) as shop:
        await fill(shop)
        inboxes = [Inbox(side.store, side.lane) for side in (both.one, both.other)]
        await emptied(shop, *inboxes)
        await check_filled(shop)


async def test_a_row_that_another_settles_meanwhile_is_left_to_it(
    postgres: Database, both: Both
) -> None:
    async with program(postgres) as shop:
        await shop.start("A")
        await shop.fire("A", "said", '{"n": 1}')
        rows = [row.row for row in await both.one.store.inbox_look(limit=9, size=9)]
        await Inbox(both.one.store, both.one.lane).empty()
        # The other had read the rows before, and does them now: its lane asks the database again.
        again = FromInbox(rows[0] + 1, Fire("A", "said", {"n": 1}))
        await both.other.lane.submit(again)
        assert await said(shop) == {"A": [(None, 1)]}


async def test_two_that_hold_the_same_row_at_one_moment_do_it_once(
    postgres: Database, both: Both
) -> None:
    async with program(postgres) as shop:
        await shop.start("A")
        await Inbox(both.one.store, both.one.lane).empty()
        row = await shop.fire("A", "said", '{"n": 1}')
        command = FromInbox(row, Fire("A", "said", {"n": 1}))
        async with saves_stopped(postgres):
            first = asyncio.create_task(both.one.submit(command))
            await until_waiting(postgres)
            second = asyncio.create_task(both.other.submit(command))
            # It waits for the token, which the first has locked.
            await until_waiting(postgres, count=2)
        await asyncio.gather(first, second)
        assert await said(shop) == {"A": [(None, 1)]}


async def test_rows_of_a_locked_token_wait_and_the_others_go_on(
    postgres: Database, both: Both
) -> None:
    inbox = Inbox(both.one.store, both.one.lane)
    async with program(postgres) as shop:
        await shop.start("A")
        await shop.start("B")
        await inbox.empty()
        async with locked(postgres, "tokens", "token", "A"):
            for number in range(5):
                await shop.fire("A", "said", f'{{"n": {number}}}')
                await shop.fire("B", "said", f'{{"n": {number}}}')
            await inbox.empty()
            assert await said(shop) == {"B": [(None, n) for n in range(5)]}
            # What is on its way is not looked at again.
            await shop.fire("B", "said", '{"n": 5}')
            await inbox.empty()
            assert len((await said(shop))["B"]) == 6
        await emptied(shop, inbox)
        assert (await said(shop))["A"] == [(None, n) for n in range(5)]


async def test_a_row_that_somebody_has_locked_waits_with_those_behind_it(
    postgres: Database, both: Both
) -> None:
    inbox = Inbox(both.one.store, both.one.lane)
    async with program(postgres) as shop:
        first = await shop.start("A")
        await shop.fire("A", "said", '{"n": 1}')
        await shop.start("B")
        async with third(postgres) as connection:
            await connection.execute("select 1 from inbox where id = %s for update", (first,))
            await inbox.empty()
            assert await shop.inbox("token", "status") == [
                ("A", "pending"),
                ("A", "pending"),
                ("B", "applied"),
            ]
        await emptied(shop, inbox)
        assert await shop.inbox("status") == [("applied",)] * 3


async def test_who_lost_the_database_settles_nothing(postgres: Database, both: Both) -> None:
    async with program(postgres) as shop:
        await shop.start("A")
        await shop.start("no id")
        await shop.run("update stateous.control_plane set epoch = epoch + 1")
        await Inbox(both.one.store, both.one.lane).empty()
        assert await shop.inbox("status") == [("pending",)] * 2


WRITERS = 8
TALKS = 25


async def test_what_one_program_says_to_a_token_is_heard_in_its_order(
    postgres: Database, both: Both
) -> None:
    """Eight programs talk to four tokens at once, while two control planes listen."""
    inboxes = [Inbox(side.store, side.lane) for side in (both.one, both.other)]
    tokens = [f"T{n}" for n in range(4)]

    async def talk(writer: int) -> None:
        dice = random.Random(writer)
        async with program(postgres) as shop:
            for number in range(TALKS):
                await shop.run("begin")
                for token in tokens:
                    await shop.fire(token, "said", f'{{"by": "{writer}", "n": {number}}}')
                await shop.run("commit" if dice.random() < 0.8 else "rollback")

    async with program(postgres) as shop:
        for token in tokens:
            await shop.start(token)
        talking = asyncio.gather(*(talk(writer) for writer in range(WRITERS)))
        while not talking.done():
            await asyncio.gather(*(inbox.empty() for inbox in inboxes))
        await talking
        await emptied(shop, *inboxes)
        heard = await said(shop)
        counted = await shop.run(
            "select count(*) as rows from stateous.inbox where kind = 'fire' and status = 'applied'"
        )
        assert sum(map(len, heard.values())) == counted[0]["rows"] > 100
        for token in tokens:
            for writer in range(WRITERS):
                own = [number for by, number in heard[token] if by == str(writer)]
                assert own == sorted(set(own))


KILLED = """
select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and application_name like 'stateous%%' and pid <> pg_backend_pid()
order by random() limit 2"""


@pytest.mark.parametrize("seed", range(5 if DEEP else 1))
async def test_connections_are_killed_at_random_and_each_row_is_done_once(
    postgres: Database, seed: int
) -> None:
    plane = await open_plane(graph=parse_graph(TALK), db=postgres.url)
    dice = random.Random(seed)
    kills, left = 0, ROWS
    try:
        async with program(postgres) as shop:
            await fill(shop)
            async with asyncio.timeout(120):
                while left:
                    plane.inbox.wake()
                    # Now and then, so that there is progress in between.
                    aim = left - dice.randrange(100)
                    while left > max(aim, 0):
                        left = await pending(shop)
                    kills += len(await shop.run(KILLED))
            assert kills > 10
            await check_filled(shop)
    finally:
        await plane.stop()


async def test_of_two_replicas_the_other_goes_on_when_one_has_gone(postgres: Database) -> None:
    replicas = [
        await open_plane(graph=parse_graph(TALK), db=postgres.url, mode="replica") for _ in range(2)
    ]
    try:
        async with program(postgres) as shop:
            await fill(shop)
            for replica in replicas:
                replica.inbox.wake()
            async with asyncio.timeout(60):
                while await pending(shop) > ROWS * 3 // 4:
                    pass
                await replicas.pop(0).stop()
                while await pending(shop):
                    replicas[0].inbox.wake()
            await check_filled(shop)
    finally:
        for replica in replicas:
            await replica.stop()
