"""Odd input and odd moments of steps and responses: what cannot be kept is refused, nobody is left waiting."""

from __future__ import annotations

import pytest

from tests.cards.graphs import SDLC
from tests.cards.reports import claimed_task, report
from tests.cards.served import BOX, Served
from tests.cards.test_steps import await_label, flow, opened, respond, said, step
from tests.databases import Database
from tests.store.opened import raw

GRAPH = SDLC
STEP = b'{"attempt":1,"revision":0,"name":"a","kind":"step",'


@pytest.mark.parametrize(
    "name",
    ["𝄞" * 127, " ", "a/b?c=%2e", "__proto__", "'; drop table steps; --", "%s :name", "\x7f\n"],
)
async def test_any_text_is_a_name(served: Served, name: str) -> None:
    task = await claimed_task(served)
    await step(served, task, name, result=name)
    correlation = await opened(served, task, f"{name}2", revision=1, timeout="3650d")
    await respond(served, correlation, status="progress", message=name)
    reply = await report(served, task, "waiting", supervisor=BOX, awaiting=[f"{name}2", name])
    assert reply.status == 200
    await respond(served, correlation, payload={name: name})
    steps = (await served.claim())["flow"]["steps"]
    assert [steps[name]["result"], steps[f"{name}2"]["result"]] == [name, {name: name}]
    assert (await flow(served))["steps"][f"{name}2"]["message"] == name


async def test_what_is_no_step_is_refused_and_changes_nothing(served: Served) -> None:
    task = await claimed_task(served)
    for body in (
        STEP + b'"result":"\\ud800"}',
        STEP + b'"faulted":true,"message":"\\ud800"}',
        STEP.replace(b'"a"', b'"\\ud800"') + b'"result":1}',
        STEP + b'"result":1e400}',
        STEP + b'"result":NaN}',
        STEP + b'"result":' + b"[" * 3000 + b"]" * 3000 + b"}",
        STEP + b'"result":"' + b"x" * 2**20 + b'"}',
        STEP.replace(b'"step"', b'"response"') + b'"timeout":"0s"}',
        STEP.replace(b'"step"', b'"response"') + b'"timeout":"3651d"}',
        STEP.replace(b'"step"', b'["step"]') + b'"result":1}',
        b"[]",
        b"",
    ):
        reply = await served.api.post(f"/tasks/{task}/steps", body)
        assert reply.refusal[0] in (400, 413, 422), (body[:90], reply)
    for path in ("%ff", "%ed%a0%80", "%00", "x" * 5000, "%20", "null"):
        assert said(await respond(served, path)) == (404, "response_not_awaited")
    for awaiting in ("a", {"a": 1}, [None], [["a"]], ["\0"], ["a" * 129], ["a"] * 1001, ["nope"]):
        reply = await report(served, task, "waiting", supervisor=BOX, awaiting=awaiting)
        assert reply.status == 422
    assert await served.news("T") == []
    assert (await flow(served))["revision"] == 0


async def test_nobody_is_told_an_old_correlation_when_the_time_is_over_before_the_repeat(
    served: Served,
) -> None:
    """An answer that was lost is asked for again, after an outage that was longer than the timeout."""
    task = await claimed_task(served)
    first = await opened(served, task)
    await respond(served, first, status="failed")
    again = {"kind": "response", "revision": 2, "timeout": "1s"}
    second = (await step(served, task, "label", **again)).json["correlation"]
    await served.pass_by(seconds=2)
    assert (await step(served, task, "label", **again)).json == {"revision": 3}
    assert said(await respond(served, second)) == (404, "response_not_awaited")
    await report(served, task, "waiting", supervisor=BOX, awaiting=["label"])
    assert (await served.claim())["flow"]["steps"]["label"]["fault"] == "deadline"


async def test_a_deadline_of_a_flow_that_cannot_be_read_is_not_due_for_ever(
    served: Served, database: Database
) -> None:
    await await_label(served, timeout="1h")
    await raw(database, "update flows set schema_version = 2")
    await served.pass_by(hours=1)
    news = dict(await served.news("T"))
    assert list(news) == ["flow_failed", "task_failed", "failed"]
    assert "is kept in form 2" in news["task_failed"]["error"]
    assert await raw(database, "select schema_version, revision from flows") == [(2, 1)]
    assert await raw(database, "select 1 from timers where status = 'pending'") == []


@pytest.mark.parametrize("on_lost", ["resume", "fail", "keep"])
async def test_an_answer_in_a_pause_for_a_task_that_waits_for_someone_else(
    served: Served, on_lost: str
) -> None:
    task = await claimed_task(served)
    correlation = await opened(served, task, on_lost=on_lost)
    await served.wait(task)
    await served.steer("T", "pause")
    await respond(served, correlation)
    await served.read_up("T")
    await served.steer("T", "resume")
    kinds = [kind for kind, _ in await served.news("T")]
    after = {"resume": ["task_resumed"], "keep": [], "fail": ["event_dropped", "failed"]}
    assert kinds == ["resumed", *after[on_lost]]


