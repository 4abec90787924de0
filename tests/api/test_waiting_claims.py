"""Claims that wait, over HTTP, on both databases: answered when there is a task, and never to who hung up."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from stateous.control.plane import Plane
from tests.api.caller import Caller, Reply
from tests.api.story import claim, report, start

LONG = 30
"""Seconds that no test waits: who waits so long is answered before."""


async def waiting(api: Caller, plane: Plane, *states: str, **more: Any) -> asyncio.Task[Reply]:
    """A claim that has come in and waits."""
    body = {"supervisor": "s", "states": states or ("draft", "review"), "wait": LONG, **more}
    before = plane.waiting
    asked = asyncio.ensure_future(api.post("/tasks/claim", body))
    while plane.waiting == before:  # noqa: ASYNC110 - the server tells nobody
        await asyncio.sleep(0)
    return asked


async def answer(asked: asyncio.Task[Reply]) -> Reply:
    return await asyncio.wait_for(asked, 20)


async def test_a_claim_that_waits_is_answered_with_the_task_that_comes(
    api: Caller, plane: Plane
) -> None:
    asked = await waiting(api, plane)
    await start(api, "T")
    grant = (await answer(asked)).json
    assert (grant["token"], grant["attempt"]) == ("T", 1)
    again = await waiting(api, plane, "review")
    await report(api, grant, "submitted")
    assert (await answer(again)).json["state"] == "review"


async def test_a_claim_that_waits_with_max_is_answered_with_a_list(
    api: Caller, plane: Plane
) -> None:
    asked = await waiting(api, plane, max=5, request="r")
    await start(api, "T")
    found = (await answer(asked)).json
    assert [grant["token"] for grant in found["grants"]] == ["T"]
    assert await claim(api, "s", max=5, request="r", wait=LONG) == found


async def test_a_wait_that_is_over_is_answered_with_nothing(api: Caller) -> None:
    assert await claim(api, "s", wait=0.02) is None
    assert await claim(api, "s", wait=0.02, max=3) is None
    assert await claim(api, "s", wait=0) is None


async def hanging_up(api: Caller, plane: Plane, **more: Any) -> asyncio.StreamWriter:
    """A connection whose claim has come in and waits."""
    body = {"supervisor": "gone", "states": ["draft"], "wait": LONG, **more}
    raw = msgspec.json.encode(body)
    before = plane.waiting
    _, writer = await asyncio.open_connection(api.host, api.port)
    head = f"POST /tasks/claim HTTP/1.1\r\nhost: x\r\ncontent-length: {len(raw)}\r\n\r\n"
    writer.write(head.encode() + raw)
    while plane.waiting == before:  # noqa: ASYNC110
        await asyncio.sleep(0)
    return writer


async def gone(plane: Plane, *, left: int = 0) -> None:
    while plane.waiting > left:  # noqa: ASYNC110
        await asyncio.sleep(0)


async def test_who_hung_up_is_given_nothing(api: Caller, plane: Plane) -> None:
    closed, cut = [await hanging_up(api, plane, max=2) for _ in range(2)]
    closed.close()
    cut.transport.abort()
    await asyncio.wait_for(gone(plane), 20)
    await start(api, "T")
    assert (await claim(api, "s"))["attempt"] == 1


async def test_the_place_of_who_hung_up_is_given_to_the_next(api: Caller, plane: Plane) -> None:
    for round_of in range(5):
        first = await hanging_up(api, plane)
        second = await waiting(api, plane, request=f"r-{round_of}")
        first.transport.abort()
        await start(api, f"T-{round_of}")
        # The server may have heard of the task first; then the lease of who hung up keeps it.
        await asyncio.wait_for(gone(plane, left=0 if second.done() else 1), 20)
        if not second.done():
            await start(api, f"U-{round_of}")
        assert (await answer(second)).status == 200


async def test_the_release_of_a_waiting_request_answers_it_at_once(
    api: Caller, plane: Plane
) -> None:
    asked = await waiting(api, plane, request="r-1")
    released = await api.post("/tasks/release", {"supervisor": "s", "request": "r-1"})
    assert released.json == {"released": []}
    assert (await answer(asked)).status == 204
    await start(api, "T")
    assert await claim(api, "s", request="r-1", wait=LONG) is None
    assert (await claim(api, "s", request="r-2", wait=LONG))["token"] == "T"


async def test_a_second_claim_takes_the_place_of_the_first(api: Caller, plane: Plane) -> None:
    first = await waiting(api, plane, request="r-1")
    body = {"supervisor": "s", "states": ["draft"], "wait": LONG, "request": "r-1"}
    second = asyncio.ensure_future(api.post("/tasks/claim", body))
    assert (await answer(first)).status == 204
    await start(api, "T")
    assert (await answer(second)).json["token"] == "T"


async def test_what_came_while_it_looked_is_not_missed(api: Caller) -> None:
    # Starts and claims meet at every moment of each other.
    body = {"supervisor": "s", "states": ["draft"], "wait": LONG, "max": 1}
    for round_of in range(20):
        asked = asyncio.ensure_future(api.post("/tasks/claim", body))
        for _ in range(round_of):
            await asyncio.sleep(0)
        started = asyncio.ensure_future(start(api, f"T-{round_of}"))
        grants = (await answer(asked)).json["grants"]
        assert [grant["token"] for grant in grants] == [f"T-{round_of}"]
        await started
