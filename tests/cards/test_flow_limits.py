"""Flows have an end: how many steps they have, how large those are, and how much of them is granted at once."""

from __future__ import annotations

import json
from typing import Any

from tests.cards.graphs import SDLC
from tests.cards.reports import claimed_task
from tests.cards.served import BOX, Served
from tests.cards.test_steps import opened, respond, said, step
from tests.databases import Database
from tests.store.opened import raw

GRAPH = SDLC
MIB = 2**20
LIMIT = 8 * MIB
TOO_LARGE = (409, "flow_too_large")
COUNTED = "select step_count, size from flows"


async def test_a_flow_knows_how_large_it_is(served: Served, database: Database) -> None:
    task = await claimed_task(served)
    receipt = {"n": [1, 2.5, "ü"]}
    await step(served, task, "pay", result=receipt, message="né")
    assert await raw(database, COUNTED) == [(1, 3 + 3 + len('{"n":[1,2.5,"ü"]}'.encode()))]
    await raw(database, "update flows set size = 0")
    correlation = await opened(served, task, "label", revision=1, message="asking")
    assert await raw(database, COUNTED) == [(2, 11)]
    await respond(served, correlation, status="progress", message="hm")
    assert await raw(database, COUNTED) == [(2, 7)]
    await respond(served, correlation, status="failed", message="no")
    assert await raw(database, COUNTED) == [(2, 7)]
    correlation = await opened(served, task, "label", revision=3)
    assert await raw(database, COUNTED) == [(2, 5)]
    await respond(served, correlation, payload=[7])
    assert await raw(database, COUNTED) == [(2, 8)]
    await step(served, task, "bad", revision=5, faulted=True, message="why")
    assert await raw(database, COUNTED) == [(3, 14)]


async def test_a_flow_has_so_many_bytes_and_no_more(served: Served, database: Database) -> None:
    task = await claimed_task(served)
    large = "x" * (MIB - 1000)
    for revision in range(8):
        reply = await step(served, task, f"s{revision}", revision=revision, result=large)
        assert reply.status == 200
    ((_, size),) = await raw(database, COUNTED)
    assert size == 8 * (len(large) + 4)
    more = LIMIT - size - len('last""')
    reply = await step(served, task, "last", revision=8, result="x" * (more + 1))
    assert said(reply) == TOO_LARGE
    assert reply.json["error"] == (
        f"the flow of task {task} would have {LIMIT + 1} bytes with the step 'last', and may have {LIMIT} at "
        "most: it is not kept"
    )
    assert (await step(served, task, "last", revision=8, result="x" * more)).status == 200
    assert await raw(database, COUNTED) == [(9, LIMIT)]
    for fields in ({}, {"kind": "response"}):
        assert said(await step(served, task, "z", revision=9, **fields)) == TOO_LARGE
    # A fault has to be told.
    assert (await step(served, task, "z", revision=9, faulted=True)).status == 200
    await served.post("/tasks/release", {"supervisor": BOX, "tasks": [task]})
    steps = (await served.claim())["flow"]["steps"]
    assert sum(len(json.dumps(each.get("result", ""))) for each in steps.values()) > LIMIT - 100


async def test_what_comes_from_outside_is_taken_beyond_that(
    served: Served, database: Database
) -> None:
    task = await claimed_task(served)
    correlation = await opened(served, task)
    await raw(database, "update flows set size = 8388608")
    assert (await respond(served, correlation, payload="x")).status == 200
    assert await raw(database, COUNTED) == [(1, LIMIT + 3)]
    assert said(await step(served, task, "a", revision=2)) == TOO_LARGE


async def test_a_flow_has_so_many_steps_and_no_more(served: Served, database: Database) -> None:
    task = await claimed_task(served)
    await step(served, task, "a", faulted=True)
    await raw(database, "update flows set step_count = 9999")
    assert (await step(served, task, "b", revision=1)).status == 200
    for fields in ({}, {"faulted": True}, {"kind": "response"}):
        reply = await step(served, task, "c", revision=2, **fields)
        assert said(reply) == TOO_LARGE
        assert reply.json["error"] == (
            f"the flow of task {task} has 10000 steps, and may have no more: 'c' is not kept"
        )
    # One that is there already is no other one.
    assert (await step(served, task, "a", revision=2)).status == 200
    assert [row[0] for row in await raw(database, COUNTED)] == [10_000]


async def claimed(served: Served, most: int) -> list[str]:
    body = {"supervisor": BOX, "states": served.states, "max": most}
    reply = await served.post("/tasks/claim", body)
    grants: list[Any] = [] if reply.status == 204 else reply.json["grants"]
    return [grant["token"] for grant in grants]


async def test_a_claim_carries_only_so_much_of_flows(served: Served, database: Database) -> None:
    tasks: list[int] = []
    for token in "ABCD":
        await served.start(token)
        task = (await served.claim())["task"]
        tasks.append(task)
        if token != "C":
            await step(served, task, "a")
    await served.post("/tasks/release", {"supervisor": BOX, "tasks": tasks})
    await raw(database, "update flows set size = 20000000")
    assert await claimed(served, 9) == ["A", "C"]
    assert await claimed(served, 9) == ["B"]
    await raw(database, "update flows set size = 99000000")
    assert await claimed(served, 9) == ["D"]
    assert await claimed(served, 9) == []
