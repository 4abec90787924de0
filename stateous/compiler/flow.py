"""`compile`: from a flow.py to its graph file (docs/cli.md)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

import msgspec

from stateous.compiler.checking import Checked, InvalidWorkflow, examine
from stateous.compiler.contract import CannotName, contract_of
from stateous.compiler.document import graph_of
from stateous.compiler.importing import imported
from stateous.compiler.proof.findings import Findings
from stateous.compiler.settings import workflows_in
from stateous.compiler.writing import write_text
from stateous.model.graph import Graph
from stateous.model.refusals import StateousError
from stateous.model.workflow import Workflow


class NoWorkflow(StateousError):
    """A flow.py that has no workflow, or not one that is the main one."""


class LoadedFlow(msgspec.Struct, frozen=True):
    """The main workflow of a flow.py, its graph, what was proved of its guards, and warnings as sentences."""

    workflow: Workflow
    compiled: Graph
    findings: Findings
    warnings: tuple[str, ...]

    def graph(self) -> Graph:
        """The graph, as `compile` writes it."""
        return self.compiled


def load_flow(path: Path, *, strict: bool = False) -> LoadedFlow:
    """Import and check a flow.py, or that of a folder. What it imported is forgotten.

    Raises CannotImport, NoWorkflow, or InvalidWorkflow with one line for each problem. When `strict`,
    warnings are problems.
    """
    return _loaded(path, lambda it: (*it.problems, *it.overlaps, *(it.warnings if strict else ())))


def load_drawing(path: Path) -> LoadedFlow:
    """As `load_flow`, also when guards overlap: `findings` has these, and the graph is not to be served."""
    return _loaded(path, lambda it: it.problems)


def _loaded(path: Path, refused_for: Callable[[Checked], tuple[str, ...]]) -> LoadedFlow:
    path = path / "flow.py" if path.is_dir() else path
    # The models' annotations are looked up in their modules, so all is done before these are forgotten.
    with imported(path) as module:
        workflow = _main_of(module, path)
        checked = examine(workflow)
        if problems := refused_for(checked):
            raise InvalidWorkflow(workflow.name, problems)
        graph = graph_of(checked)
    try:
        contract_of(graph)
    except CannotName as error:
        raise InvalidWorkflow(workflow.name, [str(error)]) from error
    return LoadedFlow(workflow, graph, checked.findings, checked.warnings)


def compile_flow(path: Path, out: Path | None = None) -> Path:
    """Write the graph file of a flow.py to `out`, or to `build/<workflow>.json` beside it; return its path.

    Raises what `load_flow` raises, and CannotWrite. Nothing is written unless the whole workflow is valid.
    """
    return write_graph(load_flow(path).graph(), path, out)


def write_graph(graph: Graph, path: Path, out: Path | None = None) -> Path:
    """Write the graph of the flow.py at `path` where `compile_flow` does. Raises CannotWrite."""
    folder = path if path.is_dir() else path.parent
    target = out if out is not None else folder / "build" / f"{graph.workflow}.json"
    text = json.dumps(graph.document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_text(target, text)
    return target


def _main_of(module: ModuleType, path: Path) -> Workflow:
    """The one workflow of the module that no state of another one runs."""
    found: dict[int, Workflow] = {
        id(value): value for value in vars(module).values() if isinstance(value, Workflow)
    }
    if not found:
        raise NoWorkflow(f"{path} has no workflow: write name = Workflow('name', …)")
    run = _run_below(found.values())
    mains = [workflow for key, workflow in found.items() if key not in run]
    if len(mains) == 1:
        return mains[0]
    if not mains:
        raise NoWorkflow(f"{path} has no main workflow: each one is run by a state of another one")
    names = ", ".join(f"'{workflow.name}'" for workflow in mains)
    raise NoWorkflow(
        f"{path} has {len(mains)} main workflows: {names}; keep one, or run the others in a state of it"
    )


def _run_below(workflows: Iterable[Workflow]) -> set[int]:
    """The ids of all that workflows run, however deep. That one runs itself is told of it elsewhere."""
    run: set[int] = set()
    waiting = list(workflows)
    while waiting:
        workflow = waiting.pop()
        for state in workflow.states:
            for child in workflows_in(state):
                if child is not workflow and id(child) not in run:
                    run.add(id(child))
                    waiting.append(child)
    return run
