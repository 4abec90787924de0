"""Runs one routine by itself, and tells how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from datetime import timedelta
from typing import Any, NamedTuple, TypedDict, Unpack, cast

import msgspec

from stateous.client.documents import plain
from stateous.model.articles import a_kind_of
from stateous.model.durations import parse_duration
from stateous.model.items import ItemRecord
from stateous.model.marks import Occurrence, StateRef, states_of
from stateous.model.refusals import InvalidContext, InvalidTokenId
from stateous.testing.ends import child_end_of, response_of
from stateous.testing.graphs import Source, graph_for, state_ref
from stateous.testing.happenings import AnyEvent, Reported, occurrence
from stateous.testing.one_task import (
    OneTask,
    Setting,
    free_task,
    task_in_graph,
)
from stateous.testing.problems import CannotTest, refuse_unknown
from stateous.testing.trials import Sent, Trial, refuse_running_loop, routine_for
from stateous_supervisor.attempt import End
from stateous_supervisor.routine import Routine

Function = Callable[[Any], object]


class Scheduled(NamedTuple):
    """An event that the routine asked the clock for."""

    event: Reported
    after: timedelta


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an attempt: one of `event`, `waits` and `error`, and what it leaves behind.

    `error` is what the ledger would show, `raised` the exception itself. `context` is the token's after the
    outcome, `memory` that of the state. `notes` are in the order in which they were written. `steps` are the results of
    steps, responses and children, `awaits` is the response or child that it waits for. With a child that failed there is
    an `error`, and the routine was not run on. `items` are the records of its state log.
    """

    event: Reported | None
    waits: bool
    error: str | None
    context: dict[str, Any]
    memory: dict[str, Any]
    notes: list[str]
    schedules: list[Scheduled]
    steps: dict[str, Any]
    awaits: str | None
    items: list[ItemRecord]
    raised: BaseException | None


class Given(TypedDict, total=False):
    """Where the routine finds itself; what is left out is as at the start of a token.

    `context` and `memory` are values that JSON can hold; `context` may be an instance of its model.
    `steps` are what earlier attempts have done already, with its results. `responses` are the answers to what the routine
    asks for, a ResponseFailed or ResponseTimeout for none, `children` what the children come to that it begins: a
    ChildResult, the context that they end with, None for what they began with, or an exception that says why one failed.
    It is run on with each of them until it waits for another. `items` are the records that its state log has.
    `entered_by` is the event that brought the token here. `state` says which one is meant when the
    routine is marked for several, or for none. With a `workflow` (or its graph, or the path of its flow.py
    or graph file) payload, schedules and context are checked as the control plane checks them.
    """

    context: object
    memory: Mapping[str, object]
    entered_by: AnyEvent | Occurrence | None
    steps: Mapping[str, object]
    responses: Mapping[str, object]
    items: Iterable[ItemRecord]
    children: Mapping[str, object]
    visit: int
    attempt: int
    token: str
    state: StateRef | str | None
    workflow: Source | None


def run_routine(routine: Function, **given: Unpack[Given]) -> Done:
    """Run one attempt of a `def` or `async def` routine, as a supervisor runs it, and return what became of it.

    A routine that raises is a failed attempt, and is no error here. Raises CannotTest for a test that cannot
    be run, also for a context that breaks the model of `workflow`, and for a response, child or step that is given and that a routine
    which did not fail never came to; NotJson for given values that JSON cannot hold.
    """
    refuse_running_loop("run_routine_async")
    play = _Play(routine, given)
    with closing(asyncio.Runner()) as runner:
        while (trial := play.next()) is not None:
            play.end(trial, trial.run(runner))
    return play.done()


async def run_routine_async(routine: Function, **given: Unpack[Given]) -> Done:
    """`run_routine` for a test that runs on a loop: an `async def` routine runs on it, too, a `def` one in a thread."""
    play = _Play(routine, given)
    while (trial := play.next()) is not None:
        play.end(trial, await trial.run_async())
    return play.done()


