"""The first files: the starter runs, and what a person wrote is never written over."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from stateous import StateousError
from stateous.compiler.flow import compile_flow, load_flow
from stateous.compiler.scaffold import (
    CannotScaffold,
    notes_on,
    write_supervisor,
    write_workflow,
)
from stateous.compiler.writing import CannotWrite
from stateous.model.graph import Graph, parse_graph
from stateous.model.guards import Scope

URL = "http://127.0.0.1:8080"


@pytest.fixture
def starter(tmp_path: Path) -> Path:
    write_workflow("orders", tmp_path / "orders")
    return tmp_path / "orders"


@pytest.fixture
def graph(starter: Path) -> Graph:
    return load_flow(starter).graph()


def test_the_starter_is_orders(starter: Path) -> None:
    built = compile_flow(starter / "flow.py")
    assert built == starter / "build" / "orders.json"
    document = json.loads(built.read_text())
    graph = parse_graph(document)
    main = graph.flows["orders"]
    assert (main.context, list(main.states), list(main.events)) == (
        "Order", ["draft", "review"], ["submitted", "reviewed"],
    )  # fmt: skip
    assert graph.models.problem("Order", {"title": "Two chairs"}) is None
    assert graph.models.problem("Order", {}) == "'title' is missing"
    assert graph.models.with_defaults("Review", {"approved": True}) == {
        "approved": True,
        "note": "",
    }
    approved, sent_back = main.routes("review", "reviewed")
    assert (approved.target, sent_back.target) == ("__end__", "draft")
    assert approved.guard is not None
    assert approved.guard.holds(Scope(ctx={}, payload={"approved": True}, counts={}))
    assert sent_back.guard is None


def test_compiling_twice_gives_the_same_bytes(starter: Path, tmp_path: Path) -> None:
    one, other = (
        compile_flow(starter / "flow.py"),
        compile_flow(starter, tmp_path / "deep" / "other.json"),
    )
    assert one.read_bytes() == other.read_bytes()


def test_the_starter_is_a_project_of_its_own(starter: Path) -> None:
    project = tomllib.loads((starter / "pyproject.toml").read_text())["project"]
    assert (project["name"], project["dependencies"]) == ("orders", ["stateous"])


@pytest.mark.parametrize(
    "name",
    [
        "reviews",
        "draft",
        "Order",
        "Review",
        "class",
        "code-review",
        "START",
        "workflow",
        "s",
        "Workflow",
        "True",
    ],
)
def test_any_name_gives_a_workflow_that_compiles(name: str, tmp_path: Path) -> None:
    write_workflow(name, tmp_path / name)
    assert load_flow(tmp_path / name).graph().workflow == name


@pytest.mark.parametrize("name", ["", "a b", "1a", "a/b", "../a", "é", "-a", "x" * 65, "a\n"])
def test_a_bad_name_is_refused_and_nothing_is_written(name: str, tmp_path: Path) -> None:
    with pytest.raises(CannotScaffold, match="a workflow cannot be called"):
        write_workflow(name, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_what_exists_is_left_as_it_is(starter: Path) -> None:
    (starter / "flow.py").unlink()
    (starter / "schemas.py").write_text("mine")
    with pytest.raises(CannotScaffold, match=r"schemas\.py exists already"):
        write_workflow("orders", starter)
    assert (starter / "schemas.py").read_text() == "mine"
    assert not (starter / "flow.py").exists()


def test_what_cannot_be_written_is_told(tmp_path: Path, starter: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite, match=r"cannot write .*orders\.json: "):
        compile_flow(starter, tmp_path / "file" / "orders.json")
    with pytest.raises(CannotWrite, match="cannot write"):
        write_workflow("orders", tmp_path / "file" / "orders")


def test_a_supervisors_folder_is_written(graph: Graph, tmp_path: Path) -> None:
    folder = tmp_path / "worker"
    written = write_supervisor(graph, folder, url=URL + "/it's")
    assert [path.name for path in written] == ["stateous.yaml", "contract.py", "routines.py"]
    assert yaml.safe_load((folder / "stateous.yaml").read_text()) == {
        "url": URL + "/it's",
        "tasks": 4,
    }
    text = (folder / "routines.py").read_text()
    assert "@on_state(states.draft)\ndef draft(ctx: Context) -> events.submitted:" in text
    assert "@on_state(states.review)\ndef review(ctx: Context) -> events.reviewed:" in text


def test_the_folder_is_good_python(graph: Graph, tmp_path: Path) -> None:
    write_supervisor(graph, tmp_path / "worker", url=URL)
    script = (
        "import routines; from stateous.model.marks import states_of; "
        "print(*[state.name for each in (routines.draft, routines.review) for state in states_of(each)])"
    )
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=tmp_path / "worker", capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ran.stdout == "draft review\n"


def test_a_second_time_only_the_contract_is_renewed(graph: Graph, tmp_path: Path) -> None:
    folder = tmp_path / "worker"
    write_supervisor(graph, folder, url=URL)
    for path in folder.iterdir():
        path.write_text("mine")
    written = write_supervisor(graph, folder, url="http://elsewhere")
    assert [path.name for path in written] == ["contract.py"]
    assert {path.name for path in folder.iterdir() if path.read_text() == "mine"} == {
        "stateous.yaml", "routines.py",
    }  # fmt: skip


def test_states_that_a_file_of_the_folder_serves_get_no_stub(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("@stateous.on_state(states.draft)\ndef anything(ctx): ...\n")
    (tmp_path / "broken.py").write_text("def (")
    write_supervisor(graph, tmp_path, url=URL)
    text = (tmp_path / "routines.py").read_text()
    assert "states.draft" not in text
    assert "states.review" in text


def test_when_every_state_is_served_there_are_no_stubs(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("on_state(states.draft)(f)\non_state(states.review)(f)\n")
    write_supervisor(graph, tmp_path, url=URL)
    assert "on_state" not in (tmp_path / "routines.py").read_text()


def test_children_have_stubs_and_parallel_states_have_none(tmp_path: Path) -> None:
    child: dict[str, Any] = {
        "states": {"work": {"emits": ["done", "late"]}},
        "events": {"done": {}, "late": {}},
        "transitions": [],
    }
    document: dict[str, Any] = {
        "stateous": 1,
        "workflow": "orders",
        "states": {"checks": {"parallel": ["code-check"]}, "idle": {"emits": []}},
        "events": {},
        "transitions": [],
        "schemas": {},
        "workflows": {"code-check": child},
    }
    write_supervisor(parse_graph(document), tmp_path, url=URL)
    text = (tmp_path / "routines.py").read_text()
    assert "from contract import code_check, states\n" in text
    assert "@on_state(states.idle)\ndef idle(ctx: Context) -> None:" in text
    assert (
        "@on_state(code_check.states.work)\n"
        "def code_check_work(ctx: Context) -> code_check.events.done | code_check.events.late:"
    ) in text
    assert "checks" not in text
    subprocess.run(
        [sys.executable, "-W", "error", "-c", "import routines"], cwd=tmp_path, check=True
    )


def test_stubs_are_called_as_nothing_that_they_use(tmp_path: Path) -> None:
    odd = 'its "own" \\ state'
    names = ["states", "events", "on_state", "Context", "a_b", "class", "my-state", odd]
    flow: dict[str, Any] = {
        "states": {name: {"emits": ["done"]} for name in names},
        "events": {"done": {}},
        "transitions": [],
    }
    document = {
        "stateous": 1,
        "workflow": "orders",
        **flow,
        "schemas": {},
        "workflows": {"a": flow | {"states": {"b": {"emits": ["done"]}}}},
    }
    write_supervisor(parse_graph(document), tmp_path, url=URL)
    text = (tmp_path / "routines.py").read_text()
    for name in (
        "states_",
        "events_",
        "on_state_",
        "Context_",
        "a_b",
        "class_",
        "my_state",
        "a_b_",
    ):
        assert f"\ndef {name}(ctx: Context) -> " in text
    script = (
        "import routines; from stateous.model.marks import states_of; "
        "print(sorted(state.name for each in vars(routines).values() for state in states_of(each)))"
    )
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ran.stdout == f"{sorted([*names, 'a/b'])}\n"


def library_of(folder: Path) -> str:
    found = re.search('^__models__ = "(.*)"$', (folder / "contract.py").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def test_a_renewed_contract_keeps_its_library_unless_told_otherwise(
    graph: Graph, tmp_path: Path
) -> None:
    write_supervisor(graph, tmp_path, url=URL)
    assert library_of(tmp_path) == "msgspec"
    write_supervisor(graph, tmp_path, url=URL, models="pydantic")
    assert library_of(tmp_path) == "pydantic"
    write_supervisor(graph, tmp_path, url=URL)
    assert library_of(tmp_path) == "pydantic"
    write_supervisor(graph, tmp_path, url=URL, models="msgspec")
    assert library_of(tmp_path) == "msgspec"


@pytest.mark.parametrize("damaged", [b"", b"\xff", b'__models__ = "attrs"\n'])
def test_a_damaged_contract_is_renewed(damaged: bytes, graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "contract.py").write_bytes(damaged)
    write_supervisor(graph, tmp_path, url=URL)
    assert library_of(tmp_path) == "msgspec"


def test_new_stubs_leave_nothing_to_note(graph: Graph, tmp_path: Path) -> None:
    write_supervisor(graph, tmp_path, url=URL)
    assert notes_on(graph, tmp_path) == []


def test_states_without_a_routine_and_routines_without_a_state_are_noted(
    graph: Graph, tmp_path: Path
) -> None:
    (tmp_path / "routines.py").write_text(
        "import contract\n"
        "import contract as c\n"
        "from contract import states as s, code_check\n"
        "from stateous import on_state as does\n"
        "import other\n"
        "@does(s.draft)\n"
        "@does(s.printed)\n"
        "@stateous.on_state(contract.states.sent)\n"
        "@stateous.on_state(c.code_check.states.work)\n"
        "@stateous.on_state(code_check.states.work)\n"
        "@stateous.on_state(other.states.work)\n"
        "@stateous.on_state(chosen())\n"
        "def anything(ctx): ...\n"
    )
    assert notes_on(graph, tmp_path) == [
        "routines.py, line 7: contract.py has no states.printed any more",
        "routines.py, line 8: contract.py has no states.sent any more",
        "routines.py, line 9: contract.py has no code_check.states.work any more",
        "routines.py, line 10: contract.py has no code_check.states.work any more",
        f"no routine in {tmp_path} is for review",
    ]
    write_supervisor(graph, tmp_path, url=URL)
    assert "on_state(states.review)" not in (tmp_path / "routines.py").read_text()


def test_a_library_that_is_not_there_is_noted(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_supervisor(graph, tmp_path, url=URL, models="pydantic")
    assert notes_on(graph, tmp_path) == []
    monkeypatch.setitem(sys.modules, "pydantic", None)
    assert notes_on(graph, tmp_path) == ["contract.py needs pydantic, which is not installed here"]


def test_every_error_of_the_compiler_is_a_sentence_for_a_person() -> None:
    assert issubclass(CannotScaffold, StateousError)
    assert issubclass(CannotWrite, StateousError)
