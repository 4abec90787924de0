"""`stateous init` from a shell: a workflow that runs, and supervisors for it from each kind of source."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.processes import Running, Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    shell = Shell(tmp_path)
    shell.says("init", "workflow", "orders")
    return shell


def test_a_workflow_is_there_and_compiled(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    lines = shell.says("init", "workflow", "orders").splitlines()
    assert lines[:4] == [
        "wrote orders/flow.py",
        "wrote orders/schemas.py",
        "wrote orders/pyproject.toml",
        "wrote orders/build/orders.json",
    ]
    assert shell.says("compile", "orders/flow.py").splitlines()[0] == lines[3]
    again = shell.run("init", "workflow", "orders")
    assert (again.returncode, again.stdout) == (1, "")
    assert again.stderr == "error: orders/flow.py exists already, and is left as it is\n"


@pytest.mark.parametrize("source", ["orders", "orders/flow.py", "orders/build/orders.json"])
def test_a_supervisor_is_made_from_a_flow_or_a_graph_file(source: str, shell: Shell) -> None:
    done = shell.run("init", "supervisor", source, "worker")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "wrote worker/stateous.yaml",
        "wrote worker/contract.py",
        "wrote worker/routines.py",
    ]
    assert "url: 'http://127.0.0.1:8080'\n" in (shell.folder / "worker/stateous.yaml").read_text()


def test_a_supervisor_that_is_made_from_a_control_plane_works_for_it(
    shell: Shell, tmp_path: Path
) -> None:
    with shell.serve(f"sqlite:///{tmp_path}/tokens.db"):
        shell.says("init", "supervisor", shell.url, "worker", "--models", "pydantic")
        assert f"url: '{shell.url}'\n" in (tmp_path / "worker/stateous.yaml").read_text()
        shell.says("init", "supervisor", "orders/build/orders.json", "other")
        contracts = [(tmp_path / each / "contract.py").read_text() for each in ("worker", "other")]
        assert "class Review(pydantic.BaseModel):" in contracts[0]
        assert contracts[0].partition("class events")[2] == contracts[1].partition("class events")[
            2
        ].replace('"msgspec"', '"pydantic"')
        (tmp_path / "worker" / "routines.py").write_text(
            "from contract import events, states\n"
            "from stateous import Context, on_state\n\n\n"
            "@on_state(states.draft)\n"
            "def draft(ctx: Context) -> events.submitted:\n"
            "    return states.draft.outcome({'event': 'submitted'})\n\n\n"
            "@on_state(states.review)\n"
            "def review(ctx: Context) -> events.reviewed:\n"
            "    assert states.review.outcome_schema()['properties']['event']['const'] == 'reviewed'\n"
            '    return states.review.outcome(\'{"event": "reviewed", "payload": {"approved": true}}\')\n'
        )
        with Running("supervise", "worker", cwd=tmp_path) as worker:
            worker.says(" serves draft, review; ")
            shell.says("token", "start", "ORDER-1", "--context", "title=Chairs")
            worker.says("of ORDER-1: reported reviewed")
        history = shell.says("token", "history", "ORDER-1")
        assert 'event reviewed accepted in review with {"approved":true,"note":""}' in history


def test_again_only_the_contract_is_renewed_and_what_does_not_fit_is_noted(shell: Shell) -> None:
    shell.says("init", "supervisor", "orders", "worker", "--models", "pydantic")
    flow = shell.folder / "orders" / "flow.py"
    flow.write_text(flow.read_text().replace('"draft"', '"sketch"'))
    done = shell.run("init", "supervisor", "orders", "worker")
    assert (done.returncode, done.stdout) == (0, "wrote worker/contract.py\n")
    assert done.stderr == (
        "note: routines.py, line 8: contract.py has no states.draft any more\n"
        "note: no routine in worker is for sketch\n"
    )
    assert "import pydantic\n" in (shell.folder / "worker" / "contract.py").read_text()


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("http://127.0.0.1:1", "error: cannot reach the control plane at http://127.0.0.1:1"),
        ("nowhere", "error: nowhere"),
        ("nowhere/flow.py", "error: cannot read nowhere/flow.py"),
        ("orders/pyproject.toml", "error: orders/pyproject.toml is not a graph file"),
    ],
)
def test_a_source_that_cannot_be_read_is_told_and_nothing_is_written(
    source: str, said: str, shell: Shell
) -> None:
    done = shell.run("init", "supervisor", source, "worker")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(said)
    assert len(done.stderr.splitlines()) == 1
    assert not (shell.folder / "worker").exists()


def test_models_are_of_one_of_two_libraries(shell: Shell) -> None:
    done = shell.run("init", "supervisor", "orders", "worker", "--models", "attrs")
    assert done.returncode == 2
    assert done.stderr.startswith("error: invalid value for '--models': ")
