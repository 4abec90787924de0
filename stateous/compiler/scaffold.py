"""The first files of a workflow, and of a supervisor's folder. What a person wrote is never written over."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from keyword import iskeyword
from pathlib import Path
from typing import Final

from stateous.compiler.contract import children_names, contract_of, event_names, state_names
from stateous.compiler.flow import write_text
from stateous.compiler.naming import workflow_name_problem
from stateous.compiler.templates import FLOW, PYPROJECT, ROUTINE, ROUTINES, SCHEMAS, SETTINGS
from stateous.model.graph import Flow, Graph
from stateous.model.refusals import StateousError

_TAKEN_IN_FLOW: Final = frozenset(
    {"draft", "review", "submitted", "reviewed", "Review", "START", "END", "Workflow"}
)


class CannotScaffold(StateousError):
    """The first files cannot be written: the name does not do, or there are files already."""


def write_workflow(name: str, folder: Path) -> list[Path]:
    """Write a small workflow that compiles and runs; return the paths in the order of writing.

    Raises CannotScaffold when the name does not do or one of the files exists, and CannotWrite.
    """
    if problem := workflow_name_problem(name):
        raise CannotScaffold(f"a workflow cannot be called {name[:100]!r}: it {problem}")
    variable, context = name.replace("-", "_"), _context_name(name)
    if iskeyword(variable) or variable in {*_TAKEN_IN_FLOW, context}:
        variable += "_workflow"
    names = {"name": name, "variable": variable, "context": context}
    files = {
        folder / "flow.py": FLOW.format_map(names),
        folder / "schemas.py": SCHEMAS.format_map(names),
        folder / "pyproject.toml": PYPROJECT.format_map(names),
    }
    for path in files:
        if path.exists():
            raise CannotScaffold(f"{path} exists already, and is left as it is")
    return _written(files)


def write_supervisor(graph: Graph, folder: Path, *, url: str) -> list[Path]:
    """Write a supervisor's folder for a graph; return the paths that were written.

    contract.py is always written. stateous.yaml and routines.py are written only where there are none,
    and routines.py leaves out the states that a file of the folder has a routine for.
    Raises CannotName for a graph that contract.py cannot speak of, and CannotWrite.
    """
    files = {folder / "contract.py": contract_of(graph)}
    settings, routines = folder / "stateous.yaml", folder / "routines.py"
    if not settings.exists():
        files = {settings: SETTINGS.format(url=url.replace("'", "''")), **files}
    if not routines.exists():
        files[routines] = _routines(graph, served=_served(folder))
    return _written(files)


def _written(files: Mapping[Path, str]) -> list[Path]:
    for path, text in files.items():
        write_text(path, text)
    return list(files)


def _context_name(workflow: str) -> str:
    """`orders` → `Order`, `code-reviews` → `CodeReview`."""
    words = re.split(r"[-_]+", workflow)
    name = "".join(word[:1].upper() + word[1:] for word in words)
    name = name[:-1] if name.endswith("s") and len(name) > 3 and not name.endswith("ss") else name
    return f"{name}Context" if name in _TAKEN_IN_FLOW or iskeyword(name) else name


def _routines(graph: Graph, *, served: frozenset[str]) -> str:
    """The text of routines.py: a stub for each state with tasks that is not served yet."""
    stubs: list[str] = []
    names: set[str] = set()
    for flow in graph.flows.values():
        for stub, used in _stubs(graph, flow, served):
            stubs.append(stub)
            names |= used
    if not stubs:
        return '"""The routines of this supervisor: every state has one in another file."""\n'
    return ROUTINES.format(names=", ".join(sorted(names)), stubs="".join(stubs))


def _stubs(graph: Graph, flow: Flow, served: frozenset[str]) -> Iterator[tuple[str, set[str]]]:
    is_main = flow.workflow == graph.workflow
    child = "" if is_main else children_names(graph)[flow.workflow]
    prefix = "" if is_main else f"{child}."
    events, states = event_names(flow), state_names(flow)
    for state in flow.states.values():
        reference = f"{prefix}states.{states.get(state.name)}"
        if state.parallel or reference in served:
            continue
        returned = " | ".join(f"{prefix}events.{events[event]}" for event in state.emits)
        function = f"{child}_{states[state.name]}" if child else states[state.name]
        stub = ROUTINE.format(
            reference=reference,
            function=function,
            returned=returned or "None",
            queue=graph.queue(flow.workflow, state.name),
        )
        yield stub, {child} if child else {"states", *(["events"] if returned else [])}


def _served(folder: Path) -> frozenset[str]:
    """What stands in `@on_state(…)` in the folder's files, such as `states.draft`.

    A file that is no Python is passed over: it serves nothing, and `supervise` will say what is wrong.
    """
    found: set[str] = set()
    for path in sorted(file for file in folder.glob("*.py") if file.is_file()):
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and ast.unparse(node.func).endswith("on_state")
                and node.args
            ):
                found.add(ast.unparse(node.args[0]))
    return frozenset(found)
