"""Everything that claiming a task can come to (docs/http.md, docs/ledger.md)."""

from __future__ import annotations

from typing import Any

import psycopg

from tests.cards.entries import (
    accepted,
    claimed,
    done,
    entered,
    queued,
    retrying,
    task_failed,
    timer_set,
)
from tests.cards.graphs import FAMILY, FILLED, SDLC
from tests.cards.served import BOX, Served, serving
from tests.databases import Clock, Database

GRAPH = SDLC
ARGUMENT = (422, "invalid_argument")
BODY = (422, "invalid_body")


async def test_a_claim_grants_a_task_with_all_that_its_routine_needs(served: Served) -> None:
    await served.start("T")
    payload = {"approved": True}
    await served.fire("T", "torn", payload)
    task = await served.task("T")
    await served.read_up("T")
    served.clock.forward(minutes=1)
    reply = await served.post("/tasks/claim", {"supervisor": BOX, "states": ["testing"]})
    assert reply.status == 200
    assert reply.json == {
        "task": task,
        "token": "T",
        "state": "testing",
        "visit": 1,
        "attempt": 1,
        "context": FILLED,
        "memory": {},
        "flow": {"revision": 0, "steps": {}},
        "entered_by": {"name": "torn", "payload": payload},
        "ambient": None,
        "stateLog": None,
    }
    assert await served.news("T") == [claimed(task)]


async def test_a_grant_has_the_context_and_the_memory_of_its_token_and_state(
    served: Served,
) -> None:
    await served.start("T")
    await served.start("U")
    first = (await served.claim("coding"))["task"]
    await served.remember(first, "seen", [1, 2.0, None])
    await served.report(first, event="coded", context={"size": 5})
    testing = await served.claim("testing")
    assert (testing["context"], testing["memory"]) == ({**FILLED, "size": 5}, {})
    await served.report(testing["task"], event="checked", payload={"approved": False})
    assert (await served.claim("coding"))["token"] == "U"
    back = await served.claim("coding")
    assert (back["token"], back["visit"], back["attempt"]) == ("T", 2, 1)
    assert (back["memory"], back["context"]) == ({"seen": [1, 2.0, None]}, {**FILLED, "size": 5})


async def test_a_childs_task_goes_by_its_workflow_and_state(served: Served) -> None:
    await served.start("T", size=0)
    assert await served.claim("scan", "security", "sdlc/scan", "outer/read") is None
    await served.read_up(*FAMILY)
    grant = await served.claim("style/read", "security/scan")
    assert (grant["token"], grant["state"]) == (FAMILY[1], "security/scan")
    assert grant["context"] == {"title": "a", "level": 3}
    assert await served.news(FAMILY[1]) == [claimed(grant["task"])]
    assert await served.news("T") == await served.news(FAMILY[2]) == []


async def test_the_oldest_task_of_the_states_of_an_active_token_is_given(served: Served) -> None:
    for token in ("A", "B", "C", "D"):
        await served.start(token)
    await served.fire("A", "coded")
    await served.steer("B", "pause")
    await served.steer("C", "cancel")
    tokens = [(await served.claim("coding", "testing"))["token"] for _ in range(2)]
    assert tokens == ["D", "A"]
    assert await served.claim("coding", "testing") is None
    await served.steer("B", "resume")
    assert (await served.claim("coding", "testing"))["token"] == "B"


async def test_a_claim_adds_one_to_the_attempt_and_sets_a_lease_of_two_minutes(
    served: Served,
) -> None:
    await served.start("T")
    await served.fire("T", "coded")
    task = (await served.claim())["task"]
    await served.read_up("T")
    # A lease that ends exactly now is not over.
    await served.pass_by(seconds=120)
    assert await served.news("T") == []
    await served.pass_by(seconds=1)
    silence = f"{BOX} stopped answering: no heartbeat for 2 minutes"
    assert await served.news("T") == [task_failed(task, silence), retrying(task, 2)]
    again = await served.claim(by="other")
    assert (again["task"], again["attempt"]) == (task, 2)
    assert await served.news("T") == [claimed(task, 2, "other")]


async def test_a_task_whose_token_is_locked_is_passed_over(
    postgres: Database, clock: Clock, only_by_hand: None
) -> None:
    async with serving(postgres, clock, GRAPH) as served:
        await served.start("LOCKED")
        await served.start("FREE")
        async with await psycopg.AsyncConnection.connect(postgres.url) as locker:
            await locker.execute(
                "select 1 from stateous.tokens where token = 'LOCKED' for no key update"
            )
            assert (await served.claim())["token"] == "FREE"
            assert await served.claim() is None
            await locker.rollback()
        assert (await served.claim())["token"] == "LOCKED"


