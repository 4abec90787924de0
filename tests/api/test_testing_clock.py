"""The route that moves a manual clock: its checks, its answer, and that it is there in that mode only."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import datetime, timedelta
from typing import Any

import pytest

from stateous.control.clocks import ManualClock
from stateous.control.compose import open_plane
from stateous.model.graph import parse_graph
from tests.api.caller import NO_BODY, Caller
from tests.api.planes import EmptyPlane
from tests.api.serving import served
from tests.api.story import claim, fire, kinds_of, start
from tests.databases import Database
from tests.engine.graphs import ORDERS

CLOCK = "/testing/clock"
NO_NUMBERS: list[Any] = [None, True, "6h", "1", [], {}]


@pytest.fixture
async def manual(database: Database) -> AsyncGenerator[Caller]:
    plane = await open_plane(graph=parse_graph(ORDERS), db=database.url, clock=ManualClock())
    try:
        async with served(plane, time=plane.advancer) as caller:
            yield caller
    finally:
        await plane.stop()


class NotedTime:
    """Notes by how much it is moved; it is always the same time."""

    def __init__(self) -> None:
        self.moves: list[timedelta] = []

    async def advance(self, by: timedelta) -> datetime:
        self.moves.append(by)
        return datetime.fromisoformat("2026-01-02T03:04:05.000006Z")


async def test_a_timeout_of_six_hours_is_decided_before_the_answer(manual: Caller) -> None:
    await start(manual, "T")
    entered = await fire(manual, "T", "submitted")
    reply = await manual.post(CLOCK, {"advance": 6 * 3600})
    assert reply.status == 200
    assert (await manual.get("/tokens/T")).json["status"] == "failed"
    history = (await manual.get("/tokens/T/history")).json
    assert reply.json == {"now": history[-1]["at"]}
    moved = datetime.fromisoformat(reply.json["now"])
    assert moved - datetime.fromisoformat(entered["entered_at"]) == timedelta(hours=6)


async def test_a_lease_that_is_over_fails_its_attempt(manual: Caller) -> None:
    await start(manual, "T")
    await fire(manual, "T", "submitted")
    assert (await claim(manual, "box", "review"))["attempt"] == 1
    await manual.post(CLOCK, {"advance": 120})
    assert (await kinds_of(manual, "T"))[-1] == "task_claimed"
    await manual.post(CLOCK, {"advance": 0.000001})
    assert (await kinds_of(manual, "T"))[-2:] == ["task_failed", "task_retrying"]
    assert (await claim(manual, "box", "review"))["attempt"] == 2


@pytest.mark.parametrize(
    ("seconds", "moved"),
    [
        (0, timedelta()),
        (-0.0, timedelta()),
        (1, timedelta(seconds=1)),
        (0.5, timedelta(milliseconds=500)),
        (1e-7, timedelta()),
        (315_360_000, timedelta(days=3650)),
    ],
)
async def test_a_number_of_seconds_moves_the_clock(seconds: float, moved: timedelta) -> None:
    time = NotedTime()
    async with served(EmptyPlane(), time=time) as caller:
        reply = await caller.post(CLOCK, {"advance": seconds, "unknown": 1})
    assert reply.status == 200
    assert reply.body == b'{"now":"2026-01-02T03:04:05.000006Z"}'
    assert time.moves == [moved]


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        (NO_BODY, (422, "invalid_body")),
        ({}, (422, "invalid_body")),
        ([], (422, "invalid_body")),
        *(({"advance": value}, (422, "invalid_body")) for value in NO_NUMBERS),
        *(
            ({"advance": value}, (422, "invalid_argument"))
            for value in (-1, -1e-9, 315_360_001, 315_360_000.5, 10**400, 1e308)
        ),
        (b'{"advance": NaN}', (400, "bad_request")),
        (b'{"advance": 1e999}', (400, "bad_request")),
    ],
)
async def test_anything_else_is_refused(body: Any, refusal: tuple[int, str]) -> None:
    time = NotedTime()
    async with served(EmptyPlane(), time=time) as caller:
        assert (await caller.post(CLOCK, body)).refusal == refusal
    assert time.moves == []


async def test_the_route_is_there_with_a_manual_clock_only() -> None:
    async with served(EmptyPlane()) as caller:
        for method in ("POST", "GET", "PUT"):
            assert (await caller.send(method, CLOCK, {"advance": 0})).refusal == (404, "not_found")
        document = (await caller.get("/openapi.json")).body
    assert b"testing" not in document
    assert b"Advance" not in document
    async with served(EmptyPlane(), time=NotedTime()) as caller:
        assert (await caller.get(CLOCK)).refusal == (405, "method_not_allowed")
        document = (await caller.get("/openapi.json")).json
    operation = document["paths"][CLOCK]["post"]
    assert operation["operationId"] == "clock_advance"
    assert operation["responses"].keys() == {"200", "400", "413", "422", "500", "503"}
    shapes = document["components"]["schemas"]
    assert shapes["AdvanceBody"]["properties"]["advance"]["maximum"] == 315_360_000
    assert shapes["Clock"]["required"] == ["now"]
