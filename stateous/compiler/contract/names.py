"""What workflows, models, events, states and fields are called in contract.py."""

from __future__ import annotations

import builtins
import re
from collections.abc import Collection, Iterable, Mapping
from keyword import iskeyword
from typing import Final
from unicodedata import normalize

from stateous.model.graph import Flow, Graph
from stateous.model.refusals import StateousError

MODULES: Final = frozenset(
    {
        "base64",
        "datetime",
        "decimal",
        "msgspec",
        "pydantic",
        "pydantic_parts",
        "stateous",
        "typing",
        "uuid",
    }
)
"""Modules that contract.py may import."""

TAKEN: Final = MODULES | {"annotations", "events", "states", *dir(builtins)}
"""Names that mean something in contract.py already."""


class CannotName(StateousError):
    """Names of the graph that cannot be names in contract.py; one sentence says which."""


def model_names(graph: Graph) -> dict[str, str]:
    """The Python name of each model. Raises CannotName."""
    return _python_names(sorted(graph.document["schemas"]), "model", taken=_taken(graph))


def children_names(graph: Graph) -> dict[str, str]:
    """The class of each child workflow in contract.py. Raises CannotName."""
    children = [name for name in graph.flows if name != graph.workflow]
    return _python_names(
        children, "workflow", taken=_taken(graph) | set(model_names(graph).values())
    )


def begun_names(graph: Graph) -> dict[str, str]:
    """The name of each workflow that a routine may run, within `workflows`. Raises CannotName."""
    begun = {
        child
        for flow in graph.flows.values()
        for state in flow.states.values()
        for child in state.children
    }
    return _python_names(
        [name for name in graph.flows if name in begun], "workflow", taken={"stateous"}
    )


def _taken(graph: Graph) -> frozenset[str]:
    """`workflows` is there only when a routine runs some: else it may be anybody's name."""
    some = any(state.children for flow in graph.flows.values() for state in flow.states.values())
    return TAKEN | {"workflows"} if some else TAKEN


def event_names(flow: Flow) -> dict[str, str]:
    """The class of each event within `events`. Raises CannotName."""
    return _python_names(flow.events, "event", taken={"stateous"})


def state_names(flow: Flow) -> dict[str, str]:
    """The name of each state with tasks within `states`. Raises CannotName."""
    with_tasks = (state.name for state in flow.states.values() if not state.parallel)
    return _python_names(with_tasks, "state", taken={"stateous", "events"})


def field_names(keys: Iterable[str], *, taken: Collection[str]) -> dict[str, str]:
    """A Python name for each key of a model. No name is the key of another field."""
    found: dict[str, str] = {}
    for key in (keys := list(keys)):
        name = _cleaned(key) or "field_"
        name = name if name[0].isalpha() else f"field_{name.lstrip('_')}"
        while (
            name in taken
            or iskeyword(name)
            or name in found.values()
            or (name != key and name in keys)
        ):
            name += "_"
        found[key] = name
    return found


def _python_names(names: Iterable[str], kind: str, *, taken: Collection[str]) -> dict[str, str]:
    """Return the Python name of each name: itself, or with `_` for what Python does not take.

    Raises CannotName when a name has nothing that Python takes, or two would be the same.
    """
    cleaned: dict[str, str] = {}
    for name in names:
        # Names that begin with `__` would be mangled within the classes that use them.
        written = _cleaned(name).lstrip("_")
        if not written:
            raise CannotName(
                f"the {kind} {name[:100]!r} cannot be a name in contract.py: rename it"
            )
        written = f"{kind}_{written}" if not written[0].isidentifier() else written
        if written in cleaned:
            other = cleaned[written]
            raise CannotName(
                f"the {kind}s {other[:100]!r} and {name[:100]!r} would both be {written[:100]} "
                "in contract.py: rename one of them"
            )
        cleaned[written] = name
    return {name: _free(written, taken, cleaned) for written, name in cleaned.items()}


def _cleaned(name: str) -> str:
    """The name with `_` for each character that Python does not take, or that it would change."""
    kept = f"_{name}".isidentifier() and normalize("NFKC", name) == name
    return name if kept else re.sub(r"[^A-Za-z0-9_]", "_", name)


def _free(written: str, taken: Collection[str], others: Mapping[str, str]) -> str:
    free = written
    while iskeyword(free) or free in taken or (free != written and free in others):
        free += "_"
    return free
