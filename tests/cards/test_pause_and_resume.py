"""Everything that pausing and resuming a token can come to (docs/http.md, docs/ledger.md)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cards.entries import (
    CANCELLED,
    COMPLETED,
    PAUSED,
    RESUMED,
    accepted,
    cancelled,
    changed,
    claimed,
    deferred,
    done,
    dropped,
    entered,
    failed,
    queued,
    replayed,
    task_cancelled,
    timer_fired,
    timer_set,
    waiting,
)
from tests.cards.graphs import FAMILY, FILLED, SDLC, sdlc
from tests.cards.reports import claimed_task
from tests.cards.served import Served

GRAPH = SDLC
CHILD = (409, "child_token")
NOT_ACTIVE = (409, "token_not_active")
NO_TOKEN = (404, "token_not_found")
BOTH: dict[str, Any] = {"approved": True, "note": "both"}


async def test_a_pause_stops_the_token(served: Served) -> None:
    await served.start("T")
    token = await served.token("T")
    await served.read_up("T")
    served.clock.forward(minutes=1)
    reply = await served.post("/tokens/T/pause")
    assert (reply.status, reply.json) == (200, {**token, "status": "paused"})
    assert await served.token("T") == reply.json
    assert await served.news("T") == [PAUSED]
    # Nobody gets its task, and its timeout does not fire.
    assert await served.claim() is None
    await served.pass_by(days=1)
    assert await served.news("T") == []


async def test_a_pause_stops_the_children_too(served: Served) -> None:
    await served.start("T", size=0)
    scan = (await served.claim("security/scan"))["task"]
    await served.report(scan, event="scanned", payload={"approved": True})
    await served.report((await served.claim("security/judge"))["task"], event="judged")
    await served.read_up(*FAMILY)
    await served.steer("T", "pause")
    # The one that has ended is let alone.
    assert [await served.news(token) for token in FAMILY] == [[PAUSED], [], [PAUSED], [PAUSED]]
    assert [await served.status(token) for token in FAMILY] == [
        "paused",
        "completed",
        "paused",
        "paused",
    ]
    assert await served.claim() is None
    await served.steer("T", "resume")
    assert [await served.news(token) for token in FAMILY] == [[RESUMED], [], [RESUMED], [RESUMED]]
    assert (await served.claim())["token"] == FAMILY[3]


async def test_a_routine_goes_on_in_a_pause(served: Served) -> None:
    task = await claimed_task(served)
    await served.steer("T", "pause")
    await served.read_up("T")
    await served.post(f"/tasks/{task}/note", {"text": "x"})
    await served.remember(task, "k", 1)
    assert await served.beat(task) == []
    token = await served.wait(task, context={"size": 3})
    assert (token["status"], token["context"]) == ("paused", {**FILLED, "size": 3})
    assert await served.news("T") == [
        ("note", {"task": task, "text": "x"}),
        ("memory_set", {"state": "coding", "memory_key": "k"}),
        changed(size=3),
        waiting(task),
    ]


async def test_what_arrives_in_a_pause_is_applied_in_the_order_of_arrival(served: Served) -> None:
    task = await claimed_task(served)
    await served.steer("T", "pause")
    await served.read_up("T")
    await served.report(task, event="coded", context={"size": 2})
    await served.fire("T", "checked", {"approved": False})
    await served.fire("T", "stuck")
    assert await served.news("T") == [
        deferred("coded", 1, state="coding", visit=1, task=task, context={"size": 2}),
        done(task),
        deferred("checked", 2, {"approved": False}),
        deferred("stuck", 3),
    ]
    served.clock.forward(minutes=1)
    reply = await served.post("/tokens/T/resume")
    context = {**FILLED, "size": 2}
    assert (reply.status, reply.json) == (200, served.answer("T", "triage", context=context))
    news = await served.news("T")
    testing, coding = [data["task"] for kind, data in news if kind == "task_queued"][:2]
    assert news == [
        RESUMED,
        replayed("coded"),
        changed(size=2),
        accepted("coded", "coding"),
        entered("testing"),
        queued(testing, "testing"),
        timer_set("timeout", served.at(hours=2)),
        replayed("checked"),
        accepted("checked", "testing", {"approved": False}),
        task_cancelled(testing),
        entered("coding", 2),
        queued(coding, "coding"),
        timer_set("timeout", served.at(hours=6)),
        replayed("stuck"),
        accepted("stuck", "coding"),
        task_cancelled(coding),
        entered("triage"),
        queued(await served.task("T"), "triage"),
    ]


async def test_the_order_of_arrival_is_that_of_the_whole_family(served: Served) -> None:
    await served.start("T", size=0)
    scan, read = [(await served.claim())["task"] for _ in range(2)]
    await served.steer("T", "pause")
    await served.read_up(*FAMILY)
    payload = {"approved": True}
    await served.report(read, event="liked")
    await served.report(scan, event="scanned", payload=payload)
    await served.fire(FAMILY[1], "judged")
    assert await served.news(FAMILY[3]) == [
        deferred("liked", 1, state="read", visit=1, task=read),
        done(read),
    ]
    assert await served.news(FAMILY[1]) == [
        deferred("scanned", 2, payload, state="scan", visit=1, task=scan),
        done(scan),
        deferred("judged", 3),
    ]
    # All is applied in one decision, the joins that it meets, too.
    assert (await served.steer("T", "resume"))["status"] == "completed"
    assert await served.news(FAMILY[3]) == [
        RESUMED,
        replayed("liked"),
        accepted("liked", "read"),
        COMPLETED,
    ]
    assert [kind for kind, _ in await served.news(FAMILY[2])] == [
        "resumed",
        "event_accepted",
        "completed",
    ]
    judge = await served.task(FAMILY[1])
    assert await served.news(FAMILY[1]) == [
        RESUMED,
        replayed("scanned"),
        accepted("scanned", "scan", payload),
        entered("judge"),
        queued(judge, "judge"),
        timer_set("timeout", served.at(hours=1)),
        replayed("judged"),
        accepted("judged", "judge"),
        task_cancelled(judge),
        COMPLETED,
    ]
    assert [kind for kind, _ in await served.news("T")] == [
        "resumed",
        "event_accepted",
        "completed",
    ]


async def test_timers_get_back_exactly_the_time_that_they_stood_still(served: Served) -> None:
    task = await claimed_task(served)
    await served.wait(task, schedules=[{"event": "sorted", "after": "2h"}])
    served.clock.forward(minutes=30)
    await served.steer("T", "pause")
    await served.pass_by(hours=100)
    await served.steer("T", "resume")
    await served.read_up("T")
    # 90 minutes were left of the timer, 330 of the timeout.
    await served.pass_by(minutes=89, seconds=59)
    assert await served.news("T") == []
    await served.pass_by(seconds=1)
    assert [kind for kind, _ in await served.news("T")] == ["timer_fired", "event_rejected"]
    # Each pause counts for itself.
    await served.steer("T", "pause")
    await served.pass_by(minutes=7)
    await served.steer("T", "resume")
    await served.read_up("T")
    await served.pass_by(minutes=239, seconds=59)
    assert await served.news("T") == []
    await served.pass_by(seconds=1)
    assert (await served.news("T"))[0] == timer_fired("timeout")


async def test_a_timer_that_was_due_as_the_pause_began_is_due_as_it_ends(served: Served) -> None:
    task = await claimed_task(served)
    await served.wait(task, schedules=[{"event": "coded", "after": "1m"}])
    served.clock.forward(minutes=2)
    await served.steer("T", "pause")
    await served.pass_by(hours=1)
    await served.read_up("T")
    await served.steer("T", "resume")
    await served.plane.ticker.tick()
    # Read together: the clock that runs beside us may have fired it before we could look.
    resumed, *news = await served.news("T")
    assert resumed[0] == "resumed"
    assert news[:2] == [timer_fired("coded"), accepted("coded", "coding")]


async def test_a_timer_that_was_set_in_a_pause_stands_still_from_then(served: Served) -> None:
    task = await claimed_task(served)
    await served.steer("T", "pause")
    served.clock.forward(hours=3)
    await served.wait(task, schedules=[{"event": "coded", "after": "1h"}])
    await served.pass_by(hours=5)
    await served.steer("T", "resume")
    await served.read_up("T")
    await served.pass_by(minutes=59, seconds=59)
    assert await served.news("T") == []
    await served.pass_by(seconds=1)
    assert (await served.news("T"))[0] == timer_fired("coded")


async def test_the_timers_of_children_stand_still_too(served: Served) -> None:
    await served.start("T", size=0)
    await served.fire(FAMILY[1], "scanned", {"approved": True})
    served.clock.forward(minutes=59)
    await served.steer("T", "pause")
    await served.pass_by(hours=9)
    await served.steer("T", "resume")
    await served.read_up(FAMILY[1])
    await served.pass_by(seconds=59)
    assert await served.news(FAMILY[1]) == []
    await served.pass_by(seconds=1)
    assert (await served.news(FAMILY[1]))[0] == timer_fired("timeout")


async def test_the_timers_of_a_held_outcome_count_from_the_resume(served: Served) -> None:
    task = await claimed_task(served)
    await served.steer("T", "pause")
    await served.report(
        task, event="again", schedules=[{"event": "coded", "payload": {}, "after": "1h"}]
    )
    await served.read_up("T")
    served.clock.forward(hours=9)
    await served.steer("T", "resume")
    assert await served.news("T") == [
        RESUMED,
        replayed("again"),
        timer_set("coded", served.at(hours=1)),
        accepted("again", "coding"),
        entered("coding", 2),
        queued(await served.task("T"), "coding"),
        timer_set("timeout", served.at(hours=6)),
    ]
    # It was set in the state that was left.
    await served.pass_by(hours=5)
    assert await served.news("T") == []


async def test_a_held_event_that_cannot_move_the_token_is_dropped(served: Served) -> None:
    await served.start("T")
    await served.steer("T", "pause")
    await served.post("/tokens/T/events/sorted", key="k")
    token = await served.token("T")
    await served.read_up("T")
    assert await served.steer("T", "resume") == {**token, "status": "active"}
    assert await served.news("T") == [
        RESUMED,
        dropped("sorted", "'coding' has no transition on 'sorted'"),
    ]
    # Its task was not its own, and is where it was; its key is used up.
    assert (await served.claim())["attempt"] == 1
    again = await served.post("/tokens/T/events/coded", key="k")
    assert again.json["duplicate"] is True


async def test_a_held_outcome_that_no_guard_takes_gives_its_task_back(served: Served) -> None:
    task = await claimed_task(served)
    await served.remember(task, "k", 1)
    await served.steer("T", "pause")
    await served.report(
        task, event="stuck", context={"size": 1}, schedules=[{"event": "coded", "after": "1m"}]
    )
    await served.read_up("T")
    await served.steer("T", "resume")
    assert await served.news("T") == [
        RESUMED,
        dropped("stuck", "no guard of 'coding' on 'stuck' holds"),
        queued(task, "coding"),
    ]
    # Nothing that it brought was saved.
    grant = await served.claim()
    assert (grant["task"], grant["attempt"]) == (task, 2)
    assert (grant["context"], grant["memory"]) == (FILLED, {"k": 1})
    assert await served.news("T") == [claimed(task, 2)]
    await served.wait(task)
    await served.read_up("T")
    await served.pass_by(minutes=1)
    assert await served.news("T") == []


async def test_a_held_outcome_of_a_state_that_was_left_is_dropped(served: Served) -> None:
    task = await claimed_task(served)
    await served.steer("T", "pause")
    await served.fire("T", "again")
    await served.report(task, event="coded")
    await served.read_up("T")
    assert await served.steer("T", "resume") == served.answer("T", "coding", visit=2)
    again = await served.task("T")
    # The state is the same, its visit another: the new task stays, the old one is not given back.
    assert await served.news("T") == [
        RESUMED,
        replayed("again"),
        accepted("again", "coding"),
        entered("coding", 2),
        queued(again, "coding"),
        timer_set("timeout", served.at(hours=6)),
        dropped("coded", "the token left 'coding' before"),
    ]
    assert again != task
    assert (await served.claim())["task"] == again


async def test_a_held_event_of_a_token_that_has_ended_is_dropped(served: Served) -> None:
    await served.start("T", size=0)
    scan = (await served.claim("security/scan"))["task"]
    await served.steer("T", "pause")
    await served.fire("T", "leave")
    await served.report(scan, event="scanned", payload={"approved": True})
    await served.read_up(*FAMILY)
    assert (await served.steer("T", "resume"))["state"] == "coding"
    # The child's task was done as its outcome was held, so none is cancelled with it.
    assert await served.news(FAMILY[1]) == [
        RESUMED,
        cancelled("the parent left 'reviews' on 'leave'"),
        dropped("scanned", "the token is cancelled"),
    ]
    assert await served.status(FAMILY[1]) == "cancelled"


async def test_a_held_event_that_two_guards_match_fails_the_token(served: Served) -> None:
    task = await claimed_task(served)
    await served.steer("T", "pause")
    await served.report(task, event="torn", payload=BOTH, context={"size": 1})
    await served.read_up("T")
    # Unlike an outcome that is not held, it leaves no change behind: it is dropped.
    assert await served.steer("T", "resume") == served.answer("T", "coding", status="failed")
    reason = (
        "'torn' in 'coding' matched more than one guard: payload.approved (to testing), "
        "payload.note == 'both' (to triage)"
    )
    assert await served.news("T") == [RESUMED, dropped("torn", reason), failed(reason)]


async def test_a_held_error_that_cannot_move_the_token_fails_it(served: Served) -> None:
    task = await claimed_task(served)
    await served.steer("T", "pause")
    token = await served.report(task, "failed", error="boom")
    assert token["status"] == "paused"
    assert (await served.news("T"))[-1] == deferred("error", 1, state="coding", visit=1, task=task)
    assert (await served.steer("T", "resume"))["status"] == "failed"
    refused = "'coding' has no transition on 'error'"
    assert await served.news("T") == [
        RESUMED,
        dropped("error", refused),
        failed(f"'coding' failed, and 'error' cannot move it: {refused}"),
    ]


@pytest.mark.parametrize("graph", [sdlc(join="any")], ids=["any"])
async def test_a_join_that_a_held_event_meets_drops_what_came_later(served: Served) -> None:
    await served.start("T", size=0)
    scan, read = [(await served.claim())["task"] for _ in range(2)]
    await served.steer("T", "pause")
    await served.report(read, event="liked")
    await served.report(scan, event="scanned", payload={"approved": True})
    await served.read_up(*FAMILY)
    assert (await served.steer("T", "resume"))["status"] == "completed"
    assert await served.news(FAMILY[1]) == [
        RESUMED,
        cancelled("the parent left 'reviews' on 'joined'"),
        dropped("scanned", "the token is cancelled"),
    ]


@pytest.mark.parametrize("status", ["active", "paused", "completed", "failed", "cancelled"])
async def test_a_token_in_the_wrong_status_is_refused(served: Served, status: str) -> None:
    await served.start("T")
    if status == "paused":
        await served.steer("T", "pause")
    elif status == "cancelled":
        await served.steer("T", "cancel")
    elif status == "failed":
        await served.fire("T", "torn", BOTH)
    elif status == "completed":
        await served.fire("T", "coded")
        await served.fire("T", "checked", {"approved": True})
    token = await served.token("T")
    assert token["status"] == status
    await served.read_up("T")
    wrong = {"active": ("resume",), "paused": ("pause",)}.get(status, ("pause", "resume"))
    for action in wrong:
        assert (await served.post(f"/tokens/T/{action}")).refusal == NOT_ACTIVE
    assert await served.news("T") == []
    assert await served.token("T") == token


async def test_a_child_is_not_steered_by_itself(served: Served) -> None:
    await served.start("T", size=0)
    await served.read_up(*FAMILY)
    for child in FAMILY[1:]:
        for action in ("pause", "resume"):
            assert (await served.post(f"/tokens/{child}/{action}")).refusal == CHILD
    # Nor one that is paused, nor one that has ended.
    await served.steer("T", "pause")
    assert (await served.post(f"/tokens/{FAMILY[1]}/resume")).refusal == CHILD
    await served.steer("T", "cancel")
    await served.read_up(*FAMILY)
    for child in FAMILY[1:]:
        for action in ("pause", "resume"):
            assert (await served.post(f"/tokens/{child}/{action}")).refusal == CHILD
    assert [await served.news(token) for token in FAMILY] == [[], [], [], []]


async def test_a_token_that_nobody_has_is_not_found(served: Served) -> None:
    for action in ("pause", "resume"):
        assert (await served.post(f"/tokens/T/{action}")).refusal == NO_TOKEN
    assert not await served.exists("T")
    await served.start("T")
    await served.steer("T", "pause")
    await served.read_up("T")
    for action in ("pause", "resume"):
        assert (await served.post(f"/tokens/t/{action}")).refusal == NO_TOKEN
    assert await served.news("T") == []
    await served.steer("T", "cancel")
    assert (await served.news("T"))[-1] == CANCELLED
