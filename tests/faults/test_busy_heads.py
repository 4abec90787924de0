"""Busy tokens at the head of the queue, however many: whoever comes behind them is served."""

from __future__ import annotations

import asyncio

import pytest

from stateous.engine.changes import Changes
from tests.databases import Clock, Database
from tests.engine.graphs import parallel
from tests.faults.sides import Both, locked, two_sides
from tests.store.written import task, token, write

GRAPH = parallel()
LOCKED = 300


async def queued(both: Both, queue: str, *ids: int) -> None:
    """A token `T<id>` with a ready task for each of the ids."""
    await write(
        both.one.store,
        Changes(
            new_tokens=[token(f"T{n}", task=n, workflow="changes", state="work") for n in ids],
            new_tasks=[task(n, f"T{n}", queue=queue, state="work") for n in ids],
        ),
    )


@pytest.mark.parametrize("asked", [("work",), ("work", "ship")])
@pytest.mark.parametrize("busy", ["tokens", "tasks"])
async def test_a_claim_gets_the_first_task_behind_hundreds_of_busy_ones(
    postgres: Database, clock: Clock, busy: str, asked: tuple[str, ...]
) -> None:
    ids = list(range(1, LOCKED + 3))
    async with two_sides(postgres, GRAPH, clock=clock) as both:
        await queued(both, "work", *ids)
        head = ids[:LOCKED]
        where = (
            locked(postgres, "tasks", "id", *head)
            if busy == "tasks"
            else locked(postgres, "tokens", "token", *(f"T{n}" for n in head))
        )
        async with where:
            grants = await both.one.claim(*asked)
            assert [grant.task for grant in grants] == [LOCKED + 1]
            # Those of one batch, too, each its own.
            others = await asyncio.gather(*(both.one.claim(*asked) for _ in range(3)))
            found = [grant.task for granted in others for grant in granted]
            assert found == [LOCKED + 2]
        assert [grant.task for grant in await both.one.claim(*asked)] == [1]


async def test_a_busy_queue_keeps_nobody_from_another(postgres: Database, clock: Clock) -> None:
    ids = list(range(1, LOCKED + 1))
    async with two_sides(postgres, GRAPH, clock=clock) as both:
        await queued(both, "work", *ids)
        await queued(both, "ship", LOCKED + 1)
        async with locked(postgres, "tokens", "token", *(f"T{n}" for n in ids)):
            grants = await both.one.claim("work", "ship", most=2)
            assert [grant.task for grant in grants] == [LOCKED + 1]
