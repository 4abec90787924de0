"""A routine that runs another workflow, from flow.py to the end: compiled, served, worked, with real processes."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from stateous.client import Client
from tests.e2e.processes import Running, Shell

FLOW = """\
import msgspec
from stateous import END, START, Workflow


class Asked(msgspec.Struct):
    order: str
    found: str = ""


audit = Workflow("audit", context=Asked)
fine = audit.event("fine")
look = audit.state("look", emits=[fine])
audit.transition(START, look)
audit.transition(look, END, on=fine)

orders = Workflow("orders")
shipped = orders.event("shipped")
shipping = orders.state("shipping", emits=[shipped], retries=3, children=[audit])
orders.transition(START, shipping)
orders.transition(shipping, END, on=shipped)
"""
ROUTINES = """\
import pathlib
from contract import Asked, audit, events, states, workflows
from stateous import ChildResult, Context, on_state

begun = pathlib.Path(__file__).parent / "begun"


@on_state(states.shipping)
async def ship(ctx: Context) -> events.shipped:
    with begun.open("a") as file:
        file.write("x")
    result: ChildResult[Asked] = await ctx.child("audit", workflows.audit, Asked(order=ctx.token))
    ctx["found"] = result.context.found
    return events.shipped()


@on_state(audit.states.look)
def look_closely(ctx: Context) -> audit.events.fine:
    ctx["found"] = "all of " + ctx["order"]
    return audit.events.fine()
"""


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    (tmp_path / "orders").mkdir()
    (tmp_path / "orders" / "flow.py").write_text(FLOW)
    shell = Shell(tmp_path)
    said = shell.says("compile", "orders/flow.py")
    assert "states: shipping (may run audit)" in said
    shell.says("init", "supervisor", "orders", "worker")
    (tmp_path / "worker" / "routines.py").write_text(ROUTINES)
    return shell


def test_a_routine_uses_what_another_workflow_came_to(
    shell: Shell, database_url: str, tmp_path: Path
) -> None:
    with shell.serve(database_url) as serving:
        settings = tmp_path / "worker" / "stateous.yaml"
        said = settings.read_text().replace("http://127.0.0.1:8080", shell.url)
        settings.write_text(said)
        shell.says("token", "start", "ORDER-1")
        with Running("supervise", "worker", cwd=tmp_path) as worker:
            worker.says("of ORDER-1: reported shipped")
        assert (tmp_path / "worker" / "begun").read_text() == "xx"
        with Client(shell.url) as client:
            token = client.get("ORDER-1")
            assert (token.status, token.context) == ("completed", {"found": "all of ORDER-1"})
            assert client.get("ORDER-1.shipping.1.audit").parent == "ORDER-1"
        history = shell.says("token", "history", "ORDER-1")
        assert "awaits the child ORDER-1.shipping.1.audit of workflow audit" in history
        assert serving.stop(signal.SIGTERM) == 0
