"""Every report of an outcome that is refused (docs/http.md, docs/ledger.md)."""

from __future__ import annotations

from typing import Any

from tests.cards.entries import (
    CANCELLED,
    rejected,
    task_cancelled,
)
from tests.cards.graphs import FAMILY, FILLED, SDLC
from tests.cards.reports import claimed_task, report
from tests.cards.served import BOX, Served

GRAPH = SDLC
Json = dict[str, Any]
NOT_HELD = (409, "task_not_held")
OVER = (409, "attempt_over")
NOT_ALLOWED = (409, "event_not_allowed")
NO_TASK = (404, "task_not_found")
BAD_PAYLOAD = (422, "invalid_payload")
BODY = (422, "invalid_body")


async def test_an_event_that_the_state_cannot_emit_is_refused_and_recorded(
    served: Served,
) -> None:
    task = await claimed_task(served)
    changes: Json = {"context": {"size": 5}, "schedules": [{"event": "coded", "after": "1m"}]}
    for event in ("sorted", "nobody-knows", "error", "timeout", ""):
        reply = await report(served, task, event=event, **changes)
        reason = f"the state 'coding' cannot emit '{event}'"
        assert reply.refusal == NOT_ALLOWED
        assert reply.json == {"error": reason, "code": "event_not_allowed"}
        assert await served.news("T") == [rejected(event, reason)]
    assert (await served.token("T"))["context"] == FILLED
    assert await served.beat(task) == []
    await served.pass_by(minutes=1)
    assert await served.news("T") == []


async def test_an_event_that_no_guard_takes_is_refused_and_recorded(served: Served) -> None:
    task = await claimed_task(served)
    changes: Json = {"context": {"size": 1}, "schedules": [{"event": "coded", "after": "1m"}]}
    reply = await report(served, task, event="stuck", **changes)
    assert reply.refusal == NOT_ALLOWED
    assert await served.news("T") == [rejected("stuck", "no guard of 'coding' on 'stuck' holds")]
    # Nothing that it brought was saved, and the task is held as before.
    assert (await served.token("T"))["context"] == FILLED
    await served.pass_by(minutes=1)
    assert await served.news("T") == []
    # So the routine fails.
    assert await served.beat(task) == []
    await served.report(task, "failed", error="the control plane refused the report: ...")
    assert (await served.news("T"))[0][0] == "task_failed"


async def test_an_attempt_that_is_over_is_refused(served: Served) -> None:
    task = await claimed_task(served, events=("coded",))
    await served.report(task, "failed", error="boom")
    await served.claim(by="other")
    await served.read_up("T")
    for kind, fields in (
        ("event", {"event": "checked", "payload": {"approved": True}}),
        ("failed", {"error": "boom"}),
        ("waiting", {"supervisor": BOX}),
    ):
        assert (await report(served, task, kind, attempt=1, **fields)).refusal == OVER
    note = await served.post(f"/tasks/{task}/note", {"text": "x", "attempt": 1})
    memory = await served.api.put(f"/tasks/{task}/memory", {"key": "k", "value": 1, "attempt": 1})
    assert note.refusal == memory.refusal == OVER
    assert await served.news("T") == []
    assert await served.beat(task, by="other") == []


async def test_a_task_that_is_not_held_is_refused(served: Served) -> None:
    await served.start("T")
    task = await served.task("T")
    await served.read_up("T")
    failure: dict[str, Any] = {"error": "boom"}
    # It is queued: nobody works on it.
    assert (await report(served, task, "failed", **failure)).refusal == NOT_HELD
    assert (await served.post(f"/tasks/{task}/note", {"text": "x"})).refusal == NOT_HELD
    assert await served.news("T") == []
    # It is another's, or is not on that attempt yet.
    await served.claim(by="other")
    await served.read_up("T")
    assert (await report(served, task, "failed", supervisor=BOX, **failure)).refusal == NOT_HELD
    assert (await report(served, task, "failed", attempt=2, **failure)).refusal == NOT_HELD
    assert await served.news("T") == []
    # Its token was cancelled.
    await served.steer("T", "cancel")
    assert await served.news("T") == [task_cancelled(task), CANCELLED]
    late = await report(served, task, "failed", supervisor="other", **failure)
    assert late.refusal == NOT_HELD
    assert await served.news("T") == []


