"""Runs one routine by itself, and tells how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import timedelta
from typing import Any, NamedTuple, TypedDict, Unpack, cast

import msgspec

from stateous.client.documents import plain
from stateous.model.durations import parse_duration
from stateous.model.marks import Occurrence, StateRef, states_of
from stateous.testing.graphs import Source, graph_for, state_ref
from stateous.testing.happenings import AnyEvent, Reported, occurrence
from stateous.testing.one_task import Setting, free_task, task_in_graph
from stateous.testing.problems import CannotTest, refuse_unknown
from stateous.testing.trials import Trial, refuse_running_loop, routine_for
from stateous_supervisor.attempt import End

Function = Callable[[Any], object]


class Scheduled(NamedTuple):
    """An event that the routine asked the clock for."""

    event: Reported
    after: timedelta


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an attempt: one of `event`, `waits` and `error`, and what it leaves behind.

    `error` is what the ledger would show, `raised` the exception itself. `context` is the token's after the
    outcome, `memory` that of the state. `notes` are in the order in which they were written.
    """

    event: Reported | None
    waits: bool
    error: str | None
    context: dict[str, Any]
    memory: dict[str, Any]
    notes: list[str]
    schedules: list[Scheduled]
    raised: BaseException | None


class Given(TypedDict, total=False):
    """Where the routine finds itself; what is left out is as at the start of a token.

    `context` and `memory` are values that JSON can hold; `context` may be an instance of its model.
    `entered_by` is the event that brought the token here. `state` says which one is meant when the
    routine is marked for several, or for none. With a `workflow` (or its graph, or the path of its flow.py
    or graph file) payload, schedules and context are checked as the control plane checks them.
    """

    context: object
    memory: Mapping[str, object]
    entered_by: AnyEvent | Occurrence | None
    visit: int
    attempt: int
    token: str
    state: StateRef | str | None
    workflow: Source | None


def run_routine(routine: Function, **given: Unpack[Given]) -> Done:
    """Run one attempt of a `def` or `async def` routine, as a supervisor runs it, and return what became of it.

    A routine that raises is a failed attempt, and is no error here. Raises CannotTest for a test that cannot
    be run, NotJson for given values that JSON cannot hold, InvalidContext for a context that breaks the model
    of `workflow`.
    """
    refuse_running_loop("run_routine_async")
    trial = _trial(routine, given)
    with closing(asyncio.Runner()) as runner:
        return _done(trial, trial.run(runner))


async def run_routine_async(routine: Function, **given: Unpack[Given]) -> Done:
    """`run_routine` for a test that runs on a loop: an `async def` routine runs on it, too, a `def` one in a thread."""
    trial = _trial(routine, given)
    return _done(trial, await trial.run_async())


def _trial(function: Function, given: Given) -> Trial:
    refuse_unknown(given, Given.__annotations__, of="run_routine")
    source = given.get("workflow")
    graph = None if source is None else graph_for(source)
    state = _state(function, given.get("state"))
    if graph is not None:
        state = state_ref(graph, state)
    elif isinstance(state, str):
        raise CannotTest(
            f"{_named(function)} is not marked for {state!r}: give state=states.name of contract.py, or workflow="
        )
    setting = Setting(
        token=given.get("token", "TOKEN-1"),
        context=_document(given.get("context"), "context"),
        memory=_document(given.get("memory"), "memory"),
        entered_by=occurrence(given.get("entered_by")),
        visit=_number(given.get("visit", 1), "visit"),
        attempt=_number(given.get("attempt", 1), "attempt"),
    )
    grant, decide = (
        free_task(state, setting) if graph is None else task_in_graph(graph, state, setting)
    )
    return Trial(grant, routine_for(function, state), decide=decide)


def _state(function: Function, given: StateRef | str | None) -> StateRef | str:
    marked = states_of(function)
    if isinstance(given, str):
        return next((state for state in marked if state.name == given), given)
    if given is not None:
        return given
    if len(marked) == 1:
        return marked[0]
    names = ", ".join(state.name for state in marked) or "no state"
    raise CannotTest(
        f"{_named(function)} is marked for {names}: say which one is meant, with state=states.name"
    )


def _named(function: Function) -> str:
    return getattr(function, "__name__", "the routine")


def _document(value: object, named: str) -> dict[str, Any]:
    document = plain({} if value is None else value, named)
    if not isinstance(document, dict):
        raise CannotTest(f"the {named} is a {type(value).__name__}, and no object")
    return cast("dict[str, Any]", document)


def _number(value: int, named: str) -> int:
    if value < 1:
        raise CannotTest(f"the {named} is {value}, and the first one is 1")
    return value


def _done(trial: Trial, end: End) -> Done:
    sent = trial.report(end)
    if sent is None:
        raise AssertionError("a task that only this test knows was taken back")
    return Done(
        event=Reported(sent.event, sent.payload) if sent.kind == "event" else None,
        waits=sent.kind == "waiting",
        error=sent.error,
        context={**trial.grant.context, **sent.context},
        memory=trial.memory,
        notes=trial.notes,
        schedules=[_scheduled(each) for each in sent.schedules],
        raised=trial.raised,
    )


def _scheduled(wanted: Mapping[str, Any]) -> Scheduled:
    event = Reported(wanted["event"], wanted.get("payload"))
    return Scheduled(event, parse_duration(wanted["after"]))
