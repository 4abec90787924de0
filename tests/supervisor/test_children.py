"""Children of routines, begun by a real control plane: on the loop, in a thread, in a process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stateous import ChildResult, ContextVarPropagator, StateRef, WorkflowRef
from stateous.client import AsyncClient, calls
from stateous_supervisor.routine import Routine
from tests.client.planes import serving
from tests.databases import Database
from tests.supervisor.running import STATES, submitted, supervising
from tests.supervisor.test_isolation import isolated

pytestmark = pytest.mark.usefixtures("quickly")


class Audit(msgspec.Struct):
    order: str
    depth: int = 1


GRAPH: dict[str, Any] = {
    "stateous": 1,
    "workflow": "orders",
    "states": {"draft": {"emits": ["submitted"], "retries": 2, "children": ["audit"]}},
    "events": {"submitted": {}},
    "transitions": [
        {"from": "__start__", "to": "draft"},
        {"from": "draft", "to": "__end__", "on": "submitted"},
    ],
    "schemas": {
        "Audit": {
            "type": "object",
            "properties": {"order": {"type": "string"}, "depth": {"type": "integer", "default": 1}},
            "required": ["order"],
        }
    },
    "workflows": {
        "audit": {
            "context": "Audit",
            "states": {"look": {"emits": ["submitted"]}},
            "events": {"submitted": {}},
            "transitions": [
                {"from": "__start__", "to": "look"},
                {"from": "look", "to": "__end__", "on": "submitted"},
            ],
        }
    },
}
AUDIT = WorkflowRef[Audit]("audit", Audit)
LOOK = StateRef("audit/look", emits=("submitted",))


def in_a_thread(met: list[Any], **more: Any) -> Any:
    def draft(ctx: Any) -> Any:
        met.append(ctx.child("audit", AUDIT, Audit(ctx.token), **more))
        return submitted

    return draft


def on_the_loop(met: list[Any], **more: Any) -> Any:
    async def draft(ctx: Any) -> Any:
        met.append(await ctx.child("audit", "audit", {"order": ctx.token}, **more))
        return submitted

    return draft


def look(function: Any) -> Routine:
    return Routine(state=LOOK, function=function, awaited=False, file=Path("routines.py"))


def find_deep(ctx: Any) -> Any:
    ctx["depth"] = 7
    return submitted


def fail(ctx: Any) -> Any:
    raise ValueError("no books")


@pytest.fixture
async def url(database: Database) -> AsyncGenerator[str]:
    async with serving(database, graph=GRAPH) as served:
        yield served


async def kinds(client: AsyncClient) -> list[str]:
    told = ("child_awaited", "step_done", "step_faulted", "task_resumed", "flow_failed")
    return [entry.kind for entry in await client.history("A") if entry.kind in told]


@pytest.mark.parametrize("make", [in_a_thread, on_the_loop])
async def test_a_child_is_awaited_without_a_worker_and_its_result_is_returned(
    url: str, client: AsyncClient, tmp_path: Path, make: Any
) -> None:
    met: list[ChildResult[Any]] = []
    await client.start("A")
    routines = {"draft": make(met), "audit/look": look(find_deep)}
    async with supervising(url, tmp_path, routines, tasks=1) as box:
        await box.says("task 1 of A: reported waiting")
        await box.says("task 1 of A: reported submitted")
    (result,) = met
    assert (result.token, result.status, result.final) == ("A.draft.1.audit", "completed", "look")
    known = make is in_a_thread
    assert result.context == (Audit("A", 7) if known else {"order": "A", "depth": 7})
    assert await kinds(client) == ["child_awaited", "step_done", "task_resumed"]
    flow = await client.flow("A")
    assert flow.steps["audit"].child_flow_id == "A.draft.1.audit"
    child = await client.flow("A.draft.1.audit")
    assert (child.parent_flow_id, child.parent_step_name) == ("A", "audit")


async def test_a_child_that_fails_fails_the_task_and_the_routine_is_not_run_again(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    met: list[Any] = []
    await client.start("A")
    routines = {"draft": on_the_loop(met), "audit/look": look(fail)}
    async with supervising(url, tmp_path, routines) as box:
        await box.says("task 1 of A: reported waiting")
        await box.says("of A.draft.1.audit: reported failed")
        assert (await client.get("A")).status == "failed"
    assert met == []
    assert await kinds(client) == ["child_awaited", "step_faulted", "flow_failed"]


async def test_a_routine_may_ask_to_be_told_of_the_failure(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    met: list[ChildResult[Any]] = []
    await client.start("A")
    routines = {"draft": on_the_loop(met, fail_on_failure=False), "audit/look": look(fail)}
    async with supervising(url, tmp_path, routines) as box:
        await box.says("task 1 of A: reported submitted")
    assert met[0].status == "failed"
    assert "no books" in (met[0].reason or "")


async def test_an_attempt_after_a_crash_comes_to_the_same_child(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    """It was begun, and nobody reported that the task waits for it."""
    met: list[Any] = []
    await client.start("A")
    assert await client.send(calls.claim("other", ["draft"], "r"))
    begun = await client.checkpoint(
        1,
        "audit",
        "child",
        attempt=1,
        revision=0,
        workflow="audit",
        input={"order": "A", "depth": 1},
    )
    assert begun.child == "A.draft.1.audit"
    await client.send(calls.release("other", tasks=[1]))
    routines = {"draft": in_a_thread(met), "audit/look": look(find_deep)}
    async with supervising(url, tmp_path, routines) as box:
        await box.says("task 1 of A: reported submitted")
    assert len(met) == 1
    assert len(await client.tokens(parent="A")) == 1


async def test_a_child_may_end_while_a_later_attempt_is_on_its_way_to_it(
    url: str, client: AsyncClient, tmp_path: Path
) -> None:
    """The grant does not know of the end: the run waits for the child, and is run on at once."""
    met: list[Any] = []
    arrived, go = asyncio.Event(), asyncio.Event()

    async def draft(ctx: Any) -> Any:
        arrived.set()
        await go.wait()
        met.append(await ctx.child("audit", "audit", {"order": ctx.token}))
        return submitted

    await client.start("A")
    assert await client.send(calls.claim("other", ["draft"], "r"))
    await client.checkpoint(
        1, "audit", "child", attempt=1, revision=0, workflow="audit", input={"order": "A"}
    )
    await client.send(calls.release("other", tasks=[1]))
    async with supervising(url, tmp_path, {"draft": draft}) as box:
        await arrived.wait()
        await client.fire("A.draft.1.audit", "submitted")
        go.set()
        await box.says("task 1 of A: reported waiting")
        await box.says("task 1 of A: reported submitted")
    assert [result.status for result in met] == ["completed"]


@pytest.mark.parametrize("kind", ["def", "async def"])
async def test_a_process_of_its_own_awaits_its_child(
    url: str, client: AsyncClient, tmp_path: Path, kind: str
) -> None:
    wait = "" if kind == "def" else "await "
    text = f"""{kind} draft(ctx):
    audit = {wait}ctx.child("audit", "audit", {{"order": ctx.token}}, id="A-1")
    (here / "met").write_text(audit.token + audit.final)
    return submitted
