"""A routine's steps over HTTP: checked in order, answered alike when they come again, shown to later attempts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.caller import Reply
from tests.cards.graphs import FILLED, SDLC
from tests.cards.reports import claimed_task, report
from tests.cards.served import BOX, Served
from tests.databases import Database
from tests.store.opened import raw

GRAPH = SDLC
BIGGEST = 2**63
DEADLINES = "select status from timers where kind = 'deadline'"


async def step(served: Served, task: int, name: str = "charge", **fields: Any) -> Reply:
    body = {"attempt": 1, "revision": 0, "name": name, "kind": "step", **fields}
    return await served.post(f"/tasks/{task}/steps", body)


async def opened(served: Served, task: int, name: str = "label", **fields: Any) -> str:
    reply = await step(served, task, name, kind="response", **fields)
    assert reply.status == 200, reply.json
    return reply.json["correlation"]


async def respond(served: Served, correlation: str, **fields: Any) -> Reply:
    return await served.post(f"/responses/{correlation}", {"status": "completed", **fields})


async def await_label(served: Served, **fields: Any) -> tuple[int, str]:
    """A task that waits for the step `label`, and the correlation of its response."""
    task = await claimed_task(served)
    correlation = await opened(served, task, **fields)
    reply = await report(served, task, "waiting", supervisor=BOX, awaiting=["label"])
    assert reply.status == 200, reply.json
    await served.read_up("T")
    return task, correlation


async def flow(served: Served) -> dict[str, Any]:
    reply = await served.api.get("/tokens/T/flow")
    assert reply.status == 200, reply.json
    return reply.json


def said(reply: Reply) -> tuple[int, str]:
    return reply.status, reply.json["code"]


async def test_steps_are_kept_and_the_next_attempt_is_told(served: Served) -> None:
    task = await claimed_task(served)
    results: list[Any] = [None, 0, False, "", [], {"a": 1.0, "b": 2**70}]
    for revision, result in enumerate(results):
        reply = await step(served, task, f"s{revision}", revision=revision, result=result)
        assert (reply.status, reply.json) == (200, {"revision": revision + 1})
    faulted = await step(served, task, "x", revision=6, faulted=True, message="no \0 ink")
    assert faulted.json == {"revision": 7}
    assert await served.news("T") == [
        *(("step_done", {"task": task, "step": f"s{n}"}) for n in range(6)),
        ("step_faulted", {"task": task, "step": "x", "message": "no \ufffd ink"}),
    ]
    await served.post("/tasks/release", {"supervisor": BOX, "tasks": [task]})
    told = (await served.claim())["flow"]
    assert told["revision"] == 7
    assert list(told["steps"]) == ["s0", "s1", "s2", "s3", "s4", "s5", "x"]
    assert [told["steps"][f"s{n}"] for n in range(6)] == [
        {"kind": "step", "status": "done", "result": result} for result in results
    ]
    assert told["steps"]["x"] == {"kind": "step", "status": "faulted", "message": "no \ufffd ink"}


async def test_a_step_is_checked_in_order(served: Served) -> None:
    task = await claimed_task(served)
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"supervisor": ""}, "invalid_argument"),
        ({"attempt": None}, "invalid_argument"),
        ({"attempt": 0}, "invalid_argument"),
        ({"attempt": BIGGEST}, "invalid_argument"),
        ({"revision": None}, "invalid_argument"),
        ({"revision": -1}, "invalid_argument"),
        ({"revision": 0.0}, "invalid_argument"),
        ({"revision": BIGGEST}, "invalid_argument"),
        ({"name": ""}, "invalid_argument"),
        ({"name": 7}, "invalid_argument"),
        ({"name": "x" * 129}, "invalid_argument"),
        ({"name": "a\0"}, "invalid_argument"),
        ({"kind": "child"}, "invalid_body"),
        ({"kind": "child", "workflow": 7}, "invalid_body"),
        ({"kind": "child", "workflow": "a", "faulted": True}, "invalid_body"),
        ({"kind": "child", "workflow": "a", "result": 1}, "invalid_body"),
        ({"kind": "child", "workflow": "a", "fail_on_failure": 1}, "invalid_body"),
        ({"kind": "child", "workflow": "a\0"}, "invalid_body"),
        ({"kind": "child", "workflow": "a", "input": []}, "invalid_context"),
        ({"kind": "child", "workflow": "a", "input": {"a": "\0"}}, "invalid_context"),
        ({"kind": "child", "workflow": "a", "id": 7}, "invalid_token_id"),
        ({"kind": "child", "workflow": "a", "id": "a b"}, "invalid_token_id"),
        ({"kind": None}, "invalid_body"),
        ({"faulted": 1}, "invalid_body"),
        ({"message": 1}, "invalid_body"),
        ({"timeout": "soon"}, "invalid_body"),
        ({"on_lost": "cry"}, "invalid_body"),
        ({"faulted": True, "result": 1}, "invalid_body"),
        ({"kind": "response", "result": 1}, "invalid_body"),
        ({"result": ["\0"]}, "invalid_payload"),
    )
    for fields, code in wrong:
        assert said(await step(served, task, **{"name": "charge", **fields})) == (422, code), fields
    assert said(await step(served, 999)) == (404, "task_not_found")
    assert said(await step(served, task, attempt=2)) == (409, "task_not_held")
    assert said(await step(served, task, supervisor="other")) == (409, "task_not_held")
    assert said(await step(served, task, revision=1)) == (409, "stale_revision")
    assert await served.news("T") == []
    assert (await step(served, task, supervisor=BOX)).status == 200
    assert said(await step(served, task, revision=1)) == (409, "step_done_already")
    await served.post("/tasks/release", {"supervisor": BOX, "tasks": [task]})
    assert said(await step(served, task, revision=1)) == (409, "task_not_held")
    await served.claim()
    assert said(await step(served, task, revision=1)) == (409, "attempt_over")


async def test_only_the_last_step_is_answered_again(served: Served) -> None:
    task = await claimed_task(served)
    assert (await step(served, task, "a", result=1)).json == {"revision": 1}
    assert (await step(served, task, "a", result=2)).json == {"revision": 1}
    assert (await step(served, task, "b", revision=1)).json == {"revision": 2}
    await served.read_up("T")
    assert (await step(served, task, "b", revision=1)).json == {"revision": 2}
    assert said(await step(served, task, "a")) == (409, "stale_revision")
    assert said(await step(served, task, "b", revision=1, faulted=True)) == (409, "stale_revision")
    assert said(await step(served, task, "c", revision=1)) == (409, "stale_revision")
    assert await served.news("T") == []
    assert (await flow(served))["steps"]["a"]["resultJson"] == "1"


async def test_a_response_is_awaited_and_the_task_goes_on_with_it(
    served: Served, database: Database
) -> None:
    task = await claimed_task(served)
    correlation = await opened(served, task, timeout="2h")
    assert len(correlation) == 32
    assert int(correlation, 16) >= 0
    assert await opened(served, task, timeout="2h") == correlation
    assert said(await step(served, task, "other", revision=1)) == (409, "step_open")
    again = await step(served, task, "label", kind="response", revision=1)
    assert said(again) == (409, "step_open")
    due_at = "2026-01-02T05:04:05.678901Z"
    assert await served.news("T") == [
        (
            "response_awaited",
            {"task": task, "step": "label", "correlation": correlation, "due_at": due_at},
        )
    ]
    await report(served, task, "waiting", supervisor=BOX, awaiting=["label"])
    assert await served.claim() is None
    reply = await respond(served, correlation, status="progress", message="printing", payload=9)
    assert reply.json == {"token": "T", "state": "coding", "step": "label", "duplicate": False}
    shown = (await flow(served))["steps"]["label"]
    assert (shown["message"], shown["pendingCorrelationId"]) == ("printing", correlation)
    reply = await respond(served, correlation, payload={"url": "u"})
    assert (reply.status, reply.json["duplicate"]) == (200, False)
    assert await served.news("T") == [
        (
            "task_waiting",
            {"task": task, "awaiting": ["label"], "step": "label", "kind": "response"},
        ),
        ("response_received", {"task": task, "step": "label", "status": "completed"}),
        ("task_resumed", {"task": task}),
    ]
    grant = await served.claim()
    assert (grant["task"], grant["attempt"]) == (task, 2)
    assert grant["flow"] == {
        "revision": 2,
        "steps": {
            "label": {
                "kind": "response",
                "status": "done",
                "result": {"url": "u"},
                "message": "printing",
            }
        },
    }
    await served.read_up("T")
    for status in ("completed", "failed", "progress"):
        reply = await respond(served, correlation, status=status, payload=2)
        assert (reply.status, reply.json["duplicate"]) == (200, True)
    assert await served.news("T") == []
    # Its deadline went with it.
    assert await raw(database, DEADLINES) == [("cancelled",)]
    await served.pass_by(hours=2)
    assert (await flow(served))["steps"]["label"]["completed"]


async def test_who_is_not_awaited_is_told_so(served: Served) -> None:
    task, correlation = await await_label(served)
    for odd in ("0" * 32, "x" * 500, "a%00b", correlation.upper() + "f"):
        assert said(await respond(served, odd)) == (404, "response_not_awaited")
    for fields, code in (
        ({"status": None}, "invalid_body"),
        ({"status": "done"}, "invalid_body"),
        ({"message": 1}, "invalid_body"),
        ({"payload": "\0"}, "invalid_payload"),
    ):
        assert said(await respond(served, correlation, **fields)) == (422, code)
    await report(served, task, event="coded")
    await served.read_up("T")
    assert said(await respond(served, correlation)) == (404, "response_not_awaited")
    assert await served.news("T") == []


async def test_an_answer_that_comes_before_the_report_is_not_lost(served: Served) -> None:
    task = await claimed_task(served)
    correlation = await opened(served, task)
    await respond(served, correlation, payload=1)
    await report(served, task, "waiting", supervisor=BOX, awaiting=["label"])
    assert (await served.claim())["flow"]["steps"]["label"]["result"] == 1
    assert await served.status("T") == "active"


async def test_a_failed_response_faults_the_step_and_it_is_begun_afresh(served: Served) -> None:
    task, correlation = await await_label(served)
    await respond(served, correlation, status="failed", message="no paper")
    assert await served.news("T") == [
        (
            "response_received",
            {"task": task, "step": "label", "status": "failed", "message": "no paper"},
        ),
        ("task_resumed", {"task": task}),
    ]
    grant = await served.claim()
    assert grant["flow"]["steps"]["label"]["status"] == "faulted"
    other = await opened(served, task, attempt=2, revision=2)
    assert other != correlation
    assert (await respond(served, correlation)).json["duplicate"]
    assert (await respond(served, other)).json["duplicate"] is False


async def test_a_deadline_faults_the_step_and_queues_its_task(served: Served) -> None:
    task, correlation = await await_label(served, timeout="2h")
    await served.pass_by(hours=2)
    assert await served.news("T") == [
        (
            "step_faulted",
            {"task": task, "step": "label", "message": "no response came within 2h"},
        ),
        ("task_resumed", {"task": task}),
    ]
    assert said(await respond(served, correlation)) == (404, "response_not_awaited")
    assert (await flow(served))["lastMessage"] == "no response came within 2h"


async def test_a_response_that_cannot_be_asked_for_is_faulted_by_its_routine(
    served: Served,
) -> None:
    task = await claimed_task(served)
    correlation = await opened(served, task, timeout="1h")
    reply = await step(
        served, task, "label", kind="response", revision=1, faulted=True, message="no line"
    )
    assert reply.json == {"revision": 2}
    assert said(await respond(served, correlation)) == (404, "response_not_awaited")
    await served.read_up("T")
    await served.pass_by(hours=1)
    assert "step_faulted" not in [kind for kind, _ in await served.news("T")]


@pytest.mark.parametrize("ends_with", ["response", "deadline"])
async def test_a_pause_holds_the_task_and_not_the_answer(served: Served, ends_with: str) -> None:
    task, correlation = await await_label(served, timeout="2h")
    await served.pass_by(hours=1)
    await served.steer("T", "pause")
    await served.pass_by(hours=8)
    if ends_with == "response":
        assert (await respond(served, correlation, payload=1)).status == 200
        assert (await flow(served))["statusName"] == "Suspended"
    assert await served.claim() is None
    await served.read_up("T")
    await served.steer("T", "resume")
    if ends_with == "deadline":
        await served.pass_by(minutes=59)
        assert await served.claim() is None
        await served.pass_by(minutes=1)
    assert [kind for kind, _ in await served.news("T")][-1] == "task_resumed"
    assert (await served.claim())["task"] == task


async def test_a_waiting_report_names_steps_that_are_there(served: Served) -> None:
    task = await claimed_task(served)
    for awaiting, code in (
        (["label"], "invalid_payload"),
        ("label", "invalid_body"),
        ([7], "invalid_body"),
        ([""], "invalid_body"),
        (["x"] * 1001, "invalid_body"),
    ):
        reply = await report(served, task, "waiting", supervisor=BOX, awaiting=awaiting)
        assert said(reply) == (422, code)
    assert await served.news("T") == []


async def test_someone_outside_may_end_a_task_that_waits_for_a_step(
    served: Served, database: Database
) -> None:
    task, correlation = await await_label(served, timeout="2h")
    assert (await report(served, task, event="coded")).status == 200
    assert (await served.token("T"))["state"] == "testing"
    assert await raw(database, DEADLINES) == [("cancelled",)]
    await served.pass_by(hours=2)
    assert said(await respond(served, correlation)) == (404, "response_not_awaited")


async def test_a_final_failure_uses_no_retries(served: Served) -> None:
    await served.start("T")
    await served.report((await served.claim())["task"], event="coded")
    task = (await served.claim())["task"]
    await served.read_up("T")
    assert said(await report(served, task, "failed", error="e", final=1)) == (422, "invalid_body")
    reply = await report(served, task, "failed", error="stolen card", final=True)
    assert reply.json["state"] == "triage"
    assert (await served.news("T"))[:3] == [
        ("flow_failed", {"task": task, "error": "stolen card"}),
        ("task_failed", {"task": task, "error": "stolen card"}),
        ("event_accepted", {"event": "error", "payload": None, "state": "testing"}),
    ]


async def test_a_retry_keeps_steps_and_deadline(served: Served) -> None:
    await served.start("T")
    await served.report((await served.claim())["task"], event="coded")
    task = (await served.claim())["task"]
    correlation = await opened(served, task, timeout="1h")
    await report(served, task, "failed", error="e")
    grant = await served.claim()
    assert grant["flow"]["steps"]["label"] == {
        "kind": "response",
        "status": "open",
        "correlation": correlation,
    }
    await served.wait(task, awaiting=["label"])
    await served.pass_by(hours=1)
    assert (await flow(served))["steps"]["label"]["faulted"]
    assert (await served.claim())["attempt"] == 3


@pytest.mark.parametrize("on_lost", [None, "resume", "fail", "keep"])
async def test_an_answer_for_a_run_that_is_gone(served: Served, on_lost: str | None) -> None:
    task = await claimed_task(served)
    correlation = await opened(served, task, on_lost=on_lost)
    await served.post("/tasks/release", {"supervisor": BOX, "tasks": [task]})
    await served.read_up("T")
    await respond(served, correlation, payload=1)
    received = ("response_received", {"task": task, "step": "label", "status": "completed"})
    if on_lost == "fail":
        kinds = [kind for kind, _ in await served.news("T")]
        assert kinds == ["response_received", "flow_failed", "task_failed", "failed"]
        assert (await flow(served))["statusName"] == "Failed"
        return
    assert await served.news("T") == [received]
    assert (await served.claim())["flow"]["steps"]["label"]["result"] == 1


@pytest.mark.parametrize("on_lost", ["resume", "fail", "keep"])
async def test_an_answer_for_a_task_that_waits_for_someone_else(
    served: Served, on_lost: str
) -> None:
    task = await claimed_task(served)
    correlation = await opened(served, task, on_lost=on_lost)
    await served.wait(task)
    await served.read_up("T")
    await respond(served, correlation)
    kinds = [kind for kind, _ in await served.news("T")]
    more = {
        "resume": ["task_resumed"],
        "keep": [],
        "fail": ["flow_failed", "task_failed", "failed"],
    }
    assert kinds == ["response_received", *more[on_lost]]


async def test_a_flow_is_shown_with_the_names_of_its_form(served: Served) -> None:
    assert said(await served.api.get("/tokens/T/flow")) == (404, "token_not_found")
    token = await served.start("T")
    entered_at = (await served.token("T"))["entered_at"]
    empty: dict[str, Any] = {
        "schemaVersion": 1,
        "revision": 0,
        "flowId": "T",
        "flowTypeName": "sdlc/coding",
        "inputTypeName": "Ticket",
        "inputJson": '{"title":"a","tags":[]}',
        "status": 0,
        "statusName": "Running",
        "lastMessage": None,
        "createdAtUtc": entered_at,
        "updatedAtUtc": entered_at,
        "attempts": 0,
        "steps": {},
        "values": {},
        "parentFlowId": None,
        "parentStepName": None,
        "context": None,
    }
    assert await flow(served) == empty
    assert token["context"] == FILLED
    task = (await served.claim())["task"]
    await served.remember(task, "k", [1])
    await served.post(f"/tasks/{task}/note", {"text": "half done"})
    served.clock.forward(minutes=1)
    await step(served, task, "charge", result="x", message="charged")
    correlation = await opened(served, task, revision=1)
    await served.wait(task, context={"size": 3})
    at = "2026-01-02T03:05:05.678901Z"
    assert await flow(served) == {
        **empty,
        "revision": 2,
        "lastMessage": "charged",
        "updatedAtUtc": at,
        "attempts": 1,
        "values": {"k": "[1]"},
        "steps": {
            "charge": {
                "completed": True,
                "resultJson": '"x"',
                "pendingCorrelationId": None,
                "faulted": False,
                "message": "charged",
                "childFlowId": None,
                "completedAtUtc": at,
            },
            "label": {
                "completed": False,
                "resultJson": None,
                "pendingCorrelationId": correlation,
                "faulted": False,
                "message": None,
                "childFlowId": None,
                "completedAtUtc": None,
            },
        },
    }
    await served.post(f"/tasks/{task}/note", {"text": "later"})
    assert (await flow(served))["lastMessage"] == "later"
    await report(served, task, event="split")
    assert said(await served.api.get("/tokens/T/flow")) == (404, "flow_not_found")


async def test_a_context_that_changes_before_the_first_step_is_kept_as_it_was(
    served: Served,
) -> None:
    task = await claimed_task(served)
    await served.wait(task, context={"size": 3})
    shown = await flow(served)
    assert (shown["revision"], shown["inputJson"]) == (0, '{"title":"a","tags":[]}')
    await report(served, task, event="coded")
    assert (await flow(served))["flowTypeName"] == "sdlc/testing"


async def test_what_another_version_wrote_is_refused_and_not_touched(
    served: Served, database: Database
) -> None:
    task, correlation = await await_label(served)
    await respond(served, correlation)
    await raw(database, "update flows set schema_version = 2")
    grant = await served.claim()
    assert grant["flow"] == {"unreadable": True, "schemaVersion": 2}
    unreadable = (409, "flow_unreadable")
    assert said(await step(served, task, "x", attempt=2, revision=2)) == unreadable
    assert said(await respond(served, correlation)) == unreadable
    assert said(await served.api.get("/tokens/T/flow")) == unreadable
    reply = await report(served, task, "waiting", supervisor=BOX, awaiting=["label"])
    assert said(reply) == unreadable
    assert await raw(database, "select schema_version, revision from flows") == [(2, 2)]
