"""A supervisor of before, which knows nothing of steps and of what surrounds a token, works on with a control plane of today."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cards.graphs import SDLC
from tests.cards.served import BOX, Served
from tests.cards.test_steps import flow, opened, respond, step

GRAPH = SDLC
KNOWN = ("task", "token", "state", "visit", "attempt", "context", "memory", "entered_by")


async def begun(served: Served) -> int:
    """A task of which another supervisor has done a step, and awaited a response that came."""
    body = {"token": "T", "context": {"title": "a"}, "ambient": {"tenant": "acme"}}
    assert (await served.post("/tokens", body)).status == 201
    task = (await served.claim())["task"]
    await step(served, task, "charge", result=7)
    correlation = await opened(served, task, revision=1)
    await served.wait(task, awaiting=["label"])
    await respond(served, correlation, payload=8)
    await served.read_up("T")
    return task


async def taken(served: Served) -> dict[str, Any]:
    """A grant, as who knows no more reads it."""
    reply = await served.post("/tasks/claim", {"supervisor": "old", "states": ["coding"]})
    assert reply.status == 200
    return {name: reply.json[name] for name in KNOWN}


@pytest.mark.parametrize("at_once", [False, True])
async def test_it_works_on_a_task_that_has_a_flow(served: Served, *, at_once: bool) -> None:
    task = await begun(served)
    grant = await taken(served)
    assert (grant["task"], grant["attempt"], grant["memory"]) == (task, 2, {})
    note = {"text": "half done", "attempt": 2}
    memory = {"key": "page", "value": 1, "attempt": 2}
    report = {"attempt": 2, "event": "coded", "context": {"size": 3}}
    assert await served.beat(task, by="old") == []
    if at_once:
        messages = [
            {"id": "m1", "task": task, "kind": "note", **note},
            {"id": "m2", "task": task, "kind": "memory", **memory},
            {"id": "m3", "task": task, "kind": "report", "outcome": "event", **report},
        ]
        reply = await served.post("/tasks/messages", {"supervisor": "old", "messages": messages})
        assert [each["status"] for each in reply.json["results"]] == [204, 204, 200]
    else:
        assert (await served.post(f"/tasks/{task}/note", note)).status == 204
        assert (await served.api.put(f"/tasks/{task}/memory", memory)).status == 204
        said = {"kind": "event", "supervisor": "old", **report}
        assert (await served.post(f"/tasks/{task}/report", said)).status == 200
    kinds = [kind for kind, _ in await served.news("T")]
    assert kinds[:3] == ["task_claimed", "note", "memory_set"]
    assert await served.state("T") == ("testing", 1)


async def test_it_may_give_back_and_wait(served: Served) -> None:
    task = await begun(served)
    await taken(served)
    release = {"supervisor": "old", "tasks": [task]}
    assert (await served.post("/tasks/release", release)).json == {"released": [task]}
    await taken(served)
    waits = {"kind": "waiting", "supervisor": "old", "attempt": 3, "context": {"size": 3}}
    assert (await served.post(f"/tasks/{task}/report", waits)).status == 200
    shown = await flow(served)
    assert (shown["revision"], shown["statusName"]) == (3, "Running")
    assert await served.claim() is None
    assert [each["resultJson"] for each in shown["steps"].values()] == ["7", "8"]
    # Somebody outside ends it: it waits for nothing that comes by itself.
    assert (
        await served.post(f"/tasks/{task}/report", {"kind": "event", "event": "coded"})
    ).status == 200
    assert await served.state("T") == ("testing", 1)


async def test_who_knows_steps_goes_on_behind_it(served: Served) -> None:
    task = await begun(served)
    await taken(served)
    assert (
        await served.post("/tasks/release", {"supervisor": "old", "tasks": [task]})
    ).status == 200
    grant = await served.claim(by=BOX)
    assert {name: each["result"] for name, each in grant["flow"]["steps"].items()} == {
        "charge": 7,
        "label": 8,
    }
    assert grant["ambient"] == {"tenant": "acme"}
