"""Writes the events and states of a workflow, and what agents may answer for its states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from stateous.compiler.contract.literals import written_value
from stateous.compiler.contract.names import begun_names, event_names, state_names
from stateous.model.graph import Flow, Graph
from stateous.model.outcome_schemas import reached_from

_INDENT: Final = "    "


def written_flow(graph: Graph, flow: Flow, models: Mapping[str, str], *, within: str = "") -> str:
    """The classes `events` and `states` of a workflow. `within` is the class of a child, with a dot."""
    return f"{_events(flow, models)}\n\n\n{_states(graph, flow, within)}"


def written_child(graph: Graph, flow: Flow, models: Mapping[str, str], *, name: str) -> str:
    """The class of a child workflow."""
    body = written_flow(graph, flow, models, within=f"{name}.").replace("\n\n\n", "\n\n")
    return "\n".join(
        [f"class {name}:", *(_INDENT + line if line else line for line in body.split("\n"))]
    )


def written_workflows(graph: Graph, models: Mapping[str, str]) -> str:
    """The class of the workflows that routines may run; empty when there are none."""
    names = begun_names(graph)
    lines = ["class workflows:"]
    for workflow, written in names.items():
        model = graph.flows[workflow].context
        of = "dict[str, typing.Any]" if model is None else models[model]
        given = "" if model is None else f", {of}"
        lines.append(
            f"    {written}: stateous.WorkflowRef[{of}] = "
            f"stateous.WorkflowRef({written_value(workflow)}{given})"
        )
    return "\n".join(lines) if names else ""


def _events(flow: Flow, models: Mapping[str, str]) -> str:
    names = event_names(flow)
    lines = ["class events:"]
    for event in flow.events.values():
        lines += [
            f"    class {names[event.name]}(stateous.Event):",
            f"        name = {written_value(event.name)}",
        ]
        if event.payload is not None:
            lines += [
                f"        model = {models[event.payload]}",
                f"        schema = {written_value(event.payload)}",
            ]
        lines.append("")
    return "\n".join(lines[:-1] if flow.events else [*lines, "    pass"])


def _states(graph: Graph, flow: Flow, within: str) -> str:
    names, events = state_names(flow), event_names(flow)
    lines = ["class states:"]
    for state in map(flow.states.__getitem__, names):
        queue = written_value(graph.queue(flow.workflow, state.name))
        log = None if state.state_log is None else written_value(state.state_log.handler)
        if not state.emits:
            more = "" if log is None else f", state_log={log}"
            lines.append(f"    {names[state.name]} = stateous.StateRef({queue}{more})")
            continue
        kinds = " | ".join(f"{within}events.{events[event]}" for event in state.emits)
        emits = "".join(f"{written_value(event)}, " for event in state.emits)
        emits = emits.rstrip() if len(state.emits) == 1 else emits.rstrip(", ")
        lines += [
            f"    {names[state.name]}: stateous.StateRef[{kinds}] = stateous.StateRef(",
            f"        {queue},",
            f"        emits=({emits}),",
            f"        answers=lambda: _answers({within}events),",
            *([] if log is None else [f"        state_log={log},"]),
            "    )",
        ]
    return "\n".join(lines if names else [*lines, "    pass"])


def written_answers(graph: Graph, library: str) -> str:
    """The function that `outcome_schema()` and `outcome()` need; empty when no state emits an event."""
    flows = graph.flows.values()
    emitted = [
        (flow, event) for flow in flows for state in flow.states.values() for event in state.emits
    ]
    if not emitted:
        return ""
    payloads = {flow.events[event].payload for flow, event in emitted}
    schemas: Mapping[str, Any] = graph.document["schemas"]
    known = reached_from((name for name in payloads if name is not None), schemas)
    lines = [
        "def _answers(events: type[object]) -> stateous.Answers:",
        f"    schemas: dict[str, typing.Any] = {{{''.join(_entries(known))}",
        f"    return stateous.Answers(events, library={written_value(library)}, schemas=schemas)",
    ]
    lines[1] += "    }" if known else "}"
    return "\n".join(lines)


def _entries(schemas: Mapping[str, Any]) -> Iterable[str]:
    for number, name in enumerate(sorted(schemas)):
        start = "" if number else "\n"
        yield f"{start}        {written_value(name)}: {written_value(schemas[name])},\n"
