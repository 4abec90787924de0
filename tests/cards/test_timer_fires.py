"""Everything that a timer that is due can come to (docs/ledger.md)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cards.entries import (
    COMPLETED,
    PAUSED,
    accepted,
    cancelled,
    done,
    entered,
    failed,
    queued,
    rejected,
    task_cancelled,
    timer_fired,
    timer_set,
)
from tests.cards.graphs import FAMILY, SDLC, sdlc
from tests.cards.reports import claimed_task
from tests.cards.served import Served

GRAPH = SDLC
BOTH: dict[str, Any] = {"approved": True, "note": "both"}


def with_timeout_of_reviews() -> dict[str, Any]:
    graph = sdlc(more=({"from": "reviews", "to": "coding", "on": "timeout"},))
    graph["states"]["reviews"]["timeout"] = "30m"
    return graph


async def test_a_timeout_moves_the_token(served: Served) -> None:
    task = await claimed_task(served, events=("coded",))
    await served.wait(task)
    await served.read_up("T")
    await served.pass_by(hours=1, minutes=59, seconds=59)
    assert await served.news("T") == []
    await served.pass_by(seconds=1)
    triage = await served.task("T")
    # The state does not emit it, so the task is cancelled.
    assert await served.news("T") == [
        timer_fired("timeout"),
        accepted("timeout", "testing"),
        task_cancelled(task),
        entered("triage"),
        queued(triage, "triage"),
    ]
    assert await served.token("T") == served.answer("T", "triage")
    grant = await served.claim()
    assert (grant["task"], grant["entered_by"]) == (triage, {"name": "timeout"})
    assert await served.beat(task) == [task]


async def test_a_routines_timer_moves_the_token_with_its_payload(served: Served) -> None:
    task = await claimed_task(served, events=("coded",))
    payload = {"approved": True, "note": "in time"}
    await served.wait(task, schedules=[{"event": "checked", "payload": payload, "after": "90s"}])
    await served.read_up("T")
    await served.pass_by(seconds=89)
    assert await served.news("T") == []
    await served.pass_by(seconds=1)
    assert await served.news("T") == [
        timer_fired("checked"),
        accepted("checked", "testing", payload),
        done(task),
        COMPLETED,
    ]
    assert await served.status("T") == "completed"


async def test_timers_fire_in_the_order_of_their_times(served: Served) -> None:
    await served.start("T")
    await served.fire("T", "coded")
    await served.start("U")
    await served.fire("U", "coded")
    first, second = [(await served.claim())["task"] for _ in range(2)]
    checked: dict[str, Any] = {"event": "checked", "payload": {"approved": False}}
    # What is set first is due last; of two that are due together the first one counts.
    await served.wait(
        first,
        schedules=[
            {**checked, "after": "3m"},
            {"event": "sorted", "after": "1m"},
            {"event": "coded", "after": "1m"},
        ],
    )
    await served.wait(second, schedules=[{**checked, "after": "2m"}])
    await served.read_up("T", "U")
    await served.pass_by(minutes=10)
    assert (await served.news("T"))[:6] == [
        timer_fired("sorted"),
        rejected("sorted", "'testing' has no transition on 'sorted'"),
        timer_fired("coded"),
        rejected("coded", "'testing' has no transition on 'coded'"),
        timer_fired("checked"),
        accepted("checked", "testing", {"approved": False}),
    ]
    assert (await served.news("U"))[0] == timer_fired("checked")
    assert [(await served.claim("coding"))["token"] for _ in range(2)] == ["U", "T"]


async def test_what_is_entered_as_a_timer_fires_counts_from_then(served: Served) -> None:
    task = await claimed_task(served, events=("coded",))
    checked = {"event": "checked", "payload": {"approved": False}}
    await served.wait(task, schedules=[{**checked, "after": "1m"}])
    await served.read_up("T")
    await served.pass_by(days=1)
    assert (await served.news("T"))[-1] == timer_set("timeout", served.at(hours=6))
    await served.pass_by(hours=5)
    assert await served.news("T") == []


async def test_a_timeout_of_a_childs_state_is_the_childs_own(served: Served) -> None:
    await served.start("T", size=0)
    scan = (await served.claim("security/scan"))["task"]
    await served.report(scan, event="scanned", payload={"approved": True})
    judge = await served.task(FAMILY[1])
    await served.read_up(*FAMILY)
    await served.pass_by(hours=1)
    assert await served.news(FAMILY[1]) == [
        timer_fired("timeout"),
        task_cancelled(judge),
        failed("'judge' timed out: 'judge' has no transition on 'timeout'"),
    ]
    assert await served.news("T") == []


@pytest.mark.parametrize("graph", [with_timeout_of_reviews()], ids=["a timeout of reviews"])
async def test_a_timeout_that_leaves_a_parallel_state_cancels_the_children(
    served: Served,
) -> None:
    await served.start("T", size=0)
    read = await served.task(FAMILY[3])
    await served.read_up(*FAMILY)
    await served.pass_by(minutes=30)
    assert (await served.news("T"))[:3] == [
        timer_fired("timeout"),
        accepted("timeout", "reviews"),
        entered("coding"),
    ]
    assert (await served.news(FAMILY[1]))[-1] == cancelled("the parent left 'reviews' on 'timeout'")
    assert await served.news(FAMILY[3]) == [
        task_cancelled(read),
        cancelled("the parent left 'inner': it was cancelled"),
    ]


async def test_a_timeout_that_no_transition_takes_fails_the_token(served: Served) -> None:
    task = await claimed_task(served)
    await served.wait(task)
    token = await served.token("T")
    await served.read_up("T")
    await served.pass_by(hours=6)
    assert await served.news("T") == [
        timer_fired("timeout"),
        task_cancelled(task),
        failed("'coding' timed out: 'coding' has no transition on 'timeout'"),
    ]
    assert await served.token("T") == {**token, "status": "failed"}
    assert (
        await served.post(f"/tasks/{task}/report", {"kind": "failed", "error": "x"})
    ).refusal == (
        409,
        "task_not_held",
    )


@pytest.mark.parametrize(
    "graph",
    [
        sdlc(
            more=({"from": "coding", "to": "testing", "on": "timeout", "when": "ctx['size'] == 1"},)
        )
    ],
    ids=["a guard on timeout"],
)
async def test_a_timeout_that_no_guard_takes_fails_the_token(served: Served) -> None:
    await served.start("T")
    task = await served.task("T")
    await served.read_up("T")
    await served.pass_by(hours=6)
    assert await served.news("T") == [
        timer_fired("timeout"),
        task_cancelled(task),
        failed("'coding' timed out: no guard of 'coding' on 'timeout' holds"),
    ]


async def test_a_routines_timer_that_cannot_move_the_token_is_refused_once(
    served: Served,
) -> None:
    task = await claimed_task(served)
    await served.wait(
        task,
        schedules=[
            {"event": "sorted", "after": "1m"},
            {"event": "stuck", "after": "2m"},
        ],
    )
    token = await served.token("T")
    await served.read_up("T")
    await served.pass_by(minutes=2)
    assert await served.news("T") == [
        timer_fired("sorted"),
        rejected("sorted", "'coding' has no transition on 'sorted'"),
        timer_fired("stuck"),
        rejected("stuck", "no guard of 'coding' on 'stuck' holds"),
    ]
    assert await served.token("T") == token
    await served.pass_by(minutes=2)
    assert await served.news("T") == []
    await served.report(task, event="coded")


async def test_two_guards_that_a_timer_matches_fail_the_token(served: Served) -> None:
    task = await claimed_task(served)
    await served.wait(task, schedules=[{"event": "torn", "payload": BOTH, "after": "1m"}])
    await served.read_up("T")
    await served.pass_by(minutes=1)
    assert await served.news("T") == [
        timer_fired("torn"),
        task_cancelled(task),
        failed(
            "'torn' in 'coding' matched more than one guard: payload.approved (to testing), "
            "payload.note == 'both' (to triage)"
        ),
    ]


@pytest.mark.parametrize("left", ["coded", "again", "cancelled", "completed"])
async def test_of_a_state_that_was_left_no_timer_fires(served: Served, left: str) -> None:
    task = await claimed_task(served)
    await served.wait(task, schedules=[{"event": "coded", "after": "1h"}])
    # To another state, to a new visit of the same, or to an end.
    if left == "cancelled":
        await served.steer("T", "cancel")
    elif left == "completed":
        await served.fire("T", "coded")
        await served.fire("T", "checked", {"approved": True})
    else:
        await served.fire("T", left)
    token = await served.token("T")
    await served.read_up("T")
    await served.pass_by(hours=1, minutes=59)
    assert await served.news("T") == []
    assert await served.token("T") == token


async def test_of_a_paused_token_no_timer_fires(served: Served) -> None:
    task = await claimed_task(served)
    await served.wait(task, schedules=[{"event": "coded", "after": "1h"}])
    await served.read_up("T")
    await served.steer("T", "pause")
    await served.pass_by(days=1)
    assert await served.news("T") == [PAUSED]