async def test_a_task_of_a_child_that_was_cancelled_is_not_held(served: Served) -> None:
    await served.start("T", size=0)
    scan = (await served.claim("security/scan"))["task"]
    await served.fire("T", "leave")
    await served.read_up(*FAMILY)
    reply = await report(served, scan, event="scanned", payload={"approved": True}, attempt=1)
    assert reply.refusal == NOT_HELD
    assert [await served.news(token) for token in FAMILY] == [[], [], [], []]
    assert await served.status(FAMILY[1]) == "cancelled"


async def test_a_task_that_nobody_has_is_not_found(served: Served) -> None:
    task = await claimed_task(served)
    for unknown in (0, task + 1000, 2**63 - 1, 2**70):
        assert (await report(served, unknown, event="coded")).refusal == NO_TASK
        assert (await served.post(f"/tasks/{unknown}/note", {"text": "x"})).refusal == NO_TASK
        memory = await served.api.put(f"/tasks/{unknown}/memory", {"key": "k", "value": 1})
        assert memory.refusal == NO_TASK
    assert await served.news("T") == []


async def test_a_bad_context_change_is_refused(served: Served) -> None:
    task = await claimed_task(served)
    for kind, more in (("event", {"event": "coded"}), ("waiting", {"supervisor": BOX})):
        for context in ({"title": 1}, {"title": None}, {"tags": None}, {"x": "a\0b"}):
            reply = await report(served, task, kind, context=context, **more)
            assert reply.refusal == (422, "invalid_context")
    assert await served.news("T") == []
    assert (await served.token("T"))["context"] == FILLED
    assert await served.beat(task) == []


async def test_a_bad_payload_or_timer_is_refused(served: Served) -> None:
    task = await claimed_task(served)
    timer: Json = {"event": "coded", "after": "1m"}
    faults: list[Json] = [
        {"event": "coded", "payload": {"more": 1}},
        {"event": "torn"},
        {"event": "torn", "payload": {"approved": 1}},
        {"event": "coded", "schedules": [{**timer, "event": "timeout"}]},
        {"event": "coded", "schedules": [{**timer, "event": "nobody-knows"}]},
        {"event": "coded", "schedules": [{**timer, "payload": {"more": 1}}]},
        {"event": "coded", "schedules": [timer, {**timer, "event": "torn"}]},
    ]
    for bad in faults:
        assert (await report(served, task, **bad, context={"size": 1})).refusal == BAD_PAYLOAD
    assert await served.news("T") == []
    assert (await served.token("T"))["context"] == FILLED
    assert await served.beat(task) == []


async def test_a_bad_body_is_refused(served: Served) -> None:
    task = await claimed_task(served)
    timer: dict[str, Any] = {"event": "coded", "after": "1m"}
    good: dict[str, Any] = {"kind": "event", "event": "coded"}
    faults: list[tuple[Json, tuple[int, str]]] = [
        ({"supervisor": ""}, (422, "invalid_argument")),
        ({"supervisor": "b" * 257}, (422, "invalid_argument")),
        ({"kind": None}, BODY),
        ({"kind": "done"}, BODY),
        ({"event": None}, BODY),
        ({"kind": "failed"}, BODY),
        ({"payload": []}, BODY),
        ({"context": []}, BODY),
        ({"attempt": 0}, BODY),
        ({"attempt": 1.0}, BODY),
        ({"schedules": None}, BODY),
        ({"schedules": [{**timer, "after": "0s"}]}, BODY),
        ({"schedules": [{**timer, "after": "3651d"}]}, BODY),
        ({"schedules": [{**timer, "after": 60}]}, BODY),
        ({"schedules": [{"after": "1m"}]}, BODY),
    ]
    for bad, refusal in faults:
        assert (await served.post(f"/tasks/{task}/report", {**good, **bad})).refusal == refusal
    assert await served.news("T") == []
    assert await served.beat(task) == []
