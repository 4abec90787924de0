"""Everything that a heartbeat can come to (docs/http.md, docs/ledger.md)."""

from __future__ import annotations

from typing import Any

from tests.cards.entries import retrying, task_failed
from tests.cards.graphs import FAMILY, SDLC
from tests.cards.served import BOX, Served

GRAPH = SDLC
ARGUMENT = (422, "invalid_argument")
BODY = (422, "invalid_body")
SILENCE = f"{BOX} stopped answering: no heartbeat for 2 minutes"


async def test_a_heartbeat_moves_the_leases_to_two_minutes_from_now(served: Served) -> None:
    await served.start("U")
    await served.start("T", size=0)
    tasks = [(await served.claim())["task"] for _ in range(3)]
    await served.read_up("U", *FAMILY)
    for _ in range(3):
        await served.pass_by(seconds=119)
        reply = await served.post("/tasks/heartbeat", {"supervisor": BOX, "tasks": tasks})
        assert (reply.status, reply.json) == (200, {"lost": []})
    await served.pass_by(seconds=120)
    assert [await served.news(token) for token in ("U", *FAMILY)] == [[]] * 5
    # One that names no task renews none.
    assert await served.beat() == []
    await served.pass_by(seconds=1)
    assert (await served.news("U"))[0] == task_failed(tasks[0], SILENCE)


async def test_a_lease_that_ends_exactly_now_is_renewed(served: Served) -> None:
    await served.start("T")
    task = (await served.claim())["task"]
    await served.read_up("T")
    served.clock.forward(seconds=120)
    assert await served.beat(task) == []
    await served.pass_by(seconds=120)
    assert await served.news("T") == []


async def test_the_lease_of_a_paused_tokens_task_is_renewed(served: Served) -> None:
    await served.start("T")
    task = (await served.claim())["task"]
    await served.steer("T", "pause")
    await served.read_up("T")
    served.clock.forward(seconds=100)
    assert await served.beat(task) == []
    await served.pass_by(seconds=100)
    assert await served.news("T") == []


async def test_a_task_whose_token_left_the_state_is_lost(served: Served) -> None:
    for token in ("FIRED", "REPORTED", "HELD"):
        await served.start(token)
    fired, reported, held = [(await served.claim())["task"] for _ in range(3)]
    await served.fire("FIRED", "coded")
    await served.report(reported, event="coded")
    await served.start("P", size=0)
    child = (await served.claim("security/scan"))["task"]
    await served.fire("P", "leave")
    await served.read_up("FIRED", "HELD")
    assert await served.beat(child, held, reported, fired) == [fired, reported, child]
    assert await served.news("FIRED") == await served.news("HELD") == []


async def test_a_task_of_a_cancelled_token_is_lost(served: Served) -> None:
    await served.start("T")
    await served.start("P", size=0)
    tasks = [(await served.claim())["task"] for _ in range(3)]
    await served.steer("T", "cancel")
    await served.steer("P", "cancel")
    await served.read_up("T", "P")
    assert await served.beat(*tasks) == tasks
    assert await served.news("T") == await served.news("P") == []


async def test_a_task_whose_lease_ended_is_lost(served: Served) -> None:
    await served.start("T")
    await served.fire("T", "coded")
    task = (await served.claim())["task"]
    await served.read_up("T")
    # Over, though nobody has noticed it: too late to renew it.
    served.clock.forward(seconds=121)
    assert await served.beat(task) == [task]
    assert await served.news("T") == []
    await served.plane.ticker.tick()
    assert await served.news("T") == [task_failed(task, SILENCE), retrying(task, 2)]
    assert await served.beat(task) == [task]
    # Held again, by another and then by itself.
    assert (await served.claim(by="other"))["attempt"] == 2
    await served.read_up("T")
    assert await served.beat(task) == [task]
    assert await served.beat(task, by="other") == []
    assert await served.news("T") == []


async def test_a_task_that_waits_or_was_given_to_nobody_is_lost(served: Served) -> None:
    await served.start("T")
    queued = await served.task("T")
    assert await served.beat(queued) == [queued]
    assert (await served.claim())["task"] == queued
    await served.wait(queued)
    await served.read_up("T")
    assert await served.beat(queued) == [queued]
    unknown = [10**6, 2**63 - 1]
    assert await served.beat(unknown[1], queued, *unknown, queued) == [queued, *unknown]
    assert await served.news("T") == []


async def test_what_is_lost_does_not_keep_the_rest_from_being_renewed(served: Served) -> None:
    await served.start("T")
    await served.start("U")
    mine = (await served.claim())["task"]
    others = (await served.claim(by="other"))["task"]
    await served.read_up("T", "U")
    served.clock.forward(seconds=100)
    assert await served.beat(others, mine) == [others]
    await served.pass_by(seconds=100)
    assert await served.news("T") == []
    # The other's lease was not moved.
    assert (await served.news("U"))[0][0] == "task_failed"


async def test_a_bad_body_is_refused_and_renews_nothing(served: Served) -> None:
    await served.start("T")
    task = (await served.claim())["task"]
    await served.read_up("T")
    served.clock.forward(seconds=100)
    good: dict[str, Any] = {"supervisor": BOX, "tasks": [task]}
    for bad, refusal in (
        ({"supervisor": ""}, ARGUMENT),
        ({"supervisor": "b" * 257}, ARGUMENT),
        ({"supervisor": None}, ARGUMENT),
        ({"tasks": [task] * 1001}, ARGUMENT),
        ({"tasks": None}, BODY),
        ({"tasks": task}, BODY),
        ({"tasks": [task, 0]}, BODY),
        ({"tasks": [task, -1]}, BODY),
        ({"tasks": [task, 2**63]}, BODY),
        ({"tasks": [task, 1.0]}, BODY),
        ({"tasks": [task, True]}, BODY),
        ({"tasks": [task, "1"]}, BODY),
    ):
        assert (await served.post("/tasks/heartbeat", {**good, **bad})).refusal == refusal
    assert (await served.post("/tasks/heartbeat", {"supervisor": BOX})).refusal == BODY
    assert await served.news("T") == []
    await served.pass_by(seconds=21)
    assert (await served.news("T"))[0] == task_failed(task, SILENCE)
    assert await served.beat(*[10**6] * 1000) == [10**6]
