"""The graph document of a checked workflow (docs/graph-file.md)."""

from __future__ import annotations

from typing import Any

import msgspec

from stateous.compiler.checking import Checked, InvalidWorkflow
from stateous.compiler.models import ModelSchemas
from stateous.compiler.resolving import Resolved, Way
from stateous.model.graph import Graph, InvalidGraph, parse_graph
from stateous.model.graph_reading import FORMAT
from stateous.model.names import START
from stateous.model.workflow import WorkflowState

Document = dict[str, Any]


def graph_of(checked: Checked) -> Graph:
    """Return the graph of a checked workflow.

    Raises InvalidWorkflow when a control plane would not serve it, such as for a model with a pattern
    that is no regular expression.
    """
    main = checked.flows[0]
    try:
        return parse_graph(document_of(checked))
    except InvalidGraph as error:
        raise InvalidWorkflow(main.name, [str(error)]) from error
    except UnicodeEncodeError as error:
        problem = (
            f"a text holds half a character, {error.object[error.start]!a}, which JSON cannot hold"
        )
        raise InvalidWorkflow(main.name, [problem]) from error
    except ValueError as error:
        raise InvalidWorkflow(main.name, ["a number has too many digits"]) from error


def document_of(checked: Checked) -> Document:
    """Return the document, as JSON has it; the same workflow always gives the same one."""
    main, *children = checked.flows
    document: Document = {"stateous": FORMAT, "workflow": main.name, **_flow(main, checked.models)}
    if children:
        document["workflows"] = {child.name: _flow(child, checked.models) for child in children}
    schemas = checked.models.schemas
    document["schemas"] = {name: schemas[name] for name in sorted(schemas)}
    # Defaults in it may be what JSON has not: tuples, enums.
    return msgspec.json.decode(msgspec.json.encode(document))


def _flow(flow: Resolved, models: ModelSchemas) -> Document:
    document: Document = {}
    if (context := models.name_of(flow.workflow.context)) is not None:
        document["context"] = context
    document["states"] = {
        name: _state(state, flow.emits[name]) for name, state in flow.states.items()
    }
    document["events"] = {
        name: {} if (payload := models.name_of(event.payload)) is None else {"payload": payload}
        for name, event in flow.events.items()
    }
    document["transitions"] = [_transition(way) for way in flow.ways]
    return document


def _state(state: WorkflowState, emits: tuple[str, ...]) -> Document:
    document: Document = {}
    if state.parallel:
        document["parallel"] = [child.name for child in state.parallel]
        document["join"] = state.join or "all"
        if state.inputs is not None:
            document["inputs"] = list(state.inputs)
    else:
        document["emits"] = list(emits)
    if state.children:
        document["children"] = [child.name for child in state.children]
    if state.timeout is not None:
        document["timeout"] = state.timeout
    if state.retries is not None:
        document["retries"] = state.retries
    if state.state_log is not None:
        log = state.state_log
        document["state_log"] = {
            "handler": log.handler,
            "scope": log.scope,
            "options": dict(log.options),
        }
    return document


def _transition(way: Way) -> Document:
    document: Document = {"from": way.source, "to": way.target}
    if way.source != START:
        document["on"] = way.on
    if way.when is not None:
        document["when"] = way.when
    if way.otherwise:
        document["otherwise"] = True
    return document
