"""Writes contract.py: a workflow's models, events and states, as the routines of a supervisor use them (docs/contract.md).

The same graph always gives the same text.
"""

from __future__ import annotations

from stateous.compiler.contract.flows import (
    written_answers,
    written_child,
    written_flow,
    written_workflows,
)
from stateous.compiler.contract.literals import docstring, names_in, written_value
from stateous.compiler.contract.models import STRUCTS, Library, written_models
from stateous.compiler.contract.names import (
    MODULES,
    CannotName,
    children_names,
    event_names,
    model_names,
    state_names,
)
from stateous.model.graph import Graph

__all__ = [
    "STRUCTS",
    "CannotName",
    "Library",
    "children_names",
    "contract_of",
    "docstring",
    "event_names",
    "state_names",
    "written_value",
]


def contract_of(graph: Graph, library: Library = STRUCTS) -> str:
    """Return the text of contract.py, with the models of that library. Raises CannotName, in one sentence."""
    names = model_names(graph)
    children = children_names(graph)
    parts = written_models(graph, library)
    parts.append(written_flow(graph, graph.flows[graph.workflow], names))
    parts += [
        written_child(graph, graph.flows[child], names, name=name)
        for child, name in children.items()
    ]
    if workflows := written_workflows(graph, names):
        parts.append(workflows)
    if answers := written_answers(graph, library):
        parts.append(answers)
    body = "\n\n\n".join(parts)
    opening = f"The contract of the workflow {graph.workflow}: made by `stateous init supervisor`, not by hand."
    return (
        f"{docstring(opening)}\n"
        "\n# ruff: noqa\nfrom __future__ import annotations\n\n"
        f"{_imports(body)}\n"
        f"__workflow__ = {written_value(graph.workflow)}\n"
        f"__checksum__ = {written_value(graph.checksum)}\n"
        f"__models__ = {written_value(library)}\n\n\n"
        f"{body}\n"
    )


def _imports(body: str) -> str:
    """The modules that a text uses: those of Python, an empty line, the others."""
    used = names_in(body) & MODULES
    others = {"msgspec", "pydantic", "stateous"} & used
    own = "".join(f"import {name}\n" for name in sorted(used - others - {"pydantic_parts"}))
    text = (f"{own}\n" if own else "") + "".join(f"import {name}\n" for name in sorted(others))
    return text + (
        "from stateous.model import pydantic_parts\n" if "pydantic_parts" in used else ""
    )
