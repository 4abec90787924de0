"""The first files of a workflow, and of a supervisor's folder. What a person wrote is never written over."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path
from typing import Final

from stateous.compiler.contract import STRUCTS, Library, contract_of
from stateous.compiler.naming import workflow_name_problem
from stateous.compiler.served import served_in
from stateous.compiler.stubs import routines_text, stubs_of
from stateous.compiler.templates import FLOW, PYPROJECT, SCHEMAS, SETTINGS
from stateous.compiler.writing import write_text
from stateous.model.graph import Graph
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


def write_supervisor(
    graph: Graph, folder: Path, *, url: str, models: Library | None = None
) -> list[Path]:
    """Write a supervisor's folder for a graph; return the paths that were written.

    contract.py is always written, with the models of that library: without one, it is the library that the
    folder's contract has now, or msgspec. stateous.yaml and routines.py are written only where there are none,
    and routines.py leaves out the states that a file of the folder has a routine for.
    Raises CannotName for a graph that contract.py cannot speak of, and CannotWrite.
    """
    contract = folder / "contract.py"
    files = {contract: contract_of(graph, models or _library_of(contract))}
    settings, routines = folder / "stateous.yaml", folder / "routines.py"
    if not settings.exists():
        files = {settings: SETTINGS.format(url=url.replace("'", "''")), **files}
    if not routines.exists():
        served = {each.reference for each in served_in(folder)}
        files[routines] = routines_text(graph, served=served)
    return _written(files)


def notes_on(graph: Graph, folder: Path) -> list[str]:
    """What a person may want to know of a folder: routines without a state, states without a routine, and the like."""
    states = {stub.reference: stub.queue for stub in stubs_of(graph)}
    served = served_in(folder)
    notes = [
        f"{each.file}, line {each.line}: contract.py has no {each.reference} any more"
        for each in served
        if each.known and each.reference not in states
    ]
    missing = states.keys() - {each.reference for each in served}
    left = [queue for reference, queue in states.items() if reference in missing]
    if left:
        notes.append(f"no routine in {folder} is for {', '.join(left)}")
    if _library_of(folder / "contract.py") == "pydantic" and find_spec("pydantic") is None:
        notes.append("contract.py needs pydantic, which is not installed here")
    return notes


def _library_of(contract: Path) -> Library:
    """The library of a contract that is there already; msgspec for one that does not say it."""
    try:
        said = re.search(r'^__models__ = "(\w+)"$', contract.read_text("utf-8"), re.MULTILINE)
    except (OSError, ValueError):
        return STRUCTS
    return "pydantic" if said is not None and said[1] == "pydantic" else STRUCTS


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
