"""What a state says about itself: its timeout, its retries, and the workflows it runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec

from stateous.compiler.problems import Problem, is_text, near, shown
from stateous.model.durations import parse_duration
from stateous.model.state_logs import StateLog, state_log_problem
from stateous.model.workflow import Workflow, WorkflowState


def setting_problems(state: WorkflowState) -> Iterator[Problem]:
    """Every setting of a state that is none, or that does not go with another one."""
    for sentence in _sentences(state, f"state {shown(state.name)}"):
        yield Problem(sentence, (state.declared,))


def run_by(state: WorkflowState) -> tuple[Workflow, ...]:
    """The workflows that a state runs in parallel, without what is none: that is told as a problem of the state."""
    return tuple(child for child in _workflows(state.parallel) if is_text(child.name))


def begun_by(state: WorkflowState) -> tuple[Workflow, ...]:
    """The workflows that a state's routine may run, likewise."""
    return tuple(child for child in _workflows(state.children) if is_text(child.name))


def below(state: WorkflowState) -> tuple[Workflow, ...]:
    """All workflows that come to run because of a state, each once."""
    return tuple(dict.fromkeys((*run_by(state), *begun_by(state))))


def workflows_in(state: WorkflowState) -> tuple[Workflow, ...]:
    """As `below`, whatever their names are."""
    return (*_workflows(state.parallel), *_workflows(state.children))


def _workflows(given: Sequence[Any]) -> Iterator[Workflow]:
    return (child for child in _as_given(given) if isinstance(child, Workflow))


def inputs_of(state: WorkflowState) -> tuple[str, ...]:
    """The inputs of a state, each once, without what is no name: that is told as a problem of the state."""
    names = (key for key in _as_given(state.inputs or ()) if isinstance(key, str))
    return tuple(dict.fromkeys(names))


def _sentences(state: WorkflowState, place: str) -> Iterator[str]:
    if state.timeout is not None:
        try:
            parse_duration(state.timeout)
        except ValueError as error:
            yield f"the timeout of {place}: {error}"
    retries: Any = state.retries
    if retries is not None and (type(retries) is not int or retries < 0):
        yield f"the retries of {place} must be a whole number, 0 or more, and are {shown(retries)}"
    join: Any = state.join
    if join is not None and (not isinstance(join, str) or join not in ("all", "any")):
        yield f"the join of {place} must be 'all' or 'any', and is {shown(join)}{near(join, ('all', 'any'))}"
    yield from _input_sentences(state, place)
    yield from _state_log_sentences(state, place)
    yield from _children_sentences(state, place)
    if state.parallel:
        yield from _parallel_sentences(state, place)
    elif join is not None or state.inputs is not None:
        yield f"{place} runs no workflows, so it takes no join and no inputs"


def _state_log_sentences(state: WorkflowState, place: str) -> Iterator[str]:
    log: Any = state.state_log
    if log is None:
        return
    if not isinstance(log, StateLog):
        yield f"the state log of {place} must be a StateLog, and is {shown(log)}"
        return
    problem = state_log_problem(log.handler, log.scope, log.options)
    if problem is not None:
        yield f"the state log of {place}: {problem}"
        return
    try:
        foreign = _foreign_to_json(dict(log.options))
        msgspec.json.encode(dict(log.options))
    except (TypeError, ValueError, RecursionError) as error:
        yield f"the options of the state log of {place} are no JSON: {error}"
        return
    if foreign is not None:
        yield f"the options of the state log of {place} are no JSON: {foreign} is none"


def _foreign_to_json(value: object) -> str | None:
    """What in it is written as something else, such as null for an infinite number; None: nothing is."""
    match value:
        case None | bool() | int() | str():
            return None
        case float():
            return None if math.isfinite(value) else shown(value)
        case list() | tuple():
            parts = list(cast("Sequence[object]", value))
        case dict():
            named = cast("dict[object, object]", value)
            odd = next((name for name in named if not isinstance(name, str)), None)
            if odd is not None:
                return f"the name {shown(odd)}"
            parts = list(named.values())
        case _:
            return shown(value)
    return next((found for part in parts if (found := _foreign_to_json(part)) is not None), None)


def _input_sentences(state: WorkflowState, place: str) -> Iterator[str]:
    inputs = _as_given(state.inputs or ())
    for key in inputs:
        if not isinstance(key, str):
            yield f"the inputs of {place} must be names of context fields, and {shown(key)} is none"
    for key in inputs_of(state):
        if inputs.count(key) > 1:
            yield f"{place} hands '{key}' over {inputs.count(key)} times"


def _children_sentences(state: WorkflowState, place: str) -> Iterator[str]:
    children = _as_given(state.children)
    for child in children:
        if not isinstance(child, Workflow):
            yield f"the children of {place} must be workflows, and {shown(child)} is none"
        elif not is_text(child.name):
            yield f"{place} has the child {shown(child)}, whose name is no text"
    if len(set(map(id, children))) < len(children):
        yield f"{place} has a child twice"
    if children and state.parallel:
        yield f"{place} runs workflows in parallel and has no routine, so it takes no children"


def _parallel_sentences(state: WorkflowState, place: str) -> Iterator[str]:
    children = _as_given(state.parallel)
    for child in children:
        if not isinstance(child, Workflow):
            yield f"{place} can run only workflows in parallel, and {shown(child)} is none"
        elif not is_text(child.name):
            yield f"{place} runs {shown(child)}, whose name is no text"
    if len(set(map(id, children))) < len(children):
        yield f"{place} runs a workflow twice"
    if state.emits:
        yield f"{place} runs workflows and has no routine, so it emits nothing"
    if state.retries is not None:
        yield f"{place} runs workflows and has no task, so it takes no retries"
    if state.state_log is not None:
        yield f"{place} runs workflows and has no task, so it takes no state log"


def _as_given(things: Sequence[Any]) -> list[object]:
    """As they are: the author may have given something other than the types promise."""
    return list(things)
