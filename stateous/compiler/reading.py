"""Whether guards and inputs read only what can be there: fields of models, declared events, children's payloads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stateous.compiler.models import ModelSchemas
from stateous.compiler.resolving import Resolved, Way, run_by
from stateous.model.guard_tree import Branches, Count, Field, reads_of
from stateous.model.names import JOINED, OWN_EVENTS, START


def guard_problems(
    flow: Resolved, flows: Mapping[str, Resolved], models: ModelSchemas
) -> Iterator[str]:
    """Every guard that reads what is certainly never there."""
    for way in flow.ways:
        if way.guard is None:
            continue
        for read in reads_of(way.guard.tree):
            match read:
                case Field(place="ctx", name=name):
                    fields = _fields(flow.workflow.context, models)
                    problem = _missing("ctx", name, fields, "the context model")
                case Field(place="payload", name=name):
                    problem = _payload_problem(way, name, flow, models)
                case Field(place="branch payload", name=name):
                    problem = _branch_problem(way, name, flow, flows, models)
                case Count(event=event):
                    problem = _count_problem(way, event, flow)
                case Field() | Branches():
                    problem = None
            if problem:
                yield f"the guard {way.when!r} of {way} {problem}"


def input_problems(
    flow: Resolved, flows: Mapping[str, Resolved], models: ModelSchemas
) -> Iterator[str]:
    """Every parallel state whose inputs leave out what a child needs, or name what is not there."""
    context = _fields(flow.workflow.context, models)
    for name, state in flow.states.items():
        inputs = state.inputs or ()
        for key in inputs:
            if context is not None and key not in context:
                yield f"state '{name}' hands over '{key}', which is no field of the context model"
        for child in run_by(state):
            found = flows.get(child.name)
            model = None if found is None else models.name_of(found.workflow.context)
            for key in sorted(models.required_of(model) - set(inputs)):
                yield f"state '{name}' must hand '{key}' over to workflow '{child.name}': add it to inputs"


def _fields(model: type | None, models: ModelSchemas) -> frozenset[str] | None:
    return None if model is None else models.fields_of(models.name_of(model))


def _missing(place: str, name: str, fields: frozenset[str] | None, holder: str) -> str | None:
    if fields is None or name in fields:
        return None
    shown = f"ctx['{name}']" if place == "ctx" else f"{place}.{name}"
    return f"reads {shown}, which is no field of {holder}"


def _payload_problem(way: Way, name: str, flow: Resolved, models: ModelSchemas) -> str | None:
    if way.source == START:
        return "reads the payload, and at START there is none"
    if way.on == JOINED:
        return _missing("payload", name, frozenset({"branches"}), "'joined'")
    event = flow.events.get(way.on or "")
    if event is None or event.payload is None:
        return f"reads the payload, and '{way.on}' carries none"
    return _missing("payload", name, _fields(event.payload, models), f"the model of '{way.on}'")


def _branch_problem(
    way: Way, name: str, flow: Resolved, flows: Mapping[str, Resolved], models: ModelSchemas
) -> str | None:
    """A branch's payload is that of some event of a child: none of them may have the field."""
    state = flow.states.get(way.source)
    known: set[str] = {"branches"}
    for child in () if state is None else run_by(state):
        found = flows.get(child.name)
        for event in () if found is None else found.events.values():
            fields = frozenset[str]() if event.payload is None else _fields(event.payload, models)
            if fields is None:
                return None
            known |= fields
    return _missing("payload", name, frozenset(known), "any event of the workflows it runs")


def _count_problem(way: Way, event: str, flow: Resolved) -> str | None:
    if way.source == START:
        return "counts events, and at START there are none"
    if event not in flow.events and event not in OWN_EVENTS:
        return f"counts '{event}', which is no event of the workflow"
    return None
