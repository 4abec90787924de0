"""Everything that starting a token can come to (docs/http.md, docs/ledger.md)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.cards.entries import (
    COMPLETED,
    branch,
    entered,
    failed,
    queued,
    started,
    task_cancelled,
    timer_fired,
    timer_set,
)
from tests.cards.graphs import FAMILY, FILLED, SDLC, sdlc
from tests.cards.served import Served

GRAPH = SDLC
BAD_ID = (422, "invalid_token_id")
BAD_CONTEXT = (422, "invalid_context")


async def test_a_start_enters_the_first_state_queues_its_task_and_sets_its_timeout(
    served: Served,
) -> None:
    reply = await served.post("/tokens", {"token": "T", "context": {"title": "a"}})
    assert (reply.status, reply.json) == (201, served.answer("T", "coding"))
    assert await served.token("T") == reply.json
    task = await served.task("T")
    assert await served.news("T") == [
        *started(FILLED),
        entered("coding"),
        queued(task, "coding"),
        timer_set("timeout", served.at(hours=6)),
    ]
    assert await served.claim("coding") == {
        "task": task,
        "token": "T",
        "state": "coding",
        "visit": 1,
        "attempt": 1,
        "context": FILLED,
        "memory": {},
        "flow": {"revision": 0, "steps": {}},
        "entered_by": {"name": "__started__"},
        "ambient": None,
        "stateLog": None,
    }
    await served.read_up("T")
    await served.pass_by(hours=6)
    assert (await served.news("T"))[-1][0] == "failed"


async def test_the_timeout_that_a_start_sets_fires_when_it_is_due(served: Served) -> None:
    await served.start("T")
    task = await served.task("T")
    await served.read_up("T")
    await served.pass_by(hours=5, minutes=59, seconds=59)
    assert await served.news("T") == []
    await served.pass_by(seconds=1)
    assert await served.news("T") == [
        timer_fired("timeout"),
        task_cancelled(task),
        failed("'coding' timed out: 'coding' has no transition on 'timeout'"),
    ]


async def test_the_guards_of_a_start_read_the_context(served: Served) -> None:
    token = await served.start("T", size=7)
    assert token == served.answer("T", "triage", context={**FILLED, "size": 7})
    task = await served.task("T")
    # A state without a timeout sets no timer.
    assert await served.news("T") == [
        *started({**FILLED, "size": 7}),
        entered("triage"),
        queued(task, "triage"),
    ]


async def test_a_start_into_a_parallel_state_starts_its_children_in_place_of_a_task(
    served: Served,
) -> None:
    reply = await served.post("/tokens", {"token": "T", "context": {"title": "a", "size": 0}})
    context = {**FILLED, "size": 0}
    assert (reply.status, reply.json) == (201, served.answer("T", "reviews", context=context))
    _, security, outer, style = FAMILY
    scan, read = await served.task(security), await served.task(style)
    assert await served.news("T") == [
        *started(context),
        entered("reviews"),
        branch("security", security),
        branch("outer", outer),
    ]
    assert await served.news(security) == [
        *started({"title": "a", "level": 3}, "T"),
        entered("scan"),
        queued(scan, "scan"),
    ]
    assert await served.news(outer) == [
        *started({"title": "a"}, "T"),
        entered("inner"),
        branch("style", style),
    ]
    assert await served.news(style) == [
        *started({"title": "a"}, outer),
        entered("read"),
        queued(read, "read"),
    ]
    children = (await served.api.get("/tokens?parent=T")).json
    shown = {"parent": "T", "context": {"title": "a"}}
    assert children == [
        served.answer(outer, "inner", **shown),
        served.answer(security, "scan", **{**shown, "context": {"title": "a", "level": 3}}),
    ]
    assert await served.token(style) == served.answer(
        style, "read", parent=outer, context={"title": "a"}
    )
    assert [(await served.claim())["state"] for _ in range(2)] == ["security/scan", "style/read"]


@pytest.mark.parametrize(
    "graph",
    [sdlc(more=({"from": "__start__", "to": "__end__", "when": "ctx['size'] == -1"},))],
    ids=["with a way to the end"],
)
async def test_a_start_that_leads_to_the_end_completes_the_token(served: Served) -> None:
    reply = await served.post("/tokens", {"token": "T", "context": {"title": "a", "size": -1}})
    context = {**FILLED, "size": -1}
    token = served.answer("T", "__start__", status="completed", visit=0, context=context)
    assert (reply.status, reply.json) == (201, token)
    assert await served.news("T") == [*started(context), COMPLETED]
    assert await served.claim() is None


@pytest.mark.parametrize("ended", [False, True])
async def test_a_token_that_exists_is_answered_as_it_is(served: Served, *, ended: bool) -> None:
    await served.start("T")
    await served.fire("T", "coded")
    if ended:
        await served.fire("T", "checked", {"approved": True})
    token = await served.token("T")
    await served.read_up("T")
    served.clock.forward(seconds=5)
    for context in ({"title": "b"}, {"title": 1}, {}, None):
        reply = await served.post("/tokens", {"token": "T", "context": context})
        assert (reply.status, reply.json) == (200, token)
    assert await served.news("T") == []
    assert token["status"] == ("completed" if ended else "active")


async def test_a_child_that_exists_is_answered_as_it_is(served: Served) -> None:
    await served.start("T", size=0)
    await served.read_up(*FAMILY)
    for child in FAMILY[1:]:
        reply = await served.post("/tokens", {"token": child})
        assert (reply.status, reply.json) == (200, await served.token(child))
    assert [await served.news(token) for token in FAMILY] == [[], [], [], []]


async def test_of_many_starts_of_one_id_one_makes_the_token(served: Served) -> None:
    body = {"token": "T", "context": {"title": "a"}}
    replies = await asyncio.gather(*(served.post("/tokens", body) for _ in range(12)))
    assert sorted(reply.status for reply in replies) == [200] * 11 + [201]
    assert [kind for kind, _ in await served.news("T")] == [
        "started",
        "event_accepted",
        "entered",
        "task_queued",
        "timer_set",
    ]


async def test_an_id_that_differs_from_another_only_in_case_is_refused(served: Served) -> None:
    await served.start("Ticket", size=0)
    await served.read_up("Ticket")
    for token in ("ticket", "TICKET", "tIcket.REVIEWS.1.security"):
        body = {"token": token, "context": {"title": "a"}}
        assert (await served.post("/tokens", body)).refusal == BAD_ID
        assert not await served.exists(token)
    assert await served.news("Ticket") == []


async def test_a_bad_id_is_refused(served: Served) -> None:
    bad: tuple[Any, ...] = (
        "",
        ".a",
        "-a",
        "_a",
        "a b",
        "a/b",
        "é",
        "a" * 129,
        "a\n",
        None,
        1,
        ["a"],
    )
    for token in bad:
        body = {"token": token, "context": {"title": "a"}}
        assert (await served.post("/tokens", body)).refusal == BAD_ID
    assert (await served.post("/tokens", {"context": {"title": "a"}})).refusal == BAD_ID
    # The id is looked at before the context's model.
    assert (await served.post("/tokens", {"token": ".a", "context": {}})).refusal == BAD_ID
    assert (await served.api.get("/tokens")).json == []
    await served.start("a" * 128)


async def test_a_context_that_breaks_its_model_is_refused(served: Served) -> None:
    bad: list[Any] = [
        None,
        {},
        {"title": 1},
        {"title": "a", "tags": None},
        [],
        "a",
        {"title": "\0"},
    ]
    for context in bad:
        reply = await served.post("/tokens", {"token": "T", "context": context})
        assert reply.refusal == BAD_CONTEXT
    assert (await served.post("/tokens", {"token": "T"})).refusal == BAD_CONTEXT
    assert not await served.exists("T")
    assert await served.claim() is None
    # Nothing of the refused ones is in the way.
    await served.start("T")
    assert (await served.news("T"))[0] == ("started", {"context": FILLED})


async def test_a_context_for_which_no_transition_from_start_holds_is_refused(
    served: Served,
) -> None:
    # None of the guards holds for -5, two hold for 100.
    for size in (-5, 100):
        body = {"token": "T", "context": {"title": "a", "size": size}}
        assert (await served.post("/tokens", body)).refusal == BAD_CONTEXT
    assert (await served.api.get("/tokens")).json == []
    assert await served.claim() is None


async def test_a_parallel_state_whose_children_cannot_start_is_refused(served: Served) -> None:
    # The context breaks the child's model.
    body = {"token": "T", "context": {"title": "longer than 8", "size": 0}}
    assert (await served.post("/tokens", body)).refusal == BAD_CONTEXT
    # The id of the grandchild has more than 128 characters, though the children's have fewer.
    long = {"token": "a" * (128 - 20), "context": {"title": "a", "size": 0}}
    assert (await served.post("/tokens", long)).refusal == BAD_CONTEXT
    assert (await served.api.get("/tokens")).json == []
    # The id of a child is taken, in another case.
    await served.start("U.REVIEWS.1.outer")
    taken = {"token": "U", "context": {"title": "a", "size": 0}}
    assert (await served.post("/tokens", taken)).refusal == BAD_CONTEXT
    assert len((await served.api.get("/tokens")).json) == 1
    assert not await served.exists("U.reviews.1.security")
