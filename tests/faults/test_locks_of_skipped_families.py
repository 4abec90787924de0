"""What is passed over is left alone: no lock of a family that another has, so that nobody waits in a circle."""

from __future__ import annotations

import asyncio

import pytest

from stateous.engine.answers import Moved, Skipped
from stateous.engine.batch import Batch
from stateous.engine.changes import Changes
from stateous.engine.commands import Cancel, Command, Report, Start
from stateous.store.store import NotCommitted
from tests.databases import Clock, Database
from tests.engine.graphs import ORDERS
from tests.faults.rows import checked
from tests.faults.sides import (
    Both,
    is_free,
    lock,
    locked,
    saves_stopped,
    third,
    together,
    two_sides,
    until_waiting,
)
from tests.store.opened import raw
from tests.store.written import Written, token


async def claimed(both: Both, *names: str) -> dict[str, int]:
    await together(both.one.submit(Start(name, {"title": "Chair"})) for name in names)
    return {grant.token: grant.task for grant in await both.one.claim("draft", most=len(names))}


def submitted(task: int) -> Report:
    return Report(task=task, kind="event", event="submitted")


async def test_a_batch_locks_no_task_of_a_family_that_it_did_not_get(
    postgres: Database, clock: Clock
) -> None:
    async with two_sides(postgres, ORDERS, clock=clock) as both:
        tasks = await claimed(both, "F", "G")
        batch = Batch(both.one.rules, [Cancel("G"), submitted(tasks["F"])])
        async with locked(postgres, "tokens", "token", "F") as holder:
            async with saves_stopped(postgres):
                deciding = asyncio.create_task(both.one.store.batch_decide(batch))
                await until_waiting(postgres)
                assert await is_free(holder, "tasks", "id", tasks["F"])
                assert not await is_free(holder, "tokens", "token", "G")
            await deciding
        assert isinstance(batch.answers[0], Moved)
        assert isinstance(batch.answers[1], Skipped)


async def test_a_claim_locks_no_task_of_a_family_that_it_did_not_get(
    postgres: Database, clock: Clock
) -> None:
    async with two_sides(postgres, ORDERS, clock=clock) as both:
        for name in ("F", "G"):
            await both.one.submit(Start(name, {"title": "Chair"}))
        tasks = {row[0]: row[1] for row in await raw(postgres, "select token, id from tasks")}
        async with locked(postgres, "tokens", "token", "F") as holder:
            async with saves_stopped(postgres):
                claiming = asyncio.create_task(both.one.claim_once("draft"))
                await until_waiting(postgres)
                assert await is_free(holder, "tasks", "id", tasks["F"])
            grants, left = await claiming
        assert [grant.token for grant in grants] == ["G"]
        assert left


async def test_two_batches_that_each_got_what_the_other_passed_over_do_not_wait_in_a_circle(
    postgres: Database, clock: Clock
) -> None:
    async with two_sides(postgres, ORDERS, clock=clock) as both:
        tasks = await claimed(both, "F", "G")
        first: list[Command] = [Cancel("F"), submitted(tasks["G"])]
        second: list[Command] = [Cancel("G"), submitted(tasks["F"])]
        batches = [Batch(both.one.rules, commands) for commands in (first, second)]
        async with saves_stopped(postgres):
            # Each meets the other's family locked: by somebody else at first, by the other later.
            async with third(postgres) as holder:
                await lock(holder, "tokens", "token", "G")
                one = asyncio.create_task(both.one.store.batch_decide(batches[0]))
                await until_waiting(postgres, count=1)
            other = asyncio.create_task(both.other.store.batch_decide(batches[1]))
            await until_waiting(postgres, count=2)
        await together((one, other))
        for batch in batches:
            assert isinstance(batch.answers[0], Moved)
            assert isinstance(batch.answers[1], Skipped)
        await checked(postgres, ORDERS)


_STOP_LOWER_CASE = """
create function stop_lower_case() returns trigger language plpgsql as $$
begin
    if new.token = lower(new.token) then
        perform pg_advisory_xact_lock_shared(4711);
    end if;
    return new;
end
$$"""
_STOPS = (
    "create trigger stops before insert on tokens for each row execute function stop_lower_case()"
)


async def test_new_tokens_are_written_in_one_order_whatever_their_case(
    postgres: Database, clock: Clock
) -> None:
    """Ids of children are not reserved, so two batches can meet at two of them."""
    async with two_sides(postgres, ORDERS, clock=clock) as both:
        await raw(postgres, _STOP_LOWER_CASE)
        await raw(postgres, _STOPS)
        stopping = pytest.raises(NotCommitted)
        async with third(postgres) as holder:
            await holder.execute("select pg_advisory_xact_lock(4711)")
            one = asyncio.create_task(both.one.store.batch_decide(adding("P", "q")))
            other = asyncio.create_task(both.other.store.batch_decide(adding("Q", "p")))
            await until_waiting(postgres, count=2)
        await one
        with stopping as caught:
            await other
        assert caught.value.alone
        assert await raw(postgres, "select token from tokens order by 1") == [("P",), ("q",)]


def adding(*names: str) -> Written:
    new = [token(name) for name in names]
    return Written(decide=lambda _facts, _now: Changes(new_tokens=new))
