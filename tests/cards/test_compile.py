"""The card Compile: from a flow.py on disk to its graph file, or to what is wrong with it, from a shell."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stateous.cli.main import command
from stateous.model.graph import parse_graph

STATEOUS = str(Path(sys.executable).with_name("stateous"))

SCHEMAS = """\
import msgspec

class Ticket(msgspec.Struct):
    title: str
    size: int = 0
    tags: list[str] = []

class Review(msgspec.Struct):
    approved: bool
    note: str | None = None

class Scan(msgspec.Struct):
    title: str
"""
FLOW = """\
from schemas import Review, Scan, Ticket
from stateous import END, ERROR, JOINED, START, TIMEOUT, Workflow

security = Workflow("security", context=Scan)
scanned = security.event("scanned")
scan = security.state("scan", emits=[scanned], retries=1)
security.transition(START, scan)
security.transition(scan, END, on=scanned)
security.transition(scan, END, on=ERROR)

sdlc = Workflow("sdlc", context=Ticket)
coded = sdlc.event("coded")
reviewed = sdlc.event("reviewed", payload=Review)
coding = sdlc.state("coding", emits=[coded], timeout="2d", retries=2)
checks = sdlc.state("checks", parallel=[security], inputs=["title"], timeout="1h")
review = sdlc.state("review", emits=[reviewed])
sdlc.transition(START, coding)
sdlc.transition(coding, checks, on=coded)
sdlc.transition(coding, END, on=TIMEOUT)
sdlc.transition(checks, review, on=JOINED, when="branches.all(status == 'completed')")
sdlc.transition(checks, coding, on=JOINED, otherwise=True)
sdlc.transition(review, END, on=reviewed, when="payload.approved")
sdlc.transition(review, coding, on=reviewed, otherwise=True)
"""
SUMMARY = """\
workflow sdlc
  states: coding, checks (runs security), review
  events: coded, reviewed (Review)
workflow security
  states: scan
  events: scanned
