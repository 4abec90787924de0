"""`compile`: from a flow.py to its graph file (docs/cli.md)."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import msgspec

from stateous.compiler.checking import check
from stateous.compiler.contract import contract_of
from stateous.compiler.document import graph_of
from stateous.compiler.importing import imported
from stateous.model.graph import Graph
from stateous.model.refusals import StateousError
from stateous.model.workflow import Workflow


class NoWorkflow(StateousError):
    """A flow.py that has no workflow, or not one that is the main one."""


class CannotWrite(StateousError):
    """A file cannot be written."""


class LoadedFlow(msgspec.Struct, frozen=True):
    """The main workflow of a flow.py, checked, and its graph."""

    workflow: Workflow
    compiled: Graph

    def graph(self) -> Graph:
        """The graph, as `compile` writes it."""
        return self.compiled


def load_flow(path: Path) -> LoadedFlow:
    """Import and check a flow.py, or that of a folder. What it imported is forgotten.

    Raises CannotImport, NoWorkflow, or InvalidWorkflow with one line for each problem.
    """
    path = path / "flow.py" if path.is_dir() else path
    # The models' annotations are looked up in their modules, so all is done before these are forgotten.
    with imported(path) as module:
        workflow = _main_of(module, path)
        graph = graph_of(check(workflow))
    contract_of(graph)
    return LoadedFlow(workflow, graph)


def compile_flow(path: Path, out: Path | None = None) -> Path:
    """Write the graph file of a flow.py to `out`, or to `build/<workflow>.json` beside it; return its path.

    Raises what `load_flow` raises, and CannotWrite. Nothing is written unless the whole workflow is valid.
    """
    graph = load_flow(path).graph()
    folder = path if path.is_dir() else path.parent
    target = out if out is not None else folder / "build" / f"{graph.workflow}.json"
    text = json.dumps(graph.document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_text(target, text)
    return target


def write_text(path: Path, text: str) -> None:
    """Write a file, and its folder if there is none. Raises CannotWrite, with the reason."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CannotWrite(f"cannot write {path}: {error.strerror or error}") from error


def _main_of(module: ModuleType, path: Path) -> Workflow:
    """The one workflow of the module that no parallel state of another one runs."""
    found: dict[int, Workflow] = {
        id(value): value for value in vars(module).values() if isinstance(value, Workflow)
    }
    if not found:
        raise NoWorkflow(f"{path} has no workflow: write name = Workflow('name', …)")
    run = {
        id(child)
        for workflow in found.values()
        for state in workflow.states
        for child in state.parallel
        if child is not workflow
    }
    mains = [workflow for key, workflow in found.items() if key not in run]
    if len(mains) == 1:
        return mains[0]
    if not mains:
        raise NoWorkflow(f"{path} has no main workflow: each one is run by a state of another one")
    names = ", ".join(f"'{workflow.name}'" for workflow in mains)
    raise NoWorkflow(
        f"{path} has {len(mains)} main workflows: {names}; keep one, or run the others in a parallel state of it"
    )
