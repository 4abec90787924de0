"""Everything that the join of a parallel state can come to (docs/ledger.md)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cards.entries import (
    CANCELLED,
    COMPLETED,
    Entry,
    accepted,
    branch,
    cancelled,
    done,
    entered,
    failed,
    queued,
    started,
    task_cancelled,
    task_failed,
    timer_set,
)
from tests.cards.graphs import FAMILY, FILLED, SDLC, sdlc
from tests.cards.served import Served

GRAPH = SDLC
SECURITY, OUTER, STYLE = FAMILY[1:]
CONTEXT = {**FILLED, "size": 0}
SCANNED = {"approved": True, "note": "fine"}
NOT_HELD = (409, "task_not_held")
ANY = sdlc(join="any")


def ended(
    workflow: str, status: str, final: str, payload: Any = None, *, parent: str = "T.reviews.1"
) -> dict[str, Any]:
    """A branch as the payload of `joined` tells of it."""
    return {
        "workflow": workflow,
        "token": f"{parent}.{workflow}",
        "status": status,
        "final": final,
        "payload": payload,
    }


def joined(*branches: dict[str, Any], state: str = "reviews") -> Entry:
    return accepted("joined", state, {"branches": list(branches)})


STYLE_ENDED = ended("style", "completed", "read", parent=f"{OUTER}.inner.1")
OUTER_ENDED = ended("outer", "completed", "inner")


async def start_reviews(served: Served) -> None:
    await served.start("T", size=0)
    await served.read_up(*FAMILY)


async def test_all_waits_until_each_child_has_ended(served: Served) -> None:
    await start_reviews(served)
    token = await served.token("T")
    await served.fire(SECURITY, "scanned", SCANNED)
    await served.fire(SECURITY, "judged")
    # The join is not met yet: nothing.
    assert (await served.news(SECURITY))[-1] == COMPLETED
    assert await served.news("T") == await served.news(OUTER) == await served.news(STYLE) == []
    assert await served.token("T") == token
    # The grandchild's end meets the child's join, whose end meets the parent's.
    read = (await served.claim("style/read"))["task"]
    await served.read_up(STYLE)
    served.clock.forward(minutes=1)
    reply = await served.report(read, event="liked")
    assert reply["status"] == "completed"
    assert await served.news(STYLE) == [accepted("liked", "read"), done(read), COMPLETED]
    assert await served.news(OUTER) == [joined(STYLE_ENDED, state="inner"), COMPLETED]
    # In the order of the graph's `parallel`; the payload is of the event that led into the last state.
    assert await served.news("T") == [
        joined(ended("security", "completed", "judge", SCANNED), OUTER_ENDED),
        COMPLETED,
    ]
    assert await served.token("T") == {**token, "status": "completed"}
    # All of it is one decision.
    times = {
        (await served.api.get(f"/tokens/{name}/history")).json[-1]["at"]
        for name in ("T", OUTER, STYLE)
    }
    assert times == {served.at()}


async def test_guards_on_joined_read_the_branches(served: Served) -> None:
    await start_reviews(served)
    scan = (await served.claim("security/scan"))["task"]
    await served.fire(STYLE, "liked")
    await served.read_up(*FAMILY)
    await served.report(scan, "failed", error="boom")
    testing = await served.task("T")
    branches = [ended("security", "failed", "scan"), OUTER_ENDED]
    # Not all are completed: the other way.
    assert await served.news("T") == [
        joined(*branches),
        entered("testing"),
        queued(testing, "testing"),
        timer_set("timeout", served.at(hours=2)),
    ]
    assert await served.token("T") == served.answer("T", "testing", context=CONTEXT)
    grant = await served.claim()
    assert (grant["task"], grant["entered_by"]) == (
        testing,
        {"name": "joined", "payload": {"branches": branches}},
    )


@pytest.mark.parametrize("graph", [ANY], ids=["any"])
async def test_any_goes_on_at_once_and_cancels_the_others(served: Served) -> None:
    await start_reviews(served)
    scan = (await served.claim("security/scan"))["task"]
    read = (await served.claim("style/read"))["task"]
    await served.read_up(*FAMILY)
    await served.report(read, event="liked")
    # Only the child that ended is told of.
    assert await served.news("T") == [joined(OUTER_ENDED), COMPLETED]
    assert await served.news(SECURITY) == [
        task_cancelled(scan),
        cancelled("the parent left 'reviews' on 'joined'"),
    ]
    assert await served.status(SECURITY) == "cancelled"
    assert await served.beat(scan) == [scan]
    late = {"kind": "event", "event": "scanned", "payload": SCANNED, "attempt": 1}
    assert (await served.post(f"/tasks/{scan}/report", late)).refusal == NOT_HELD
    assert await served.news(SECURITY) == []


@pytest.mark.parametrize("graph", [ANY], ids=["any"])
async def test_any_cancels_the_children_of_the_others_too(served: Served) -> None:
    await start_reviews(served)
    read = await served.task(STYLE)
    await served.fire(SECURITY, "scanned", SCANNED)
    await served.fire(SECURITY, "judged")
    assert await served.news("T") == [
        joined(ended("security", "completed", "judge", SCANNED)),
        COMPLETED,
    ]
    assert await served.news(OUTER) == [cancelled("the parent left 'reviews' on 'joined'")]
    assert await served.news(STYLE) == [
        task_cancelled(read),
        cancelled("the parent left 'inner': it was cancelled"),
    ]
    assert await served.claim() is None


@pytest.mark.parametrize("graph", [ANY], ids=["any"])
async def test_any_is_met_by_a_child_that_failed(served: Served) -> None:
    await start_reviews(served)
    scan = (await served.claim("security/scan"))["task"]
    await served.read_up(SECURITY)
    await served.report(scan, "failed", error="boom")
    assert await served.news(SECURITY) == [
        task_failed(scan, "boom"),
        failed("'scan' failed, and has no transition on 'error': boom"),
    ]
    assert (await served.news("T"))[:2] == [
        joined(ended("security", "failed", "scan")),
        entered("testing"),
    ]
    assert await served.news(OUTER) == [cancelled("the parent left 'reviews' on 'joined'")]


async def test_a_parent_that_left_the_state_is_not_joined(served: Served) -> None:
    await start_reviews(served)
    await served.fire(STYLE, "liked")
    await served.fire("T", "leave")
    await served.read_up(*FAMILY)
    # A cancelled child looks at no join; a new visit has children of its own.
    fired = await served.post(f"/tokens/{SECURITY}/events/scanned", {"payload": SCANNED})
    assert fired.refusal == (409, "token_not_active")
    assert await served.news("T") == []
    await served.fire("T", "split")
    second = "T.reviews.2"
    assert (await served.news("T"))[2:] == [
        entered("reviews", 2),
        branch("security", f"{second}.security"),
        branch("outer", f"{second}.outer"),
    ]
    await served.fire(f"{second}.outer", "enough")
    assert await served.news("T") == []
    assert await served.status(f"{second}.outer.inner.1.style") == "cancelled"
    await served.fire(f"{second}.security", "scanned", SCANNED)
    await served.fire(f"{second}.security", "judged")
    assert await served.news("T") == [
        joined(
            ended("security", "completed", "judge", SCANNED, parent=second),
            ended("outer", "completed", "inner", parent=second),
        ),
        COMPLETED,
    ]


async def test_a_parent_that_is_not_active_is_not_joined(served: Served) -> None:
    await start_reviews(served)
    await served.fire(STYLE, "liked")
    scan = (await served.claim("security/scan"))["task"]
    await served.steer("T", "pause")
    await served.read_up(*FAMILY)
    # The child's last failure is held as its parent is: it ends, and joins, at the resume.
    await served.report(scan, "failed", error="boom")
    assert await served.status(SECURITY) == "paused"
    assert await served.news("T") == []
    await served.steer("T", "cancel")
    assert await served.news("T") == [CANCELLED]
    assert (await served.news(SECURITY))[-1] == cancelled("the parent was cancelled")


NO_WAY = sdlc(joins=False)
NO_WAY_ANY = sdlc(join="any", joins=False)
GUARDED = sdlc(
    joins=False,
    more=(
        {"from": "reviews", "to": "testing", "on": "joined", "when": "ctx['size'] > 0"},
        {
            "from": "reviews",
            "to": "triage",
            "on": "joined",
            "when": "branches.any(payload.note == 'bad')",
        },
    ),
)
TORN = sdlc(
    joins=False,
    more=(
        {"from": "reviews", "to": "testing", "on": "joined", "when": "ctx['size'] == 0"},
        {
            "from": "reviews",
            "to": "triage",
            "on": "joined",
            "when": "branches.any(payload.note == 'fine')",
        },
    ),
)


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (
            NO_WAY,
            "the join of 'reviews' cannot move the token: 'reviews' has no transition on 'joined'",
        ),
        (
            GUARDED,
            "the join of 'reviews' cannot move the token: no guard of 'reviews' on 'joined' holds",
        ),
        (
            TORN,
            (
                "'joined' in 'reviews' matched more than one guard: ctx['size'] == 0 (to testing), "
                "branches.any(payload.note == 'fine') (to triage)"
            ),
        ),
    ],
    ids=["no transition", "no guard holds", "two guards hold"],
)
async def test_a_join_that_cannot_move_the_parent_fails_it(served: Served, reason: str) -> None:
    await start_reviews(served)
    await served.fire(STYLE, "liked")
    await served.fire(SECURITY, "scanned", SCANNED)
    assert await served.news("T") == []
    await served.fire(SECURITY, "judged")
    assert await served.news("T") == [failed(reason)]
    token = served.answer("T", "reviews", status="failed", context=CONTEXT)
    assert await served.token("T") == token
    # The children ended as they did.
    assert await served.status(SECURITY) == await served.status(OUTER) == "completed"


@pytest.mark.parametrize("graph", [NO_WAY_ANY], ids=["any, no way on joined"])
async def test_a_join_of_any_that_fails_the_parent_cancels_the_others(served: Served) -> None:
    await start_reviews(served)
    scan = await served.task(SECURITY)
    await served.fire(STYLE, "liked")
    assert await served.news("T") == [
        failed(
            "the join of 'reviews' cannot move the token: 'reviews' has no transition on 'joined'"
        )
    ]
    assert await served.news(SECURITY) == [task_cancelled(scan), cancelled("the parent failed")]


def with_instant_children(*, join: str) -> dict[str, Any]:
    """The graph, its `outer` ending as it starts."""
    graph = sdlc(join=join)
    graph["workflows"]["outer"]["transitions"][0] = {"from": "__start__", "to": "__end__"}
    return graph


@pytest.mark.parametrize("graph", [with_instant_children(join="all")], ids=["outer ends at once"])
async def test_a_child_that_ends_as_it_starts_counts(served: Served) -> None:
    await served.start("T", size=0)
    assert await served.news("T") == [
        *started(CONTEXT),
        entered("reviews"),
        branch("security", SECURITY),
        branch("outer", OUTER),
    ]
    assert await served.news(OUTER) == [*started({"title": "a"}, "T"), COMPLETED]
    await served.fire(SECURITY, "scanned", SCANNED)
    await served.fire(SECURITY, "judged")
    assert await served.news("T") == [
        joined(
            ended("security", "completed", "judge", SCANNED),
            ended("outer", "completed", "__start__"),
        ),
        COMPLETED,
    ]


@pytest.mark.parametrize("graph", [with_instant_children(join="any")], ids=["outer ends at once"])
async def test_a_child_that_ends_as_it_starts_meets_any(served: Served) -> None:
    token = await served.start("T", size=0)
    assert token["status"] == "completed"
    assert await served.news("T") == [
        *started(CONTEXT),
        entered("reviews"),
        branch("security", SECURITY),
        branch("outer", OUTER),
        joined(ended("outer", "completed", "__start__")),
        COMPLETED,
    ]
    assert (await served.news(SECURITY))[-1] == cancelled("the parent left 'reviews' on 'joined'")