class _Play:
    """The runs of one attempt, each of which ends with a response that the test has for it, but for the last one."""

    def __init__(self, function: Function, given: Given) -> None:
        self._task, self._routine = _task(function, given)
        self._named = _named(function)
        self._steps = tuple(given.get("steps", {}))
        answered = given.get("responses", {}).items()
        self._responses = {name: response_of(response) for name, response in answered}
        ended = given.get("children", {}).items()
        self._children = {name: child_end_of(end) for name, end in ended}
        self._error: str | None = None
        self._notes: list[str] = []
        self._last: tuple[Trial, Sent] | None = None

    def next(self) -> Trial | None:
        if self._last is None:
            return self._trial()
        trial, sent = self._last
        (*_, name) = sent.awaiting or ("",)
        response, end = self._responses.get(name), self._children.get(name)
        if response is not None and trial.awaits == "response":
            del self._responses[name]
            self._task.respond(name, response, trial, sent)
        elif end is not None and trial.awaits == "child":
            del self._children[name]
            self._error = self._task.end_child(name, end, trial, sent)
        else:
            return None
        if self._error is not None:
            return None
        return self._trial()

    def _trial(self) -> Trial:
        task = self._task
        log = task.logs.of(task.grant)
        return Trial(task.grant, self._routine, decide=task.decide, log=log)

    def end(self, trial: Trial, end: End) -> None:
        sent = trial.report(end)
        if sent is None:
            raise AssertionError("a task that only this test knows was taken back")
        if sent.kind != "waiting":
            self._task.logs.ended(trial.grant.task)
        self._notes += trial.notes
        self._last = (trial, sent)

    def done(self) -> Done:
        assert self._last is not None  # noqa: S101 - there was a run
        trial, sent = self._last
        if self._error is None and sent.kind != "failed":
            self._check_asked(trial, sent)
        return Done(
            event=Reported(sent.event, sent.payload) if sent.kind == "event" else None,
            waits=sent.kind == "waiting" and self._error is None,
            error=self._error or sent.error,
            context={**trial.grant.context, **sent.context},
            memory=trial.memory,
            notes=self._notes,
            schedules=[_scheduled(each) for each in sent.schedules],
            steps=trial.results,
            awaits=sent.awaiting[-1] if sent.awaiting and self._error is None else None,
            items=self._task.logs.records,
            raised=trial.raised,
        )

    def _check_asked(self, trial: Trial, sent: Sent) -> None:
        """Raise CannotTest for what is given and was not asked for: a misspelt name would change nothing."""
        left = {
            "response": [*self._responses],
            "child": [*self._children],
            "step": [name for name in self._steps if not trial.came_to(name)],
        }
        for kind, (name, *_) in ((kind, names) for kind, names in left.items() if names):
            met = ", ".join(repr(each) for each in trial.results if trial.came_to(each))
            awaits = (
                f" It awaits the {trial.awaits} {sent.awaiting[-1]!r}." if sent.awaiting else ""
            )
            raise CannotTest(
                f"{self._named} never came to the {kind} {name!r}, which the test gives: "
                f"it came to {met or 'no step'}.{awaits}"
            )


def _task(function: Function, given: Given) -> tuple[OneTask, Routine]:
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
        steps=_document(given.get("steps"), "steps"),
        items=_records(given.get("items")),
    )
    try:
        task = free_task(state, setting) if graph is None else task_in_graph(graph, state, setting)
    except (InvalidContext, InvalidTokenId) as refusal:
        raise CannotTest(f"no token can begin so: {refusal.sentence}") from None
    return task, routine_for(function, state)


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
        raise CannotTest(f"the {named} is {a_kind_of(value)}, and no object")
    return cast("dict[str, Any]", document)


def _records(given: Iterable[ItemRecord] | None) -> list[ItemRecord] | None:
    if given is None:
        return None
    records = list(given)
    if not all(isinstance(record, ItemRecord) for record in records):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise CannotTest('items are given as records: items=[ItemRecord(item="INV-1")]')
    return [msgspec.structs.replace(each, data=plain(each.data, each.item)) for each in records]


def _number(value: int, named: str) -> int:
    if value < 1:
        raise CannotTest(f"the {named} is {value}, and the first one is 1")
    return value


def _scheduled(wanted: Mapping[str, Any]) -> Scheduled:
    event = Reported(wanted["event"], wanted.get("payload"))
    return Scheduled(event, parse_duration(wanted["after"]))
