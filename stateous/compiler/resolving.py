"""From what flow.py declares to names that fit each other; every mistake on the way is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from stateous.compiler.naming import key_of, name_problems
from stateous.compiler.problems import Problem, called, near, shown
from stateous.compiler.settings import setting_problems
from stateous.model.guards import Guard, GuardError, parse_guard
from stateous.model.names import END, JOINED, OWN_EVENTS, ROUTED_OWN_EVENTS, START
from stateous.model.workflow import (
    Declared,
    Workflow,
    WorkflowEvent,
    WorkflowState,
    WorkflowTransition,
)


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """A transition by names. `on` is None from START, `guard` when it has none."""

    source: str
    target: str
    on: str | None
    when: str | None
    guard: Guard | None
    otherwise: bool
    declared: Declared

    def __str__(self) -> str:
        on = "" if self.on is None else f" on '{self.on}'"
        return f"the transition from {called(self.source)} to {called(self.target)}{on}"


class LooseWay(msgspec.Struct, frozen=True, kw_only=True):
    """A transition that does not fit: what is None could be anything once its mistake is mended."""

    source: str | None
    target: str | None
    on: str | None


class Resolved(msgspec.Struct, frozen=True, kw_only=True):
    """One workflow by names. `problems` tells what did not fit; `ways` holds only transitions that did."""

    workflow: Workflow
    states: dict[str, WorkflowState]
    events: dict[str, WorkflowEvent]
    emits: dict[str, tuple[str, ...]]
    ways: tuple[Way, ...]
    loose: tuple[LooseWay, ...]
    problems: tuple[Problem, ...]

    @property
    def name(self) -> str:
        return self.workflow.name


def resolve(workflow: Workflow) -> Resolved:
    """Return the workflow by names, with all its problems of spelling and setting."""
    return _Resolving(workflow).resolved()


class _Resolving:
    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self.problems = list(name_problems(workflow))
        self.events = {key_of(event.name): event for event in workflow.events}
        self.states = {key_of(state.name): state for state in workflow.states}
        for reserved in (START, END):
            self.states.pop(reserved, None)  # told of their names, and taken for nothing else
        self.ways: list[Way] = []
        self.loose: list[LooseWay] = []

    def resolved(self) -> Resolved:
        emits = {name: self._emits(state) for name, state in self.states.items()}
        for state in self.workflow.states:
            self.problems.extend(setting_problems(state))
        for transition in self.workflow.transitions:
            self._way(transition)
        return Resolved(
            workflow=self.workflow,
            states=self.states,
            events=self.events,
            emits=emits,
            ways=tuple(self.ways),
            loose=tuple(self.loose),
            problems=tuple(self.problems),
        )

    def _event(self, event: object) -> str | None:
        """The name of an event of this workflow; None when there is no such event."""
        if isinstance(event, WorkflowEvent):
            return key_of(event.name) if event.workflow is self.workflow else None
        return event if isinstance(event, str) and event in self.events else None

    def _state(self, state: object) -> str | None:
        if isinstance(state, WorkflowState):
            return key_of(state.name) if state.workflow is self.workflow else None
        return state if isinstance(state, str) and state in self.states else None

    def _emits(self, state: WorkflowState) -> tuple[str, ...]:
        emits: list[str] = []
        for given in state.emits:
            event, problem = self._event(given), None
            if event is None:
                problem = f"emits {called(given)}, {self._no_event(given)}"
            elif event in emits:
                problem = f"emits '{event}' twice"
            else:
                emits.append(event)
            if problem is not None:
                self.problems.append(Problem(f"state '{state.name}' {problem}", (state.declared,)))
        return tuple(emits)

    def _way(self, transition: WorkflowTransition) -> None:
        """Keep the transition as a way, or as a loose one with all that is wrong with it."""
        place = f"the transition from {called(transition.source)} to {called(transition.target)}"
        before = len(self.problems)

        def say(problem: str) -> None:
            self.problems.append(Problem(problem, (transition.declared,)))

        source = START if _is(transition.source, START) else self._state(transition.source)
        if source is None:
            say(f"{place} leaves {called(transition.source)}, {self._no_state(transition.source)}")
        target = END if _is(transition.target, END) else self._state(transition.target)
        if target is None:
            say(
                f"{place} leads to {called(transition.target)}, {self._no_state(transition.target)}"
            )
        on = self._on(transition.on, place, say, from_start=source == START)
        guard = _guard(transition, place, say, joined=on == JOINED)
        if len(self.problems) > before or source is None or target is None:
            self.loose.append(LooseWay(source=source, target=target, on=on))
            return
        self.ways.append(
            Way(
                source=source,
                target=target,
                on=on,
                when=transition.when,
                guard=guard,
                otherwise=transition.otherwise,
                declared=transition.declared,
            )
        )

    def _on(
        self, given: object, place: str, say: Callable[[str], None], *, from_start: bool
    ) -> str | None:
        if from_start:
            if given is not None:
                say(f"{place} leaves START, so it is taken on no event")
            return None
        if given is None:
            say(f"{place} lacks the event that it is taken on")
            return None
        if isinstance(given, str) and given in ROUTED_OWN_EVENTS:
            return given
        on = self._event(given)
        if on is None:
            say(f"{place} is taken on {called(given)}, {self._no_event(given, ROUTED_OWN_EVENTS)}")
        return on

    def _no_event(self, given: object, own: frozenset[str] = frozenset()) -> str:
        """Why this is no event here, as the end of a sentence."""
        match given:
            case WorkflowEvent(workflow=other):
                return f"which is an event of workflow {shown(other.name)}"
            case WorkflowState():
                return "which is a state"
            case list() | tuple():
                return "which is a list: name each event by itself"
            case set() | frozenset() | dict():
                return "which is no list"
            case str() if given in OWN_EVENTS:
                return "which only Stateous raises"
            case _:
                return f"which is no event of the workflow{near(given, (*self.events, *own))}"

    def _no_state(self, given: object) -> str:
        match given:
            case WorkflowState(workflow=other):
                return f"which is a state of workflow {shown(other.name)}"
            case WorkflowEvent():
                return "which is an event"
            case Workflow():
                return "which is a workflow: a state runs it with parallel=[…], or its routine with children=[…]"
            case str() if given == END:
                return "which no token leaves"
            case str() if given == START:
                return "where tokens only begin"
            case _:
                return f"which is no state of the workflow{near(given, self.states)}"


def _guard(
    transition: WorkflowTransition, place: str, say: Callable[[str], None], *, joined: bool
) -> Guard | None:
    when: Any = transition.when
    otherwise: Any = transition.otherwise
    if not isinstance(otherwise, bool):
        say(f"the otherwise of {place} must be True or False, and is {shown(otherwise)}")
    if when is None:
        return None
    if otherwise:
        say(f"{place} has 'when' and 'otherwise'")
    if not isinstance(when, str):
        what = "a function" if callable(when) else shown(when)
        say(f"the guard of {place} must be text such as 'payload.approved', and is {what}")
        return None
    try:
        return parse_guard(when, joined=joined)
    except GuardError as error:
        say(f"{place}: {error}")
        return None


def _is(given: object, name: str) -> bool:
    return isinstance(given, str) and given == name
