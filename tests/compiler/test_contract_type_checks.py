"""Routines with their contract are right to a strict type checker, and wrong ones are told by it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from stateous.compiler.scaffold import write_supervisor
from stateous.model.graph import Graph, parse_graph
from tests.compiler.contracts import LIBRARIES, graph_with

ROOT = Path(__file__).parents[2]

ROUTINES = '''\
"""The routines of a test: each way to return an event, and one that is wrong."""

from contract import Review, code_check, events, states, workflows
from stateous import BadAnswer, ChildResult, Context, WorkflowRef, on_state


@on_state(states.review)
async def review(ctx: Context) -> events.reviewed | events.submitted | None:
    if not states.review.outcome_schema(within="outcome"):
        return None
    if ctx.visit == 1:
        return events.reviewed(Review(approved=True))
    if ctx.visit == 2:
        return events.reviewed(approved=True)
    try:
        return states.review.outcome({"event": "submitted"})
    except BadAnswer as problem:
        ctx.note(str(problem))
        return states.review.outcome("{}")


async def looked(ctx: Context, workflow: WorkflowRef[Review]) -> bool:
    found: ChildResult[Review] = await ctx.child("look", workflow, Review(approved=True), id="A-1")
    return found.context.approved


@on_state(states.draft)
async def draft(ctx: Context) -> events.submitted:
    ctx["looked"] = await looked(ctx, workflows.code_check)
    return events.submitted()


@on_state(code_check.states.work)
def work(ctx: Context) -> events.submitted:
    return code_check.states.work.outcome(b"{}")
'''


def _graph() -> Graph:
    document = graph_with({})
    document["states"]["draft"]["children"] = ["code-check"]
    document["workflows"]["code-check"]["context"] = "Review"
    return parse_graph(document)


def test_a_strict_type_checker_knows_what_a_state_emits(tmp_path: Path) -> None:
    for library in LIBRARIES:
        write_supervisor(_graph(), tmp_path / library, url="http://x", models=library)
        (tmp_path / library / "mine.py").write_text(ROUTINES)
    folders = [{"root": library, "extraPaths": [str(ROOT)]} for library in LIBRARIES]
    settings = {
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "executionEnvironments": folders,
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    ran = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    told = json.loads(ran.stdout)
    assert told["summary"]["filesAnalyzed"] == 3 * len(LIBRARIES)
    last = len(ROUTINES.splitlines()) - 1  # it returns the child's event
    found = [
        (Path(each["file"]).name, each["range"]["start"]["line"], each["rule"])
        for each in told["generalDiagnostics"]
    ]
    assert found == [("mine.py", last, "reportReturnType")] * len(LIBRARIES)
