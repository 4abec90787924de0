"""Everything that reporting an outcome can come to (docs/http.md, docs/ledger.md)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cards.entries import (
    COMPLETED,
    Entry,
    accepted,
    branch,
    changed,
    claimed,
    deferred,
    done,
    entered,
    failed,
    queued,
    retrying,
    task_cancelled,
    task_failed,
    timer_fired,
    timer_set,
    waiting,
)
from tests.cards.graphs import FAMILY, FILLED, SDLC, sdlc
from tests.cards.reports import claimed_task, report
from tests.cards.served import BOX, Served

GRAPH = SDLC
NOT_HELD = (409, "task_not_held")


BAD_PAYLOAD = (422, "invalid_payload")
BODY = (422, "invalid_body")


async def test_an_event_ends_the_task_and_moves_the_token(served: Served) -> None:
    task = await claimed_task(served)
    served.clock.forward(minutes=1)
    reply = await report(served, task, event="coded", attempt=1, supervisor=BOX)
    assert (reply.status, reply.json) == (200, served.answer("T", "testing"))
    testing = await served.task("T")
    assert await served.news("T") == [
        accepted("coded", "coding"),
        done(task),
        entered("testing"),
        queued(testing, "testing"),
        timer_set("timeout", served.at(hours=2)),
    ]
    # The task is over, for its supervisor and for everybody.
    assert (await report(served, task, event="coded", attempt=1)).refusal == NOT_HELD
    assert await served.beat(task) == [task]
    assert await served.news("T") == []
    assert (await served.claim())["task"] == testing


async def test_an_event_to_the_end_completes_the_token(served: Served) -> None:
    task = await claimed_task(served, events=("coded",))
    entered_at = served.at()
    served.clock.forward(minutes=1)
    payload = {"approved": True, "note": "fine"}
    reply = await report(served, task, event="checked", payload=payload)
    ended = served.answer("T", "testing", status="completed", entered_at=entered_at)
    assert (reply.status, reply.json) == (200, ended)
    assert await served.news("T") == [
        accepted("checked", "testing", payload),
        done(task),
        COMPLETED,
    ]
    assert await served.claim() is None


async def test_an_event_brings_context_changes_and_timers(served: Served) -> None:
    task = await claimed_task(served)
    schedules = [
        {"event": "sorted", "after": "1m"},
        {"event": "checked", "payload": {"approved": True}, "after": "2d"},
    ]
    changes = {"tags": ["x"], "more": None, "size": 2}
    # The guard reads the changed context.
    reply = await report(served, task, event="stuck", context=changes, schedules=schedules)
    context = {**FILLED, **changes}
    assert (reply.status, reply.json) == (200, served.answer("T", "triage", context=context))
    triage = await served.task("T")
    assert await served.news("T") == [
        changed(**changes),
        timer_set("sorted", served.at(minutes=1)),
        timer_set("checked", served.at(days=2)),
        accepted("stuck", "coding"),
        done(task),
        entered("triage"),
        queued(triage, "triage"),
    ]
    # The timers were set in the state that is left, and cancelled as it was left.
    await served.pass_by(days=3)
    assert await served.news("T") == []
    assert (await served.claim())["context"] == context


async def test_an_event_into_a_parallel_state_starts_children_with_the_changed_context(
    served: Served,
) -> None:
    task = await claimed_task(served)
    reply = await report(served, task, event="split", context={"title": "b"})
    context = {**FILLED, "title": "b"}
    assert (reply.status, reply.json) == (200, served.answer("T", "reviews", context=context))
    assert await served.news("T") == [
        changed(title="b"),
        accepted("split", "coding"),
        done(task),
        entered("reviews"),
        branch("security", FAMILY[1]),
        branch("outer", FAMILY[2]),
    ]
    assert (await served.claim("security/scan"))["context"] == {"title": "b", "level": 3}


async def test_two_guards_that_match_save_the_changes_and_fail_the_token(served: Served) -> None:
    task = await claimed_task(served)
    reply = await report(
        served,
        task,
        event="torn",
        payload={"approved": True, "note": "both"},
        context={"size": 1},
        schedules=[{"event": "coded", "after": "1m"}],
    )
    ended = served.answer("T", "coding", status="failed", context={**FILLED, "size": 1})
    assert (reply.status, reply.json) == (200, ended)
    assert await served.news("T") == [
        changed(size=1),
        timer_set("coded", served.at(minutes=1)),
        task_cancelled(task),
        failed(
            "'torn' in 'coding' matched more than one guard: payload.approved (to testing), "
            "payload.note == 'both' (to triage)"
        ),
    ]
    await served.pass_by(minutes=1)
    assert await served.news("T") == []


async def test_an_event_of_a_paused_token_is_held_with_all_that_it_brings(served: Served) -> None:
    task = await claimed_task(served)
    await served.steer("T", "pause")
    paused = await served.token("T")
    await served.read_up("T")
    schedules = [{"event": "coded", "after": "1m"}]
    reply = await report(served, task, event="stuck", context={"size": 2}, schedules=schedules)
    assert (reply.status, reply.json) == (200, paused)
    assert await served.news("T") == [
        deferred(
            "stuck",
            1,
            state="coding",
            visit=1,
            task=task,
            context={"size": 2},
            schedules=[{"event": "coded", "payload": None, "after": "1m"}],
        ),
        done(task),
    ]
    # The task is over, whatever becomes of its outcome.
    assert (await report(served, task, event="stuck")).refusal == NOT_HELD
    assert await served.beat(task) == [task]
    assert await served.token("T") == paused


async def test_someone_outside_reports_the_event_of_a_waiting_task(served: Served) -> None:
    task = await claimed_task(served)
    await served.wait(task)
    await served.read_up("T")
    # The supervisor does not hold it any more.
    mine = await report(served, task, event="coded", supervisor=BOX)
    assert mine.refusal == NOT_HELD
    reply = await report(served, task, event="coded")
    assert (reply.status, reply.json) == (200, served.answer("T", "testing"))
    assert (await served.news("T"))[:3] == [
        accepted("coded", "coding"),
        done(task),
        entered("testing"),
    ]


async def test_waiting_saves_the_changes_and_the_timers_at_once(served: Served) -> None:
    task = await claimed_task(served)
    schedules = [{"event": "torn", "payload": {"approved": True}, "after": "30m"}]
    reply = await report(
        served, task, "waiting", supervisor=BOX, context={"tags": []}, schedules=schedules
    )
    assert (reply.status, reply.json) == (200, served.answer("T", "coding"))
    # Changed is what was written, though it is what it was.
    assert await served.news("T") == [
        changed(tags=[]),
        timer_set("torn", served.at(minutes=30)),
        waiting(task),
    ]
    # It has no lease, and nobody gets it.
    await served.pass_by(minutes=29)
    assert await served.news("T") == []
    assert await served.claim() is None
    assert await served.beat(task) == [task]
    await served.pass_by(minutes=1)
    assert (await served.news("T"))[:3] == [
        timer_fired("torn"),
        accepted("torn", "coding", {"approved": True}),
        done(task),
    ]


async def test_waiting_with_nothing_to_save_writes_one_entry(served: Served) -> None:
    task = await claimed_task(served)
    # Nobody but the supervisor that holds it may say so.
    for fields in ({}, {"supervisor": "other"}):
        assert (await report(served, task, "waiting", **fields)).refusal == NOT_HELD
    assert await served.news("T") == []
    await served.wait(task, context={}, schedules=[])
    assert await served.news("T") == [waiting(task)]
    # It waits: it cannot begin to wait.
    assert (await report(served, task, "waiting", supervisor=BOX)).refusal == NOT_HELD
    assert await served.news("T") == []


async def test_a_failure_with_retries_left_queues_the_task_again(served: Served) -> None:
    task = await claimed_task(served, events=("coded",))
    token = await served.token("T")
    served.clock.forward(minutes=1)
    # What else it brings is ignored.
    reply = await report(served, task, "failed", error="boom", context={"size": 9}, event="checked")
    assert (reply.status, reply.json) == (200, token)
    assert await served.news("T") == [task_failed(task, "boom"), retrying(task, 2)]
    grant = await served.claim()
    assert (grant["task"], grant["attempt"], grant["context"]) == (task, 2, FILLED)
    assert await served.news("T") == [claimed(task, 2)]


async def test_a_failure_without_a_sentence_gets_one(served: Served) -> None:
    task = await claimed_task(served, events=("coded",))
    await served.report(task, "failed", error="")
    assert await served.news("T") == [
        task_failed(task, "the routine failed and said nothing"),
        retrying(task, 2),
    ]


async def test_a_retry_cancels_the_routines_timers_and_keeps_the_timeout(served: Served) -> None:
    task = await claimed_task(served, events=("coded",))
    schedules = [{"event": "checked", "payload": {"approved": True}, "after": "1h"}]
    await served.wait(task, schedules=schedules)
    await served.read_up("T")
    served.clock.forward(minutes=30)
    await served.report(task, "failed", error="boom")
    assert await served.news("T") == [task_failed(task, "boom"), retrying(task, 2)]
    await served.pass_by(minutes=89, seconds=59)
    assert await served.news("T") == []
    await served.pass_by(seconds=1)
    # Two hours after the state was entered, not after the task was queued again.
    assert (await served.news("T"))[:3] == [
        timer_fired("timeout"),
        accepted("timeout", "testing"),
        task_cancelled(task),
    ]


async def test_the_last_failure_moves_the_token_on_error(served: Served) -> None:
    task = await claimed_task(served, events=("coded",))
    await served.report(task, "failed", error="boom")
    assert (await served.claim())["task"] == task
    await served.read_up("T")
    reply = await report(served, task, "failed", error="boom again", attempt=2)
    assert (reply.status, reply.json) == (200, served.answer("T", "triage"))
    # The task has failed: it is neither done nor cancelled.
    assert await served.news("T") == [
        task_failed(task, "boom again"),
        accepted("error", "testing"),
        entered("triage"),
        queued(await served.task("T"), "triage"),
    ]
    assert (await served.claim())["entered_by"] == {"name": "error"}
    assert (await report(served, task, "failed", error="x", attempt=2)).refusal == NOT_HELD


async def test_the_last_failure_without_a_transition_on_error_fails_the_token(
    served: Served,
) -> None:
    task = await claimed_task(served)
    reply = await report(served, task, "failed", error="boom")
    assert (reply.status, reply.json) == (200, served.answer("T", "coding", status="failed"))
    reason = "'coding' failed, and has no transition on 'error': boom"
    assert await served.news("T") == [task_failed(task, "boom"), failed(reason)]


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (
            sdlc(
                more=(
                    {"from": "coding", "to": "triage", "on": "error", "when": "ctx['size'] == 1"},
                )
            ),
            "'coding' failed, and 'error' cannot move it: no guard of 'coding' on 'error' holds",
        ),
        (
            sdlc(
                more=(
                    {
                        "from": "coding",
                        "to": "triage",
                        "on": "error",
                        "when": "ctx['title'] == 'a'",
                    },
                    {"from": "coding", "to": "testing", "on": "error", "when": "ctx['tags'] == []"},
                )
            ),
            (
                "'error' in 'coding' matched more than one guard: ctx['title'] == 'a' (to triage), "
                "ctx['tags'] == [] (to testing)"
            ),
        ),
    ],
    ids=["no guard holds", "two guards hold"],
)
async def test_the_last_failure_that_error_cannot_take_further_fails_the_token(
    served: Served, reason: str
) -> None:
    task = await claimed_task(served)
    reply = await report(served, task, "failed", error="boom")
    assert (reply.status, reply.json["status"]) == (200, "failed")
    assert await served.news("T") == [task_failed(task, "boom"), failed(reason)]


async def test_a_failed_child_fails_its_token_and_meets_the_join(served: Served) -> None:
    await served.start("T", size=0)
    scan = (await served.claim("security/scan"))["task"]
    await served.read_up(*FAMILY)
    reply = await report(served, scan, "failed", error="boom")
    child = {"parent": "T", "context": {"title": "a", "level": 3}}
    assert (reply.status, reply.json) == (
        200,
        served.answer(FAMILY[1], "scan", status="failed", **child),
    )
    assert await served.news(FAMILY[1]) == [
        task_failed(scan, "boom"),
        failed("'scan' failed, and has no transition on 'error': boom"),
    ]
    assert await served.news("T") == []
    read = (await served.claim("style/read"))["task"]
    await served.report(read, event="liked")
    assert (await served.state("T")) == ("testing", 1)


async def test_a_note_is_recorded(served: Served) -> None:
    task = await claimed_task(served)
    note = await served.post(f"/tasks/{task}/note", {"text": "  half way ", "attempt": 1})
    assert (note.status, note.body) == (204, b"")
    assert await served.news("T") == [("note", {"task": task, "text": "half way"})]
    # A waiting task and a paused token are written of, too.
    await served.wait(task)
    await served.steer("T", "pause")
    await served.read_up("T")
    assert (await served.post(f"/tasks/{task}/note", {"text": "n" * 500})).status == 204
    assert await served.news("T") == [("note", {"task": task, "text": "n" * 500})]
    for text in ("", "  ", "n" * 501, None, 1, "a\0b"):
        assert (await served.post(f"/tasks/{task}/note", {"text": text})).refusal == BAD_PAYLOAD
    assert await served.news("T") == []


async def test_a_memory_write_is_recorded_without_its_value(served: Served) -> None:
    task = await claimed_task(served, events=("coded",))
    path = f"/tasks/{task}/memory"
    written: list[tuple[str, Any, list[Entry]]] = [
        ("k", {"secret": 1.0}, [("memory_set", {"state": "testing", "memory_key": "k"})]),
        ("gone", 1, [("memory_set", {"state": "testing", "memory_key": "gone"})]),
        ("gone", None, [("memory_deleted", {"state": "testing", "memory_key": "gone"})]),
        ("gone", None, []),
    ]
    for key, value, entries in written:
        reply = await served.api.put(path, {"key": key, "value": value, "attempt": 1})
        assert (reply.status, reply.body) == (204, b"")
        assert await served.news("T") == entries
    for body, refusal in (
        ({"key": "", "value": 1}, BAD_PAYLOAD),
        ({"key": "k" * 129, "value": 1}, BAD_PAYLOAD),
        ({"value": 1}, BAD_PAYLOAD),
        ({"key": "k", "value": "a\0b"}, BAD_PAYLOAD),
        ({"key": "k"}, BODY),
    ):
        assert (await served.api.put(path, body)).refusal == refusal
    assert await served.news("T") == []
    # The next attempt gets what is there.
    await served.report(task, "failed", error="boom")
    assert (await served.claim())["memory"] == {"k": {"secret": 1.0}}
    assert b"secret" not in (await served.api.get("/tokens/T/history")).body
