"""Everything that the end of a lease can come to (docs/ledger.md)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cards.entries import (
    RESUMED,
    accepted,
    claimed,
    deferred,
    dropped,
    entered,
    failed,
    queued,
    replayed,
    retrying,
    task_cancelled,
    task_failed,
    timer_fired,
)
from tests.cards.graphs import FAMILY, SDLC, sdlc
from tests.cards.reports import claimed_task, report
from tests.cards.served import BOX, Served

GRAPH = SDLC
NOT_HELD = (409, "task_not_held")
OVER = (409, "attempt_over")
SILENCE = f"{BOX} stopped answering: no heartbeat for 2 minutes"
PASSED: dict[str, Any] = {"event": "checked", "payload": {"approved": True}}


def with_retries_of_coding() -> dict[str, Any]:
    graph = sdlc()
    graph["states"]["coding"]["retries"] = 1
    return graph


async def test_a_lease_that_was_renewed_or_ends_now_is_not_over(served: Served) -> None:
    task = await claimed_task(served)
    await served.pass_by(seconds=120)
    assert await served.news("T") == []
    assert await served.beat(task) == []
    await served.pass_by(seconds=119)
    assert await served.news("T") == []
    assert await served.beat(task) == []


async def test_a_task_that_waits_or_is_queued_has_no_lease(served: Served) -> None:
    task = await claimed_task(served)
    await served.wait(task)
    await served.start("U")
    await served.read_up("T", "U")
    await served.pass_by(hours=5)
    assert await served.news("T") == await served.news("U") == []


async def test_with_retries_left_the_task_is_queued_again(served: Served) -> None:
    task = await claimed_task(served, events=("coded",))
    token = await served.token("T")
    await served.pass_by(seconds=120.5)
    assert await served.news("T") == [task_failed(task, SILENCE), retrying(task, 2)]
    assert await served.token("T") == token
    # It is decided once.
    await served.pass_by(seconds=121)
    assert await served.news("T") == []
    assert await served.beat(task) == [task]
    grant = await served.claim(by="other")
    assert (grant["task"], grant["attempt"]) == (task, 2)
    assert await served.news("T") == [claimed(task, 2, "other")]


async def test_a_retry_keeps_the_memory_and_the_timeout(served: Served) -> None:
    task = await claimed_task(served, events=("coded",))
    await served.remember(task, "seen", 1)
    await served.pass_by(seconds=121)
    assert (await served.claim())["memory"] == {"seen": 1}
    assert await served.beat(task) == []
    await served.wait(task)
    await served.read_up("T")
    await served.pass_by(hours=2, seconds=-122)
    assert await served.news("T") == []
    await served.pass_by(seconds=1)
    assert (await served.news("T"))[0] == timer_fired("timeout")


@pytest.mark.parametrize("graph", [with_retries_of_coding()], ids=["retries of coding"])
async def test_a_retry_cancels_the_routines_own_timers(served: Served) -> None:
    task = await claimed_task(served)
    await served.wait(task, schedules=[{"event": "coded", "after": "1h"}])
    # What someone reports in a pause is dropped, so the task is queued again; its timer goes on.
    await served.steer("T", "pause")
    await served.report(task, event="stuck")
    await served.steer("T", "resume")
    assert (await served.claim())["attempt"] == 2
    await served.read_up("T")
    await served.pass_by(seconds=121)
    assert await served.news("T") == [task_failed(task, SILENCE), retrying(task, 3)]
    await served.pass_by(hours=5)
    assert await served.news("T") == []


async def test_without_retries_left_the_token_moves_on_error(served: Served) -> None:
    task = await claimed_task(served, events=("coded",))
    await served.pass_by(seconds=121)
    assert (await served.claim())["attempt"] == 2
    await served.read_up("T")
    await served.pass_by(seconds=121)
    triage = await served.task("T")
    assert await served.news("T") == [
        task_failed(task, SILENCE),
        accepted("error", "testing"),
        entered("triage"),
        queued(triage, "triage"),
    ]
    assert await served.token("T") == served.answer("T", "triage")
    grant = await served.claim()
    assert (grant["task"], grant["entered_by"]) == (triage, {"name": "error"})


async def test_without_retries_left_and_without_a_way_on_error_the_token_fails(
    served: Served,
) -> None:
    task = await claimed_task(served)
    token = await served.token("T")
    await served.pass_by(seconds=121)
    assert await served.news("T") == [
        task_failed(task, SILENCE),
        failed(
            "'coding' failed, and has no transition on 'error': "
            "build-box-1 stopped answering: no heartbeat for 2 minutes"
        ),
    ]
    assert await served.token("T") == {**token, "status": "failed"}
    assert await served.beat(task) == [task]
    assert await served.claim() is None


async def test_the_end_of_a_childs_lease_can_fail_the_child_and_meet_the_join(
    served: Served,
) -> None:
    await served.start("T", size=0)
    scan = (await served.claim("security/scan"))["task"]
    read = (await served.claim("style/read"))["task"]
    await served.report(read, event="liked")
    await served.read_up(*FAMILY)
    await served.pass_by(seconds=121)
    assert await served.news(FAMILY[1]) == [
        task_failed(scan, SILENCE),
        failed(f"'scan' failed, and has no transition on 'error': {SILENCE}"),
    ]
    assert [kind for kind, _ in await served.news("T")] == [
        "event_accepted",
        "entered",
        "task_queued",
        "timer_set",
    ]
    assert await served.state("T") == ("testing", 1)


async def test_on_a_paused_token_with_retries_left_the_task_is_queued_again(
    served: Served,
) -> None:
    task = await claimed_task(served, events=("coded",))
    await served.steer("T", "pause")
    await served.read_up("T")
    await served.pass_by(seconds=121)
    assert await served.news("T") == [task_failed(task, SILENCE), retrying(task, 2)]
    assert await served.claim() is None
    await served.steer("T", "resume")
    assert (await served.claim())["attempt"] == 2


@pytest.mark.parametrize(
    "graph",
    [sdlc(more=({"from": "coding", "to": "triage", "on": "error"},))],
    ids=["with a way on error"],
)
async def test_on_a_paused_token_without_retries_left_error_is_held(served: Served) -> None:
    task = await claimed_task(served)
    await served.steer("T", "pause")
    paused = await served.token("T")
    await served.read_up("T")
    await served.pass_by(seconds=121)
    assert await served.news("T") == [
        task_failed(task, SILENCE),
        deferred("error", 1, state="coding", visit=1, task=task),
    ]
    assert await served.token("T") == paused
    await served.steer("T", "resume")
    assert await served.news("T") == [
        RESUMED,
        replayed("error"),
        accepted("error", "coding"),
        entered("triage"),
        queued(await served.task("T"), "triage"),
    ]


async def test_an_error_that_was_held_and_leads_nowhere_fails_the_token(served: Served) -> None:
    task = await claimed_task(served)
    await served.steer("T", "pause")
    await served.pass_by(seconds=121)
    await served.read_up("T")
    assert (await served.steer("T", "resume"))["status"] == "failed"
    refused = "'coding' has no transition on 'error'"
    assert await served.news("T") == [
        RESUMED,
        dropped("error", refused),
        failed(f"'coding' failed, and 'error' cannot move it: {refused}"),
    ]
    assert await served.beat(task) == [task]


async def test_a_late_report_counts_as_long_as_nobody_noticed_the_end(served: Served) -> None:
    task = await claimed_task(served, events=("coded",))
    served.clock.forward(seconds=600)
    reply = await report(served, task, **PASSED, attempt=1, supervisor=BOX)
    assert (reply.status, reply.json["status"]) == (200, "completed")
    await served.read_up("T")
    await served.plane.ticker.tick()
    assert await served.news("T") == []


async def test_a_late_report_of_a_task_that_is_queued_again_is_not_held(served: Served) -> None:
    task = await claimed_task(served, events=("coded",))
    await served.pass_by(seconds=121)
    await served.read_up("T")
    for kind, fields in (("event", PASSED), ("failed", {"error": "x"}), ("waiting", {})):
        late = {"kind": kind, "attempt": 1, "supervisor": BOX, **fields}
        assert (await served.post(f"/tasks/{task}/report", late)).refusal == NOT_HELD
    note = await served.post(f"/tasks/{task}/note", {"text": "x", "attempt": 1})
    assert note.refusal == NOT_HELD
    assert await served.news("T") == []
    assert (await served.claim())["attempt"] == 2


async def test_a_late_report_after_a_new_attempt_started_is_over(served: Served) -> None:
    task = await claimed_task(served, events=("coded",))
    await served.pass_by(seconds=121)
    # Though it is the same supervisor that has it again.
    assert (await served.claim())["attempt"] == 2
    await served.read_up("T")
    for kind, fields in (("event", PASSED), ("failed", {"error": "x"}), ("waiting", {})):
        late = {"kind": kind, "attempt": 1, "supervisor": BOX, **fields}
        assert (await served.post(f"/tasks/{task}/report", late)).refusal == OVER
    memory = {"key": "k", "value": 1, "attempt": 1}
    assert (await served.api.put(f"/tasks/{task}/memory", memory)).refusal == OVER
    assert await served.news("T") == []
    await served.report(task, **PASSED, attempt=2)


async def test_a_late_report_after_the_last_attempt_is_not_held(served: Served) -> None:
    task = await claimed_task(served)
    await served.pass_by(seconds=121)
    await served.read_up("T")
    late = await report(served, task, event="coded", attempt=1, supervisor=BOX)
    assert late.refusal == NOT_HELD
    assert await served.news("T") == []


async def test_leases_end_before_timers_fire(served: Served) -> None:
    task = await claimed_task(served, events=("coded",))
    await served.pass_by(hours=2)
    assert (await served.news("T"))[:5] == [
        task_failed(task, SILENCE),
        retrying(task, 2),
        timer_fired("timeout"),
        accepted("timeout", "testing"),
        task_cancelled(task),
    ]
