"""Writes contract.py: a workflow's models, events and states, as the routines of a supervisor use them.

The same graph always gives the same text. Models are msgspec Structs with keyword arguments only.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable, Mapping
from keyword import iskeyword
from typing import Any, Final, cast

from stateous.compiler.contract_types import ANY, Types, written_value
from stateous.model.graph import Flow, Graph
from stateous.model.refusals import StateousError

Schema = Mapping[str, Any]

TAKEN: Final = frozenset(
    {"events", "states", "stateous", "msgspec", "typing", "annotations", *dir(builtins)}
)
"""Names that mean something in contract.py already."""

_INDENT: Final = "    "


class CannotName(StateousError):
    """A name of the graph cannot be, or is twice, a name in contract.py."""


def contract_of(graph: Graph) -> str:
    """Return the text of contract.py. Raises CannotName, with the name, in one sentence."""
    schemas: Mapping[str, Schema] = graph.document["schemas"]
    names = _python_names(schemas, "model", taken=TAKEN)
    children = children_names(graph)
    classes = {name: names[name] for name in schemas if _has_fields(schemas[name])}
    types = Types(schemas, classes)
    parts = [*_models(schemas, names, classes, types)]
    parts.append(_flow(graph, graph.flows[graph.workflow], names))
    for child, name in children.items():
        body = _flow(graph, graph.flows[child], names)
        parts.append(f"class {name}:\n{_indented(body)}")
    body = "\n\n\n".join(parts)
    imports = [name for name in ("typing", "msgspec") if f"{name}." in body]
    return (
        f'"""The contract of the workflow {graph.workflow}: made by `stateous init supervisor`, not by hand."""\n'
        "\n# ruff: noqa\nfrom __future__ import annotations\n\n"
        + "".join(
            f"import {name}\n\n" if name == "typing" else f"import {name}\n" for name in imports
        )
        + "import stateous\n\n"
        f"__workflow__ = {written_value(graph.workflow)}\n"
        f"__checksum__ = {written_value(graph.checksum)}\n\n\n"
        f"{body}\n"
    )


def children_names(graph: Graph) -> dict[str, str]:
    """The class of each child workflow in contract.py. Raises CannotName."""
    children = [name for name in graph.flows if name != graph.workflow]
    return _python_names(children, "workflow", taken=TAKEN | set(graph.document["schemas"]))


def event_names(flow: Flow) -> dict[str, str]:
    """The class of each event within `events`. Raises CannotName."""
    return _python_names(flow.events, "event", taken=("stateous",))


def state_names(flow: Flow) -> dict[str, str]:
    """The name of each state with tasks within `states`. Raises CannotName."""
    with_tasks = (state.name for state in flow.states.values() if not state.parallel)
    return _python_names(with_tasks, "state", taken=("stateous",))


def _python_names(names: Iterable[str], kind: str, *, taken: Iterable[str] = ()) -> dict[str, str]:
    """Return the Python name of each name: itself, or with `_` for what Python does not take.

    Raises CannotName when a name has nothing that Python takes, or is not its own any more.
    """
    found: dict[str, str] = {}
    used = set(taken)
    for name in names:
        written = re.sub(r"[^A-Za-z0-9_]", "_", name).lstrip("_")
        written = f"{written}_" if iskeyword(written) else written
        # A class is known by its model's name; a private one would be mangled where events name it.
        if not written.isidentifier() or (kind == "model" and written != name):
            raise CannotName(
                f"the {kind} {name[:100]!r} cannot be a name in contract.py: rename it"
            )
        if written in used:
            raise CannotName(
                f"the {kind} {name[:100]!r} has a name that is taken in contract.py: rename it"
            )
        used.add(written)
        found[name] = written
    return found


def _has_fields(schema: object) -> bool:
    return isinstance(schema, Mapping) and isinstance(
        cast("Schema", schema).get("properties"), Mapping
    )


def _models(
    schemas: Mapping[str, Schema],
    names: Mapping[str, str],
    classes: Mapping[str, str],
    types: Types,
) -> Iterable[str]:
    for name in sorted(classes):
        yield _class(classes[name], schemas[name], types)
    for name in sorted(schemas):
        if name not in classes:
            yield f"{names[name]} = {types.of(schemas[name])}"


def _class(name: str, schema: Schema, types: Types) -> str:
    lines = [f"class {name}(msgspec.Struct, kw_only=True):"]
    description = schema.get("description")
    if isinstance(description, str) and description.strip():
        lines += [_INDENT + written_value(description.strip()), ""]
    properties: Mapping[str, object] = schema["properties"]
    required = set(schema.get("required", ()))
    written = {key: types.of(value) for key, value in properties.items()}
    # An annotation that is looked up must not find a field of the same name.
    in_use = {word for text in written.values() for word in re.findall(r"\w+", text)}
    fields = _field_names(properties, in_use | {"msgspec", "typing"})
    for key, value in properties.items():
        lines.append(
            _INDENT + _field(key, fields[key], written[key], value, required=key in required)
        )
    return "\n".join(lines if properties else [*lines, f"{_INDENT}pass"])


def _field_names(keys: Iterable[str], in_use: set[str]) -> dict[str, str]:
    """A Python name for each key; one that Python cannot have is changed and keeps its key as `name=`."""
    found: dict[str, str] = {}
    for key in keys:
        name = re.sub(r"[^A-Za-z0-9_]", "_", key) or "_"
        name = name if name[0].isalpha() else f"field_{name.lstrip('_')}"
        while name in in_use or iskeyword(name) or name in found.values():
            name += "_"
        found[key] = name
    return found


def _field(key: str, name: str, written: str, schema: object, *, required: bool) -> str:
    options = [] if name == key else [f"name={written_value(key)}"]
    has_default = isinstance(schema, Mapping) and "default" in schema
    default: object = cast("Schema", schema)["default"] if has_default else None
    if has_default and isinstance(default, list | dict):
        if not default and not options:
            return f"{name}: {written} = {written_value(cast('object', default))}"
        options.insert(0, f"default_factory=lambda: {written_value(cast('object', default))}")
    elif has_default:
        if options:
            options.insert(0, f"default={written_value(default)}")
        else:
            return f"{name}: {written} = {written_value(default)}"
    elif not required:
        written = written if written == ANY else f"{written} | msgspec.UnsetType"
        if not options:
            return f"{name}: {written} = msgspec.UNSET"
        options.insert(0, "default=msgspec.UNSET")
    return (
        f"{name}: {written} = msgspec.field({', '.join(options)})"
        if options
        else f"{name}: {written}"
    )


def _flow(graph: Graph, flow: Flow, models: Mapping[str, str]) -> str:
    events, states = event_names(flow), state_names(flow)
    lines = ["class events:"]
    for name, event in flow.events.items():
        payload = "None" if event.payload is None else models[event.payload]
        lines += [
            f"    class {events[name]}(stateous.Event):",
            f"        name = {written_value(name)}",
            f"        model = {payload}",
            "",
        ]
    lines = lines[:-1] if flow.events else [*lines, "    pass"]
    lines += ["", "", "class states:"]
    for state in map(flow.states.__getitem__, states):
        queue = written_value(graph.queue(flow.workflow, state.name))
        emits = "".join(f"{written_value(event)}, " for event in state.emits)
        emits = (
            f", emits=({emits.rstrip() if len(state.emits) == 1 else emits.rstrip(', ')})"
            if emits
            else ""
        )
        lines.append(f"    {states[state.name]} = stateous.StateRef({queue}{emits})")
    if not states:
        lines.append("    pass")
    return "\n".join(lines)


def _indented(text: str) -> str:
    text = text.replace("\n\n\n", "\n\n")
    return "\n".join(f"{_INDENT}{line}" if line else line for line in text.split("\n"))
