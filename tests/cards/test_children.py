"""A routine's children over HTTP: begun, shown, ended, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.caller import Reply
from tests.cards.reports import claimed_task, report
from tests.cards.served import BOX, Served
from tests.databases import Database
from tests.engine.graphs import flow, main
from tests.store.opened import raw

AUDIT = flow(
    {"look": {"emits": ["fine"]}},
    [("__start__", "look"), ("look", "__end__", "fine")],
    events={"fine": {"payload": "Found"}},
    context="Audit",
)
GRAPH = main(
    {"draft": {"emits": ["sent"], "children": ["audit"]}},
    [("__start__", "draft"), ("draft", "__end__", "sent")],
    events=["sent"],
    schemas={
        "Audit": {"type": "object", "required": ["order"]},
        "Found": {"type": "object"},
    },
    children={"audit": AUDIT},
)
CHILD = "T.draft.1.audit"


async def begin(served: Served, task: int, **fields: Any) -> Reply:
    body = {"attempt": 1, "revision": 0, "name": "audit", "kind": "child", "workflow": "audit"}
    return await served.post(f"/tasks/{task}/steps", {**body, "input": {"order": "T"}, **fields})


async def looked_at(served: Served) -> int:
    claim = {"supervisor": BOX, "states": ["audit/look"]}
    return (await served.post("/tasks/claim", claim)).json["task"]


async def test_a_child_is_begun_shown_and_ended(served: Served) -> None:
    task = await claimed_task(served)
    reply = await begin(served, task)
    assert (reply.status, reply.json) == (200, {"revision": 1, "child": CHILD})
    assert (await begin(served, task)).json == {"revision": 1, "child": CHILD}
    assert (await begin(served, task, revision=1)).json == {"revision": 1, "child": CHILD}
    awaited = {"task": task, "step": "audit", "workflow": "audit", "token": CHILD}
    assert await served.news("T") == [("child_awaited", awaited)]
    flow = (await served.api.get("/tokens/T/flow")).json
    assert flow["steps"]["audit"] == {
        "completed": False,
        "resultJson": None,
        "pendingCorrelationId": None,
        "faulted": False,
        "message": None,
        "childFlowId": CHILD,
        "completedAtUtc": None,
    }
    child = (await served.api.get(f"/tokens/{CHILD}/flow")).json
    assert (child["parentFlowId"], child["parentStepName"]) == ("T", "audit")
    assert (flow["parentFlowId"], flow["parentStepName"]) == (None, None)
    listed = (await served.api.get("/tokens?parent=T")).json
    assert [token["token"] for token in listed] == [CHILD]
    await report(served, task, "waiting", supervisor=BOX, awaiting=["audit"])
    await served.read_up("T")
    kid = await looked_at(served)
    await report(served, kid, event="fine", payload={"n": 2**70}, context={"seen": 1.0})
    assert await served.news("T") == [
        ("step_done", {"task": task, "step": "audit"}),
        ("task_resumed", {"task": task}),
    ]
    told = (await served.claim())["flow"]
    assert told["revision"] == 2
    assert told["steps"]["audit"] == {
        "kind": "child",
        "status": "done",
        "child": CHILD,
        "result": {
            "workflow": "audit",
            "token": CHILD,
            "status": "completed",
            "final": "look",
            "payload": None,
            "context": {"order": "T", "seen": 1.0},
            "reason": None,
        },
    }


@pytest.mark.parametrize(
    ("sent", "kept"),
    [({"tenant": "b"}, {"tenant": "b"}), ({}, {"tenant": "a"}), (None, {"tenant": "a"})],
)
async def test_a_child_has_what_surrounds_its_start_or_what_its_parent_has(
    served: Served, sent: Any, kept: Any
) -> None:
    await served.post("/tokens", {"token": "T", "ambient": {"tenant": "a"}})
    task = (await served.claim())["task"]
    assert (await begin(served, task, ambient=sent)).status == 200
    again = await begin(served, task, revision=1, ambient={"tenant": "c"})
    assert again.json == {"revision": 1, "child": CHILD}
    claim = {"supervisor": BOX, "states": ["audit/look"]}
    assert (await served.post("/tasks/claim", claim)).json["ambient"] == kept
    assert (await served.api.get("/tokens/T/flow")).json["context"] == {"tenant": "a"}


async def test_what_cannot_be_begun_is_refused(served: Served) -> None:
    task = await claimed_task(served)
    wrong: tuple[tuple[dict[str, Any], int, str], ...] = (
        ({"workflow": "other"}, 409, "child_not_declared"),
        ({"workflow": "other\ud7ff" * 99}, 409, "child_not_declared"),
        ({"input": {}}, 422, "invalid_context"),
        ({"input": None}, 422, "invalid_context"),
        ({"id": "T"}, 409, "child_id_taken"),
        ({"id": "t"}, 409, "child_id_taken"),
        ({"name": "a b"}, 422, "invalid_token_id"),
        ({"ambient": ["x"]}, 422, "invalid_body"),
        ({"ambient": {"n" * 129: "x"}}, 422, "invalid_argument"),
    )
    for fields, status, code in wrong:
        reply = await begin(served, task, **fields)
        assert (reply.status, reply.json["code"]) == (status, code), fields
    assert await served.news("T") == []
    assert (await begin(served, task)).status == 200
    for fields in ({"input": {"order": "U"}}, {"id": "A-1"}, {"workflow": "other"}):
        reply = await begin(served, task, revision=1, **fields)
        assert (reply.status, reply.json["code"]) == (409, "child_id_taken"), fields
    reply = await served.post(f"/tokens/{CHILD}/cancel")
    assert reply.json["code"] == "child_token"


async def test_a_failed_child_fails_its_parent(served: Served) -> None:
    task = await claimed_task(served)
    await begin(served, task)
    await report(served, await looked_at(served), "failed", error="no books")
    token = (await served.api.get("/tokens/T")).json
    assert token["status"] == "failed"
    shown = (await served.api.get("/tokens/T/flow")).json
    assert shown["statusName"] == "Failed"
    assert shown["steps"]["audit"]["faulted"] is True
    assert "no books" in shown["lastMessage"]


@pytest.mark.parametrize("parent", ["claimed", "waiting", "paused"])
async def test_the_end_of_a_child_fails_a_parent_whose_flow_another_version_wrote(
    served: Served, database: Database, parent: str
) -> None:
    """The child's end is not held up by it, and nothing of the flow is overwritten."""
    task = await claimed_task(served)
    await begin(served, task)
    if parent != "claimed":
        await report(served, task, "waiting", supervisor=BOX, awaiting=["audit"])
    kid = await looked_at(served)
    await raw(database, "update flows set schema_version = 2")
    if parent == "paused":
        await served.steer("T", "pause")
    await served.read_up("T")
    await report(served, kid, event="fine", payload={})
    if parent == "paused":
        await served.steer("T", "resume")
    assert await served.status(CHILD) == "completed"
    shown = await served.news("T")
    assert [kind for kind, _ in shown if kind != "resumed"] == [
        "flow_failed",
        "task_failed",
        "failed",
    ]
    assert "is kept in form 2" in shown[-1][1]["reason"]
    assert await raw(database, "select schema_version, revision from flows") == [(2, 1)]
    assert await raw(database, "select name, status from steps") == [("audit", "open")]
