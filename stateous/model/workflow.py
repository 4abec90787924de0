"""The language of flow.py: a workflow with its states, events and transitions, as its author writes them.

Nothing is checked here, so that `compile` can tell all mistakes at once. Each thing keeps where it was
declared, so that a mistake can be found.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Literal, cast

import msgspec

from stateous.model.state_logs import StateLog


class Declared(msgspec.Struct, frozen=True):
    """Where something is declared: the file, as Python knows it, and the line, from 1."""

    file: str
    line: int


class WorkflowEvent(msgspec.Struct, frozen=True, eq=False):
    """An event that a workflow declares; `payload` is its model, or None when it carries nothing."""

    workflow: Workflow
    name: str
    payload: type[Any] | None
    declared: Declared

    def __repr__(self) -> str:
        return f"WorkflowEvent({self.name!r})"


class WorkflowState(msgspec.Struct, frozen=True, eq=False):
    """A state that a workflow declares."""

    workflow: Workflow
    name: str
    emits: tuple[WorkflowEvent | str, ...]
    timeout: str | None
    retries: int | None
    parallel: tuple[Workflow, ...]
    join: Literal["all", "any"] | None
    inputs: tuple[str, ...] | None
    state_log: StateLog | None
    children: tuple[Workflow, ...]
    declared: Declared

    def __repr__(self) -> str:
        return f"WorkflowState({self.name!r})"


class WorkflowTransition(msgspec.Struct, frozen=True, eq=False):
    """A transition that a workflow declares. START, END and Stateous's own events are strings."""

    source: WorkflowState | str
    target: WorkflowState | str
    on: WorkflowEvent | str | None
    when: str | None
    otherwise: bool
    declared: Declared


class Workflow:
    """A workflow: declare events and states, then the transitions between them.

    `context` is the model of the token's context: a msgspec Struct, a dataclass, a TypedDict or a
    pydantic model; without one, a context is any JSON object.
    """

    def __init__(self, name: str, *, context: type[Any] | None = None) -> None:
        self.name = name
        self.context = context
        self.events: list[WorkflowEvent] = []
        self.states: list[WorkflowState] = []
        self.transitions: list[WorkflowTransition] = []
        self.declared = _here()

    def event(self, name: str, *, payload: type[Any] | None = None) -> WorkflowEvent:
        """Declare an event. Without `payload` it carries nothing."""
        event = WorkflowEvent(self, name, payload, _here())
        self.events.append(event)
        return event

    def state(  # noqa: PLR0913 - a state has as many settings, all by name
        self,
        name: str,
        *,
        emits: Sequence[WorkflowEvent | str] = (),
        timeout: str | None = None,
        retries: int | None = None,
        parallel: Sequence[Workflow] = (),
        join: Literal["all", "any"] | None = None,
        inputs: Sequence[str] | None = None,
        state_log: StateLog | None = None,
        children: Sequence[Workflow] = (),
    ) -> WorkflowState:
        """Declare a state.

        `emits` are the events that its routine may report. After `timeout` (`"30s"`, `"6h"`) the event
        TIMEOUT is raised. A failed task is tried again `retries` times, then ERROR is raised.
        With `parallel` the state has no routine: it starts one child token of each workflow, hands it
        the keys `inputs` of the context, and raises JOINED when `"all"` ended, or `"any"` did.
        With a `state_log` its routine can ask which business items were done already.
        `children` are the workflows that its routine may run, with `ctx.child`.
        """
        state = WorkflowState(
            self,
            name,
            _as_given(emits),
            timeout,
            retries,
            _as_given(parallel),
            join,
            None if inputs is None else _as_given(inputs),
            state_log,
            _as_given(children),
            _here(),
        )
        self.states.append(state)
        return state

    def transition(
        self,
        source: WorkflowState | str,
        target: WorkflowState | str,
        *,
        on: WorkflowEvent | str | None = None,
        when: str | None = None,
        otherwise: bool = False,
    ) -> None:
        """Declare a way from `source` to `target`, taken on the event `on` when the guard `when` holds.

        Of the transitions of one state on one event at most one guard may hold; `otherwise=True` marks
        the one that is taken when none does. Transitions from START have no event.
        """
        declared = _here()
        self.transitions.append(WorkflowTransition(source, target, on, when, otherwise, declared))

    def __repr__(self) -> str:
        return f"Workflow({self.name!r})"


def _here() -> Declared:
    """Where the caller of a method of Workflow stands: two frames up."""
    # `inspect` gives the same, and is slow to load.
    caller = sys._getframe(2)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    return Declared(caller.f_code.co_filename, caller.f_lineno)


def _as_given(items: Any) -> tuple[Any, ...]:
    """The items; one thing that is no list or tuple stays as the only item, for the check to refuse."""
    return tuple(cast("list[Any]", items)) if isinstance(items, list | tuple) else (items,)
