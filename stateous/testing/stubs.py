"""Stubs: what stands in for a routine when a test is not about what it does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from stateous.model.marks import Event, StateRef
from stateous.model.workflow import WorkflowEvent
from stateous.testing.happenings import AnyEvent, emitted, is_event, spoken
from stateous.testing.problems import CannotTest
from stateous.testing.trials import routine_for
from stateous_supervisor.routine import Routine

Function = Callable[[Any], object]

Step = AnyEvent | tuple[AnyEvent, object] | BaseException | Function | None
"""What one attempt does: it returns an event (alone, or with its payload), raises, calls a function as its
routine, or (None) waits."""

Stub = Step | list[Step]
"""One step for all attempts, or a list: a token's first attempt in the state takes the first, and so on. The last
one is for all that follow."""


def stub_routines(stub: Stub, state: StateRef) -> list[Routine]:
    """A routine for each step. Raises CannotTest for what a routine of this state cannot do."""
    if not isinstance(stub, list):
        return [_routine(stub, state)]
    if not stub:
        raise CannotTest(f"the stub of {state.name!r} is an empty list: say what it does")
    return [_routine(step, state) for step in cast("list[Step]", stub)]


def _routine(step: Step, state: StateRef) -> Routine:
    match step:
        case None:
            return _stub(lambda _: None, state)
        case BaseException():
            return _stub(_raiser(step), state)
        case tuple((event, payload)):
            return _returns(state, event, payload)
        case Event() | WorkflowEvent() | str():
            return _returns(state, step)
        case _ if is_event(step):
            return _returns(state, step)
        case _ if callable(step):
            return routine_for(step, state)
        case _:
            raise CannotTest(
                f"the stub of {state.name!r} is {step!r:.80}: it is an event, (event, payload), None, an exception, "
                "a function of ctx, or a list of these"
            )


def _returns(state: StateRef, event: AnyEvent, payload: object = None) -> Routine:
    name, _ = spoken(event, payload)
    if name not in state.emits:
        emits = ", ".join(map(repr, state.emits)) or "nothing"
        raise CannotTest(
            f"the stub of {state.name!r} returns {name!r}, and the state emits {emits}"
        )
    returned = emitted(event, payload)
    return _stub(lambda _: returned, state)


def _raiser(problem: BaseException) -> Function:
    def raises(_: object) -> object:
        raise problem

    return raises


def _stub(function: Function, state: StateRef) -> Routine:
    function.__name__ = "the stub"
    return Routine(state=state, function=function, awaited=False, file=Path("the test"))