async def test_without_a_task_the_answer_is_empty(served: Served) -> None:
    reply = await served.post("/tasks/claim", {"supervisor": BOX, "states": ["coding"]})
    assert (reply.status, reply.body) == (204, b"")
    await served.start("T")
    await served.read_up("T")
    for states in (["testing"], [], ["Coding"]):
        reply = await served.post("/tasks/claim", {"supervisor": BOX, "states": states})
        assert (reply.status, reply.body) == (204, b"")
    assert await served.news("T") == []


async def test_the_same_request_again_gets_the_same_grant_and_renews_the_lease(
    served: Served,
) -> None:
    await served.start("T")
    await served.start("U")
    first = await served.claim(request="r-1")
    await served.read_up("T", "U")
    served.clock.forward(seconds=100)
    assert await served.claim(request="r-1") == first
    # Whatever its states say.
    assert await served.claim("testing", request="r-1") == first
    await served.pass_by(seconds=100)
    assert await served.news("T") == []
    # With today's memory, and while the token is paused.
    await served.remember(first["task"], "seen", 1)
    await served.steer("T", "pause")
    await served.read_up("T")
    served.clock.forward(seconds=20)
    assert await served.claim(request="r-1") == {**first, "memory": {"seen": 1}}
    assert await served.news("T") == await served.news("U") == []
    assert await served.beat(first["task"]) == []


async def test_a_request_is_its_supervisors_own(served: Served) -> None:
    await served.start("T")
    await served.start("U")
    assert (await served.claim(request="r-1"))["token"] == "T"
    assert (await served.claim(by="other", request="r-1"))["token"] == "U"
    assert await served.claim(by="third", request="r-1") is None


async def test_only_the_last_request_is_remembered(served: Served) -> None:
    await served.start("T")
    await served.start("U")
    first = await served.claim(request="r-1")
    assert await served.claim("testing", request="r-2") is None
    assert (await served.claim(request="r-1"))["token"] == "U"
    # A claim without a request is not remembered, and none is forgotten for it.
    assert await served.claim() is None
    assert (await served.claim(request="r-1"))["token"] == "U"
    assert await served.beat(first["task"]) == []


async def test_a_request_that_got_no_task_is_a_new_claim(served: Served) -> None:
    assert await served.claim(request="r-1") is None
    await served.start("T")
    await served.read_up("T")
    grant = await served.claim(request="r-1")
    assert await served.news("T") == [claimed(grant["task"])]


async def test_a_request_whose_task_is_not_held_any_more_is_a_new_claim(served: Served) -> None:
    await served.start("T")
    task = (await served.claim(request="r-1"))["task"]
    await served.read_up("T")
    await served.report(task, event="coded")
    testing = await served.claim(request="r-1")
    assert await served.news("T") == [
        accepted("coded", "coding"),
        done(task),
        entered("testing"),
        queued(testing["task"], "testing"),
        timer_set("timeout", served.at(hours=2)),
        claimed(testing["task"]),
    ]
    # The lease is over, though nobody has noticed it: the task is not given.
    served.clock.forward(seconds=121)
    assert await served.claim(request="r-1") is None
    assert await served.news("T") == []
    await served.plane.ticker.tick()
    again = await served.claim(request="r-1")
    assert (again["task"], again["attempt"]) == (testing["task"], 2)


async def test_a_bad_body_is_refused_and_nothing_is_claimed(served: Served) -> None:
    await served.start("T")
    await served.read_up("T")
    good: dict[str, Any] = {"supervisor": BOX, "states": ["coding"], "request": "r"}
    for bad, refusal in (
        ({"supervisor": "b" * 257}, ARGUMENT),
        ({"supervisor": ""}, ARGUMENT),
        ({"supervisor": None}, ARGUMENT),
        ({"supervisor": 1}, ARGUMENT),
        ({"supervisor": "a\0b"}, ARGUMENT),
        ({"states": None}, BODY),
        ({"states": "coding"}, BODY),
        ({"states": ["coding", 1]}, BODY),
        ({"states": [""]}, BODY),
        ({"states": ["s" * 130]}, BODY),
        ({"states": ["coding"] * 1001}, ARGUMENT),
        ({"request": ""}, ARGUMENT),
        ({"request": "r" * 65}, ARGUMENT),
        ({"request": "a b"}, ARGUMENT),
        ({"request": 1}, ARGUMENT),
    ):
        assert (await served.post("/tasks/claim", {**good, **bad})).refusal == refusal
    assert (await served.post("/tasks/claim", [])).refusal == BODY
    assert (await served.post("/tasks/claim", b"{")).refusal == (400, "bad_request")
    assert (await served.post("/tasks/claim", {})).refusal == ARGUMENT
    assert await served.news("T") == []
    longest = {"supervisor": "b" * 256, "states": ["coding"] * 1000, "request": "r" * 64}
    assert (await served.post("/tasks/claim", longest)).json["token"] == "T"