fails here: coding when its task has failed 3 times: no transition takes 'error'
fails here: checks after 1 hour: no transition takes 'timeout'
fails here: review when its task fails: no transition takes 'error'
"""
GRAPH: dict[str, Any] = {
    "stateous": 1,
    "workflow": "sdlc",
    "context": "Ticket",
    "states": {
        "coding": {"emits": ["coded"], "timeout": "2d", "retries": 2},
        "checks": {"parallel": ["security"], "join": "all", "inputs": ["title"], "timeout": "1h"},
        "review": {"emits": ["reviewed"]},
    },
    "events": {"coded": {}, "reviewed": {"payload": "Review"}},
    "transitions": [
        {"from": "__start__", "to": "coding"},
        {"from": "coding", "to": "checks", "on": "coded"},
        {"from": "coding", "to": "__end__", "on": "timeout"},
        {"from": "checks", "to": "review", "on": "joined", "when": "branches.all(status == 'completed')"},
        {"from": "checks", "to": "coding", "on": "joined", "otherwise": True},
        {"from": "review", "to": "__end__", "on": "reviewed", "when": "payload.approved"},
        {"from": "review", "to": "coding", "on": "reviewed", "otherwise": True},
    ],
    "workflows": {
        "security": {
            "context": "Scan",
            "states": {"scan": {"emits": ["scanned"], "retries": 1}},
            "events": {"scanned": {}},
            "transitions": [
                {"from": "__start__", "to": "scan"},
                {"from": "scan", "to": "__end__", "on": "scanned"},
                {"from": "scan", "to": "__end__", "on": "error"},
            ],
        }
    },
    "schemas": {
        "Review": {
            "title": "Review",
            "type": "object",
            "properties": {
                "approved": {"type": "boolean"},
                "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            },
            "required": ["approved"],
        },
        "Scan": {
            "title": "Scan",
            "type": "object",
            "properties": {"title": {"type": "string"}},
            "required": ["title"],
        },
        "Ticket": {
            "title": "Ticket",
            "type": "object",
            "properties": {
                "title": {"type": "string"},
                "size": {"type": "integer", "default": 0},
                "tags": {"type": "array", "items": {"type": "string"}, "default": []},
            },
            "required": ["title"],
        },
    },
}  # fmt: skip

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder `sdlc` with the workflow, in the folder where the command runs."""
    (tmp_path / "sdlc").mkdir()
    write(tmp_path)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """The command in this process: its exit code, and what it says on stdout and stderr."""

    def run(*arguments: str) -> tuple[int, str, str]:
        code = command([*arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def write(folder: Path, flow: str = FLOW, schemas: str = SCHEMAS) -> None:
    (folder / "sdlc" / "flow.py").write_text(flow)
    (folder / "sdlc" / "schemas.py").write_text(schemas)


def refused(run: Run, *arguments: str) -> str:
    """What is said behind `error: ` when a command fails."""
    code, out, said = run(*arguments)
    assert (code, out, said[:7], said[-1]) == (1, "", "error: ", "\n")
    return said[7:-1]


def shell(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [STATEOUS, *arguments], capture_output=True, text=True, check=False, timeout=60
    )


def test_a_right_flow_becomes_its_graph_file(tmp_path: Path) -> None:
    done = shell("compile", "sdlc/flow.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"wrote sdlc/build/sdlc.json\n{SUMMARY}"
    written = json.loads((tmp_path / "sdlc/build/sdlc.json").read_text())
    assert written == GRAPH
    assert parse_graph(written).workflow == "sdlc"


def test_all_mistakes_are_told_and_no_file_is_written(tmp_path: Path) -> None:
    flow = FLOW.replace('"2d"', '"2 days"').replace('inputs=["title"], ', "")
    flow = flow.replace("payload.approved", "payload.aproved").replace("[coded]", '["codde"]')
    write(tmp_path, flow)
    done = shell("compile", "sdlc")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error: workflow 'sdlc' is not valid:\n"
        "  state 'coding' emits 'codde', which is no event of the workflow: did you mean 'coded'? (flow.py, line 14)\n"
        "  the timeout of state 'coding': '2 days' is not a duration: write a whole number and s, m, h or d, "
        "such as 30s or 6h (flow.py, line 14)\n"
        "  the guard 'payload.aproved' of the transition from 'review' to END on 'reviewed' reads payload.aproved, "
        "which is no field of the model of 'reviewed': did you mean payload.approved? (flow.py, line 22)\n"
        "  state 'checks' must hand 'title' over to workflow 'security': add it to inputs (flow.py, line 15)\n"
    )
    assert not (tmp_path / "sdlc/build").exists()


def test_a_flow_that_does_not_import_is_told(run: Run, tmp_path: Path) -> None:
    write(tmp_path, schemas=f"{SCHEMAS}\nclass Ticket(msgspec.Struct):\n    title: strr\n")
    said = "error: sdlc/flow.py does not import: schemas.py, line 16: NameError: name 'strr' is not defined\n"
    assert run("compile", "sdlc/flow.py") == (1, "", said)
    assert run("init", "supervisor", "sdlc", "worker") == (1, "", said)
    assert not (tmp_path / "sdlc/build").exists()
    assert not (tmp_path / "worker").exists()


def test_a_file_that_cannot_be_written_is_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert run("compile", "sdlc", "--out", "file/sdlc.json") == (
        1,
        "",
        "error: cannot write file/sdlc.json: file is no folder\n",
    )
    assert run("compile", "sdlc", "--out", "/dev/full") == (
        1,
        "",
        "error: cannot write /dev/full: No space left on device\n",
    )


def test_the_file_may_go_elsewhere(run: Run, tmp_path: Path) -> None:
    assert run("compile", "sdlc", "--out", "new/folder/graph") == (
        0,
        f"wrote new/folder/graph\n{SUMMARY}",
        "",
    )
    assert json.loads((tmp_path / "new/folder/graph").read_text()) == GRAPH
    assert not (tmp_path / "sdlc/build").exists()


def test_what_a_flow_imports_is_forgotten(run: Run, tmp_path: Path) -> None:
    path, modules = list(sys.path), {"flow", "schemas"} & set(sys.modules)
    for size in ("size", "weight"):
        write(tmp_path, schemas=SCHEMAS.replace("size", size))
        assert run("compile", "sdlc")[0] == 0
        written = json.loads((tmp_path / "sdlc/build/sdlc.json").read_text())
        assert list(written["schemas"]["Ticket"]["properties"]) == ["title", size, "tags"]
    assert (list(sys.path), {"flow", "schemas"} & set(sys.modules)) == (path, modules)


def test_the_main_workflow_is_the_one_that_none_runs(run: Run, tmp_path: Path) -> None:
    write(tmp_path, f"{FLOW}\nmore = Workflow('more')\n")
    assert refused(run, "compile", "sdlc") == (
        "sdlc/flow.py has 2 main workflows: 'sdlc', 'more'; "
        "keep one, or run the others in a state of it"
    )
    write(tmp_path, "")
    assert refused(run, "compile", "sdlc") == (
        "sdlc/flow.py has no workflow: write name = Workflow('name', …)"
    )


def test_guards_that_overlap_are_a_mistake_shown_by_an_example(run: Run, tmp_path: Path) -> None:
    write(
        tmp_path, FLOW.replace("reviewed, otherwise=True", 'reviewed, when="payload.note == null"')
    )
    assert refused(run, "compile", "sdlc") == (
        "workflow 'sdlc' is not valid:\n"
        "  two guards of 'review' on 'reviewed' can both hold, 'payload.approved' and 'payload.note == null': "
        "when payload.approved = true, payload.note = null (flow.py, lines 22 and 23)"
    )  # fmt: skip


GAP = (
    "'joined' from 'checks' fails the token when status of 'security' = 'failed' (flow.py, line 20)"
)


def test_a_gap_is_a_warning_and_the_file_is_written(run: Run, tmp_path: Path) -> None:
    write(
        tmp_path,
        FLOW.replace("sdlc.transition(checks, coding, on=JOINED, otherwise=True)\n", "\n"),
    )
    fails = "fails here: checks on 'joined' when status of 'security' = 'failed'\n"
    assert run("compile", "sdlc") == (
        0,
        f"wrote sdlc/build/sdlc.json\n{SUMMARY}{fails}",
        f"warning: {GAP}\n",
    )


def test_a_strict_compile_takes_warnings_for_mistakes(run: Run, tmp_path: Path) -> None:
    assert run("compile", "sdlc", "--strict")[0] == 0
    (tmp_path / "sdlc/build/sdlc.json").unlink()
    write(
        tmp_path,
        FLOW.replace("sdlc.transition(checks, coding, on=JOINED, otherwise=True)\n", "\n"),
    )
    assert run("compile", "sdlc", "--strict") == (
        1,
        "",
        f"error: workflow 'sdlc' is not valid:\n  {GAP}\n",
    )
    assert not (tmp_path / "sdlc/build/sdlc.json").exists()


def test_a_model_that_python_cannot_name_is_a_mistake(run: Run, tmp_path: Path) -> None:
    named = "import msgspec\nScan = msgspec.defstruct('2nd_scan', [('title', str)])\n"
    write(tmp_path, schemas=SCHEMAS.replace("class Scan", "class Other") + named)
    assert refused(run, "compile", "sdlc") == (
        "workflow 'sdlc' is not valid:\n  the model '2nd_scan' has a name that is no Python name"
    )


def test_init_workflow_runs_the_same_steps(run: Run, tmp_path: Path) -> None:
    code, said, _ = run("init", "workflow", "orders")
    assert (code, said.splitlines()[-1]) == (0, "wrote orders/build/orders.json")
    assert (
        parse_graph(json.loads((tmp_path / "orders/build/orders.json").read_text())).workflow
        == "orders"
    )
    assert run("compile", "orders", "--strict")[0] == 0
