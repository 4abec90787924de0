"""From what flow.py declares to names that fit each other; every mistake on the way is kept."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from keyword import iskeyword
from typing import Any, Final

import msgspec

from stateous.model.durations import parse_duration
from stateous.model.guards import Guard, GuardError, parse_guard
from stateous.model.names import END, JOINED, NAME_LENGTH, OWN_EVENTS, ROUTED_OWN_EVENTS, START
from stateous.model.workflow import Workflow, WorkflowEvent, WorkflowState, WorkflowTransition

WORKFLOW_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_PYTHON_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """A transition by names. `on` is None from START, `guard` when it has none."""

    source: str
    target: str
    on: str | None
    when: str | None
    guard: Guard | None
    otherwise: bool

    def __str__(self) -> str:
        on = "" if self.on is None else f" on '{self.on}'"
        source = "START" if self.source == START else f"'{self.source}'"
        target = "END" if self.target == END else f"'{self.target}'"
        return f"the transition from {source} to {target}{on}"


class Resolved(msgspec.Struct, frozen=True, kw_only=True):
    """One workflow by names. `problems` tells what did not fit; `ways` holds only transitions that did."""

    workflow: Workflow
    states: dict[str, WorkflowState]
    events: dict[str, WorkflowEvent]
    emits: dict[str, tuple[str, ...]]
    ways: tuple[Way, ...]
    problems: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.workflow.name

    @property
    def has_all_ways(self) -> bool:
        """Whether every transition fits, so that a missing one is missing and not merely misspelt."""
        return len(self.ways) == len(self.workflow.transitions)


def resolve(workflow: Workflow) -> Resolved:
    """Return the workflow by names, with all its problems of spelling and setting."""
    return _Resolving(workflow).resolved()


class _Resolving:
    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self.problems: list[str] = []
        self.events = {event.name: event for event in workflow.events}
        self.states = {state.name: state for state in workflow.states}

    def resolved(self) -> Resolved:
        self._names()
        emits = {state.name: self._emits(state) for state in self.workflow.states}
        for state in self.workflow.states:
            self._settings(state)
        ways = [self._way(transition) for transition in self.workflow.transitions]
        return Resolved(
            workflow=self.workflow,
            states=self.states,
            events=self.events,
            emits=emits,
            ways=tuple(way for way in ways if way is not None),
            problems=tuple(self.problems),
        )

    def _say(self, problem: str) -> None:
        self.problems.append(problem)

    def _names(self) -> None:
        kinds: list[tuple[str, Iterable[str], frozenset[str]]] = [
            ("event", [event.name for event in self.workflow.events], OWN_EVENTS),
            ("state", [state.name for state in self.workflow.states], frozenset({START, END})),
        ]
        for kind, names, reserved in kinds:
            for name, times in Counter(names).items():
                if name in reserved:
                    self._say(f"the {kind} '{name}' has a name that Stateous keeps for itself")
                elif problem := name_problem(name):
                    self._say(f"the {kind} {_shown(name)} {problem}")
                if times > 1:
                    self._say(f"the {kind} {_shown(name)} is declared {times} times")

    def _event(self, event: object) -> str | None:
        """The name of an event of this workflow; None when there is no such event."""
        if isinstance(event, WorkflowEvent):
            return event.name if event.workflow is self.workflow else None
        return event if isinstance(event, str) and event in self.events else None

    def _state(self, state: object) -> str | None:
        if isinstance(state, WorkflowState):
            return state.name if state.workflow is self.workflow else None
        return state if isinstance(state, str) and state in self.states else None

    def _emits(self, state: WorkflowState) -> tuple[str, ...]:
        emits: list[str] = []
        for given in state.emits:
            event = self._event(given)
            if event is None:
                self._say(f"state '{state.name}' emits {_called(given)}, which is no event of it")
            elif event in emits:
                self._say(f"state '{state.name}' emits '{event}' twice")
            else:
                emits.append(event)
        return tuple(emits)

    def _settings(self, state: WorkflowState) -> None:
        place = f"state '{state.name}'"
        if state.timeout is not None:
            try:
                parse_duration(state.timeout)
            except ValueError as error:
                self._say(f"the timeout of {place}: {error}")
        retries: Any = state.retries
        if retries is not None and (type(retries) is not int or retries < 0):
            self._say(f"the retries of {place} must be a whole number, 0 or more")
        if state.join not in (None, "all", "any"):
            self._say(f"the join of {place} must be 'all' or 'any'")
        if not all(isinstance(key, str) for key in map(_anything, state.inputs or ())):
            self._say(f"the inputs of {place} must be names of context fields")
        if state.parallel:
            self._parallel(state, place)
        elif state.join is not None or state.inputs is not None:
            self._say(f"{place} runs no workflows, so it takes no join and no inputs")

    def _parallel(self, state: WorkflowState, place: str) -> None:
        if not all(isinstance(child, Workflow) for child in map(_anything, state.parallel)):
            self._say(f"{place} can run only workflows in parallel")
        elif len(set(map(id, state.parallel))) < len(state.parallel):
            self._say(f"{place} runs a workflow twice")
        if state.emits:
            self._say(f"{place} runs workflows and has no routine, so it emits nothing")
        if state.retries is not None:
            self._say(f"{place} runs workflows and has no task, so it takes no retries")

    def _way(self, transition: WorkflowTransition) -> Way | None:
        source = START if transition.source == START else self._state(transition.source)
        target = END if transition.target == END else self._state(transition.target)
        place = f"the transition from {_called(transition.source)} to {_called(transition.target)}"
        fits = True
        if source is None:
            self._say(f"{place} leaves {_called(transition.source)}, which is no state of it")
            fits = False
        if target is None:
            self._say(f"{place} leads to {_called(transition.target)}, which is no state of it")
            fits = False
        on, on_fits = self._on(transition, place, from_start=source == START)
        guard, guard_fits = self._guard(transition, place, joined=on == JOINED)
        if not (fits and on_fits and guard_fits) or source is None or target is None:
            return None
        return Way(
            source=source,
            target=target,
            on=on,
            when=transition.when,
            guard=guard,
            otherwise=bool(transition.otherwise),
        )

    def _on(
        self, transition: WorkflowTransition, place: str, *, from_start: bool
    ) -> tuple[str | None, bool]:
        given = transition.on
        if from_start:
            if given is not None:
                self._say(f"{place} leaves START, so it is taken on no event")
            return None, given is None
        if given is None:
            self._say(f"{place} lacks the event that it is taken on")
            return None, False
        if isinstance(given, str) and given in ROUTED_OWN_EVENTS:
            return given, True
        on = self._event(given)
        if on is None:
            self._say(f"{place} is taken on {_called(given)}, which is no event of it")
        return on, on is not None

    def _guard(
        self, transition: WorkflowTransition, place: str, *, joined: bool
    ) -> tuple[Guard | None, bool]:
        when: Any = transition.when
        if when is None:
            return None, True
        if transition.otherwise:
            self._say(f"{place} has 'when' and 'otherwise'")
            return None, False
        if not isinstance(when, str):
            self._say(f"the guard of {place} must be a string")
            return None, False
        try:
            return parse_guard(when, joined=joined), True
        except GuardError as error:
            self._say(f"{place}: {error}")
            return None, False


def run_by(state: WorkflowState) -> tuple[Workflow, ...]:
    """The workflows that a state runs, without what is none: that is told as a problem of the state."""
    return tuple(child for child in map(_anything, state.parallel) if isinstance(child, Workflow))


def name_problem(name: object) -> str | None:
    """Why a state or event cannot have this name; None when it can. The contract names it in Python."""
    if not isinstance(name, str) or _PYTHON_NAME.fullmatch(name) is None:
        return "needs a name of ASCII letters, digits and '_' that begins with a letter"
    if iskeyword(name):
        return "has a name that is a word of Python"
    if len(name) > NAME_LENGTH:
        return f"has a name of more than {NAME_LENGTH} characters"
    return None


def workflow_name_problem(name: object) -> str | None:
    """Why a workflow cannot have this name; None when it can. It is part of file names and token ids."""
    if not isinstance(name, str) or WORKFLOW_NAME.fullmatch(name) is None:
        return "needs a name of ASCII letters, digits, '_' and '-' that begins with a letter"
    return f"has a name of more than {NAME_LENGTH} characters" if len(name) > NAME_LENGTH else None


def _called(thing: object) -> str:
    if isinstance(thing, WorkflowEvent | WorkflowState):
        return f"'{thing.name}'"
    return (
        {START: "START", END: "END"}.get(thing, _shown(thing))
        if isinstance(thing, str)
        else _shown(thing)
    )


def _shown(thing: object) -> str:
    text = repr(thing)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _anything(thing: Any) -> object:
    """As it is: the author may have given something other than the types promise."""
    return thing
