"""Steps meet pauses, repeated claims and many messages."""

from __future__ import annotations

from typing import Any

from tests.cards.graphs import SDLC
from tests.cards.reports import claimed_task, report
from tests.cards.served import BOX, Served
from tests.cards.test_steps import flow, opened, respond, step

GRAPH = SDLC


async def test_a_claim_that_is_repeated_is_told_of_the_steps_since(served: Served) -> None:
    await served.start("T")
    first = await served.claim(request="r")
    assert first["flow"] == {"revision": 0, "steps": {}}
    await step(served, first["task"], "charge", result=7)
    again = await served.claim(request="r")
    assert again["attempt"] == first["attempt"]
    told = {"charge": {"kind": "step", "status": "done", "result": 7}}
    assert again["flow"] == {"revision": 1, "steps": told}


async def test_many_messages_may_wait_for_steps_and_fail_for_good(served: Served) -> None:
    task = await claimed_task(served)
    correlation = await opened(served, task)
    await served.read_up("T")

    async def tell(outcome: str, **fields: Any) -> None:
        message = {"task": task, "kind": "report", "outcome": outcome, **fields}
        reply = await served.post("/tasks/messages", {"supervisor": BOX, "messages": [message]})
        assert [each["status"] for each in reply.json["results"]] == [200]

    await tell("waiting", awaiting=["label"], id="m1")
    await tell("waiting", awaiting=["label"], id="m1")
    assert await served.news("T") == [
        ("task_waiting", {"task": task, "awaiting": ["label"], "step": "label", "kind": "response"})
    ]
    await respond(served, correlation)
    await served.claim()
    await served.read_up("T")
    await tell("failed", error="stolen", final=True, id="m2")
    await tell("failed", error="stolen", final=True, id="m2")
    kinds = [kind for kind, _ in await served.news("T")]
    assert kinds == ["flow_failed", "task_failed", "failed"]


async def test_steps_are_written_in_a_pause_too(served: Served) -> None:
    task = await claimed_task(served)
    await served.steer("T", "pause")
    assert (await step(served, task, "charge")).json == {"revision": 1}
    correlation = await opened(served, task, revision=1, timeout="1h")
    await served.wait(task, awaiting=["label"])
    await served.pass_by(hours=9)
    await served.steer("T", "resume")
    await served.pass_by(minutes=59)
    assert (await flow(served))["steps"]["label"]["pendingCorrelationId"] == correlation
    await served.pass_by(minutes=1)
    assert (await flow(served))["steps"]["label"]["faulted"]


async def test_a_final_failure_in_a_pause_is_held(served: Served) -> None:
    task = await claimed_task(served)
    await served.steer("T", "pause")
    await served.read_up("T")
    await report(served, task, "failed", error="stolen", final=True)
    kinds = [kind for kind, _ in await served.news("T")]
    assert kinds == ["flow_failed", "task_failed", "event_deferred"]
    await served.steer("T", "resume")
    assert await served.status("T") == "failed"


async def test_a_flow_tells_how_its_token_ended_with_it(served: Served) -> None:
    await served.start("T")
    await served.report((await served.claim())["task"], event="coded")
    task = (await served.claim())["task"]
    await step(served, task, "charge", result=7)
    await served.remember(task, "k", 1)
    await report(served, task, event="checked", payload={"approved": True})
    assert await served.status("T") == "completed"
    shown = await flow(served)
    assert (shown["status"], shown["statusName"]) == (1, "Succeeded")
    assert (shown["steps"]["charge"]["resultJson"], shown["values"]) == ("7", {})


async def test_a_flow_of_a_cancelled_token_has_failed(served: Served) -> None:
    task = await claimed_task(served)
    await step(served, task, "charge")
    await served.steer("T", "cancel")
    shown = await flow(served)
    assert (shown["status"], shown["statusName"]) == (2, "Failed")


async def test_a_flow_is_suspended_as_long_as_its_outcome_is_held(served: Served) -> None:
    task = await claimed_task(served)
    await step(served, task, "charge")
    await served.steer("T", "pause")
    await report(served, task, event="coded")
    assert (await flow(served))["statusName"] == "Suspended"
    await served.steer("T", "resume")
    assert (await flow(served))["flowTypeName"] == "sdlc/testing"
