"""Supervisors and control planes are killed, as processes, before and after checkpoints: what is done is not done again."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from stateous.client import AsyncClient
from stateous.control.compose import open_plane
from stateous.control.plane import Plane
from stateous.model.graph import parse_graph
from tests.api.serving import served
from tests.client.planes import GRAPH
from tests.databases import Clock, Database
from tests.e2e.planes import SERVES, Computer
from tests.e2e.processes import Running
from tests.supervisor.processes import make_folder, says, supervise
from tests.supervisor.proxy import PASS, Hold, Late, Lost, proxying
from tests.supervisor.running import submitted, supervising
from tests.supervisor.test_isolation import HEAD

pytestmark = pytest.mark.usefixtures("quickly")

STUBBORN: dict[str, Any] = {
    **GRAPH,
    "states": {
        **GRAPH["states"],
        "draft": {"emits": ["submitted"], "retries": 9, "children": ["audit"]},
    },
    "workflows": {
        "audit": {
            "states": {"look": {"emits": ["submitted"]}},
            "events": {"submitted": {}},
            "transitions": [
                {"from": "__start__", "to": "look"},
                {"from": "look", "to": "__end__", "on": "submitted"},
            ],
        }
    },
}
AUDIT = "A.draft.1.audit"
STEPS = "/tasks/1/steps"
OF_STEPS = {"step_done", "step_faulted", "response_awaited", "response_received", "child_awaited"}
ROUTINE = """def draft(ctx):
    def do(name):
        with (here / "did").open("a") as did: did.write(name + "\\n")
        return len(name)
    ctx["charge"] = ctx.step("charge", do, "charge")
    ctx["label"] = ctx.respond("label", lambda correlation: do("ask"))
    ctx["audit"] = ctx.child("audit", "audit", {"order": ctx.token}).token
    ctx["print"] = ctx.step("print", do, "print")
    return submitted
"""
RESULTS = {"charge": 6, "label": "L-7", "audit": AUDIT, "print": 5}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def plane(database: Database, clock: Clock) -> AsyncGenerator[Plane]:
    made = await open_plane(graph=parse_graph(STUBBORN), db=database.url, clock=clock)
    yield made
    await made.stop()


async def answer(client: AsyncClient, step: str) -> None:
    """End what the routine awaits with this step, if it awaits something."""
    if step == "audit":
        await client.fire(AUDIT, "submitted")
    if step != "label":
        return
    awaited = (await client.flow("A")).steps["label"].pending_correlation_id
    assert awaited is not None
    await client.respond(awaited, "L-7")


@pytest.mark.parametrize("dialect", ["sqlite"])
async def test_a_supervisor_is_killed_before_and_after_each_checkpoint(
    plane: Plane, clock: Clock, tmp_path: Path
) -> None:
    async with served(plane) as api:
        url = f"http://{api.host}:{api.port}"
        async with proxying(url) as proxy, AsyncClient(url) as client:
            folder = make_folder(
                tmp_path / "box", proxy.url, checksum=(await client.health()).checksum
            )
            (folder / "routines.py").write_text((HEAD + ROUTINE).replace(", isolate=True", ""))
            await client.start("A")
            for step in ("charge", "label", "audit", "print"):
                for held in (Late(), Hold()):
                    proxy.then(STEPS, held)
                    with supervise(folder) as killed:
                        await held.reached.wait()
                        await asyncio.to_thread(killed.stop, signal.SIGKILL)
                    assert proxy.bodies(STEPS)[-1]["name"] == step
                    clock.forward(minutes=3)
                    await plane.ticker.tick()
                await answer(client, step)
            with supervise(folder) as last:
                await says(last, "task 1 of A: reported submitted")
            token = await client.get("A")
            assert (token.state, token.context) == ("review", RESULTS)
            assert [child.token for child in await client.tokens(parent="A")] == [AUDIT]
    # What was killed after its response was open has asked nobody: its trigger comes behind the checkpoint.
    did = Counter((folder / "did").read_text().split())
    assert did == {"charge": 2, "print": 2}


async def test_a_control_plane_is_killed_between_each_commit_and_its_answer(
    database: Database, tmp_path: Path
) -> None:
    did, asked = Counter[str](), list[str]()

    def do(name: str) -> int:
        did[name] += 1
        return len(name)

    def ask(correlation: str) -> None:
        asked.append(correlation)

    async def draft(ctx: Any) -> Any:
        ctx["charge"] = await ctx.step("charge", do, "charge")
        ctx["label"] = await ctx.respond("label", ask)
        ctx["audit"] = (await ctx.child("audit", "audit", {"order": ctx.token})).token
        ctx["print"] = await ctx.step("print", do, "print")
        return submitted

    computer = Computer(tmp_path, database.url)
    computer.serve_graph(STUBBORN)

    async def started() -> tuple[Running, str]:
        running = stack.enter_context(computer.run("--standby", "--hold", "2s"))
        return running, (await says(running, SERVES))[1]

    with ExitStack() as stack:
        running, url = await started()
        async with proxying(url) as proxy, AsyncClient(proxy.url) as client:
            steps = {name: Lost() for name in ("charge", "label", "audit", "print")}
            for lost in steps.values():
                proxy.then(STEPS, lost, PASS)
            await client.start("A")
            async with supervising(proxy.url, tmp_path, {"draft": draft}) as box:
                for name, lost in steps.items():
                    await lost.reached.wait()
                    await asyncio.to_thread(running.stop, signal.SIGKILL)
                    running, proxy.upstream = await started()
                    lost.go.set()
                    if name in {"label", "audit"}:
                        await box.says("task 1 of A: reported waiting")
                        await answer(client, name)
                await box.says("task 1 of A: reported submitted")
            token = await client.get("A")
            assert (token.state, token.context) == ("review", RESULTS)
            history = await client.history("A")
            assert await asyncio.to_thread(running.stop) == 0
    assert (did, len(asked)) == ({"charge": 1, "print": 1}, 1)
    kinds = [(entry.kind, entry.data["step"]) for entry in history if entry.kind in OF_STEPS]
    assert kinds == [
        ("step_done", "charge"),
        ("response_awaited", "label"),
        ("response_received", "label"),
        ("child_awaited", "audit"),
        ("step_done", "audit"),
        ("step_done", "print"),
    ]