"""
    await client.start("A")
    routines = {
        "draft": isolated(tmp_path, text, awaited=kind != "def"),
        "audit/look": look(find_deep),
    }
    async with supervising(url, tmp_path, routines) as box:
        await box.says("task 1 of A: reported submitted")
    assert (tmp_path / "met").read_text() == "A-1look"


PROPAGATORS = """
from contextvars import ContextVar
from stateous import ContextVarPropagator

tenant = ContextVar("tenant")
propagators = [ContextVarPropagator(tenant)]
"""
TENANT: ContextVar[str] = ContextVar("tenant")


@pytest.mark.parametrize("way", ["thread", "loop", "process"])
async def test_a_child_takes_along_what_surrounds_its_routine_when_it_is_begun(
    url: str, client: AsyncClient, tmp_path: Path, way: str
) -> None:
    def in_a_thread(ctx: Any) -> Any:
        TENANT.set("b")
        ctx.child("audit", AUDIT, Audit(ctx.token))
        return submitted

    async def on_the_loop(ctx: Any) -> Any:
        TENANT.set("b")
        await ctx.child("audit", AUDIT, Audit(ctx.token))
        return submitted

    if way == "process":
        (tmp_path / "propagators.py").write_text(PROPAGATORS)
        text = """def draft(ctx):
    from propagators import tenant
    tenant.set("b")
    ctx.child("audit", "audit", {"order": ctx.token})
    return submitted
"""
        routine = isolated(tmp_path, text)
    else:
        routine = Routine(
            state=STATES["draft"],
            function=in_a_thread if way == "thread" else on_the_loop,
            awaited=way == "loop",
            file=Path("routines.py"),
            propagators=(ContextVarPropagator(TENANT),),
        )
    await client.send(calls.start("A", {}, {"tenant": "a", "other": "x"}))
    async with supervising(url, tmp_path, {"draft": routine, "audit/look": look(find_deep)}) as box:
        await box.says("task 1 of A: reported submitted")
    assert (await client.flow("A.draft.1.audit")).context == {"tenant": "b", "other": "x"}
    assert (await client.flow("A")).context == {"tenant": "a", "other": "x"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ctx.child('audit', 'other', {})", "declares no child workflow 'other'"),
        ("ctx.child('audit', 'audit', {})", "cannot start"),
        ("ctx.child('audit', 'audit', 7)", "is no object"),
        ("ctx.child('audit', 7, {})", "is one of `workflows` in contract.py, or its name"),
        ("ctx.child('audit', 'audit', {'order': 'A'}, id='A')", "the id 'A' is taken"),
        ("ctx.child('to b', 'audit', {'order': 'A'})", "give it an id"),
        (
            "ctx.child('audit', 'audit', {'order': 'A'}, id='\\ud800')",
            "is a text, and not '\\ud800'",
        ),
        ("ctx.child('audit', 'audit', {'order': 'A'}, id=7)", "is a text, and not 7"),
        ("ctx.child('audit', 'au\\ud800')", "or its name, and not 'au\\ud800'"),
        ("ctx.child('audit', WorkflowRef(7))", "or its name, and not WorkflowRef(name=7"),
    ],
)
async def test_what_cannot_be_begun_is_raised_in_the_routine(
    url: str, client: AsyncClient, tmp_path: Path, text: str, said: str
) -> None:
    def draft(ctx: Any) -> Any:
        eval(text, {"ctx": ctx, "WorkflowRef": WorkflowRef})  # noqa: S307 - the test's own text

    await client.start("A")
    async with supervising(url, tmp_path, {"draft": draft}) as box:
        line = await box.says("task 1 of A: reported failed")
    assert said in line