@pytest.mark.parametrize("end", ["cancel", "fail", "report"])
async def test_who_answers_a_token_that_has_ended_is_told_so(served: Served, end: str) -> None:
    task, correlation = await await_label(served, timeout="1h")
    match end:
        case "cancel":
            await served.steer("T", "cancel")
        case "fail":
            await report(served, task, "failed", error="e")
        case _:
            await report(served, task, event="coded")
    await served.read_up("T")
    for status in ("progress", "completed", "failed"):
        refused = await respond(served, correlation, status=status)
        assert said(refused) == (404, "response_not_awaited")
    await served.pass_by(hours=1)
    assert [kind for kind, _ in await served.news("T")] == []


async def test_progress_after_the_end_of_a_step_changes_nothing(served: Served) -> None:
    _, correlation = await await_label(served)
    await respond(served, correlation, payload=1, message="there it is")
    before = await flow(served)
    for status in ("progress", "failed", "completed"):
        reply = await respond(served, correlation, status=status, payload=2, message="late")
        assert reply.json["duplicate"] is True
    assert await flow(served) == before


async def test_a_fault_behind_which_somebody_else_was_asked_is_told_for_good(
    served: Served,
) -> None:
    await served.start("T")
    await served.report((await served.claim())["task"], event="coded")
    task = (await served.claim())["task"]
    machine = await opened(served, task, "machine")
    await served.wait(task, awaiting=["machine"])
    await respond(served, machine, status="failed", message="no paper")
    await served.claim()
    person = await opened(served, task, "person", attempt=2, revision=2)
    await served.pass_by(minutes=3)
    for answered in (False, True):
        # Its supervisor is killed, and another one goes on.
        grant = await served.claim()
        assert grant["flow"]["steps"]["machine"]["fault"] == "failed"
        await served.wait(task, awaiting=["person"])
        if not answered:
            await respond(served, person, payload=1)


@pytest.mark.parametrize("done", [True, False])
async def test_a_fault_behind_which_a_step_was_done_is_told_for_good(
    served: Served, *, done: bool
) -> None:
    await served.start("T")
    await served.report((await served.claim())["task"], event="coded")
    task = (await served.claim())["task"]
    label = await opened(served, task)
    await served.wait(task, awaiting=["label"])
    await respond(served, label, status="failed", message="no paper")
    await served.claim()
    said_of_it = {"result": 1} if done else {"faulted": True, "message": "no money"}
    await step(served, task, "refund", attempt=2, revision=2, **said_of_it)
    await served.pass_by(minutes=3)
    # Its supervisor is killed, and another one goes on.
    label = (await served.claim())["flow"]["steps"]["label"]
    assert label["status"] == "faulted"
    assert label.get("fault") == ("failed" if done else None)


@pytest.mark.parametrize("on_lost", ["resume", "fail", "keep"])
async def test_an_answer_while_a_later_attempt_works(served: Served, on_lost: str) -> None:
    await served.start("T")
    await served.report((await served.claim())["task"], event="coded")
    task = (await served.claim())["task"]
    correlation = await opened(served, task, on_lost=on_lost)
    await report(served, task, "failed", error="no ink")
    assert (await served.claim())["attempt"] == 2
    await served.read_up("T")
    await respond(served, correlation, payload=1)
    kinds = [kind for kind, _ in await served.news("T")]
    if on_lost == "fail":
        assert kinds[:3] == ["response_received", "flow_failed", "task_failed"]
        return
    assert kinds == ["response_received"]
    await served.wait(task, awaiting=["label"])
    assert [kind for kind, _ in await served.news("T")] == ["task_waiting", "task_resumed"]
    assert (await served.claim())["flow"]["steps"]["label"]["result"] == 1


@pytest.mark.parametrize("fault", ["failed", "deadline"])
async def test_a_fault_is_told_until_an_attempt_that_knew_of_it_has_failed(
    served: Served, fault: str
) -> None:
    await served.start("T")
    await served.report((await served.claim())["task"], event="coded")
    task = (await served.claim())["task"]
    correlation = await opened(served, task, timeout="1h")
    await served.wait(task, awaiting=["label"])
    if fault == "failed":
        await respond(served, correlation, status="failed")
    else:
        await served.pass_by(hours=1)
    assert (await served.claim())["flow"]["steps"]["label"]["fault"] == fault
    await served.post("/tasks/release", {"supervisor": BOX, "tasks": [task]})
    assert (await served.claim())["flow"]["steps"]["label"]["fault"] == fault
    await report(served, task, "failed", error="no label")
    label = (await served.claim())["flow"]["steps"]["label"]
    assert label["status"] == "faulted"
    assert "fault" not in label


async def test_a_routine_is_told_of_no_fault_that_it_wrote_down_itself(served: Served) -> None:
    task = await claimed_task(served)
    await opened(served, task)
    await step(served, task, "label", kind="response", revision=1, faulted=True, message="no line")
    await served.post("/tasks/release", {"supervisor": BOX, "tasks": [task]})
    assert "fault" not in (await served.claim())["flow"]["steps"]["label"]


async def test_a_step_that_failed_without_a_word_says_so(served: Served) -> None:
    task = await claimed_task(served)
    for revision, message in enumerate(("", None)):
        reply = await step(
            served, task, f"s{revision}", revision=revision, faulted=True, message=message
        )
        assert reply.status == 200
    told = {each["message"] for each in (await flow(served))["steps"].values()}
    assert told == {"the step failed and said nothing"}
    assert [data["message"] for _, data in await served.news("T")] == [*told] * 2
