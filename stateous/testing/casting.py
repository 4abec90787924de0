"""Which routine a token's attempt meets in each state: the routines of modules, and the stubs before them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

from stateous.model.graph import Graph
from stateous.model.marks import states_of
from stateous.testing.graphs import state_ref
from stateous.testing.problems import CannotTest
from stateous.testing.stubs import Stub, stub_routines
from stateous.testing.trials import routine_for
from stateous_supervisor.routine import Routine

Routines = ModuleType | Callable[..., object]
"""A module whose marked functions are meant, or one such function."""


class Cast:
    """The routines of one state, in the order in which a token's attempts meet them."""

    def __init__(self, routines: Sequence[Routine]) -> None:
        self._routines = routines
        self._met: Counter[str] = Counter()

    def next_for(self, token: str) -> Routine:
        """The routine of this token's next attempt; the last one is for all that follow."""
        number = min(self._met[token], len(self._routines) - 1)
        self._met[token] += 1
        return self._routines[number]


def casts_for(
    graph: Graph, routines: Iterable[Routines], stubs: Mapping[Any, Stub]
) -> dict[str, Cast]:
    """What is cast for each queue of the graph; a stub stands in for the routine of its state.

    Raises CannotTest for a state that the graph has not, for two routines of one state, and for a function
    that is marked for none.
    """
    found: dict[str, Routine] = {}
    for function in _functions(routines):
        for marked in states_of(function):
            state = state_ref(graph, marked)
            routine = routine_for(function, state)
            other = found.setdefault(state.name, routine)
            if other.function is not function:
                raise CannotTest(
                    f"the state {state.name!r} has two routines: {other.where}, and {routine.where}"
                )
    casts = {queue: Cast([routine]) for queue, routine in found.items()}
    for given, stub in stubs.items():
        state = state_ref(graph, given)
        casts[state.name] = Cast(stub_routines(stub, state))
    return casts


def _functions(routines: Iterable[Routines]) -> Iterable[Callable[..., object]]:
    if not isinstance(routines, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] - one module, as it is
        raise CannotTest("routines are given as a list: [routines]")
    for given in routines:
        if isinstance(given, ModuleType):
            marked = [
                value for value in vars(given).values() if callable(value) and states_of(value)
            ]
            if not marked:
                raise CannotTest(
                    f"the module {given.__name__} has no routine: mark one with @on_state"
                )
            yield from marked
        elif states_of(given):
            yield given
        else:
            named = getattr(given, "__name__", repr(given))
            raise CannotTest(
                f"{named} is marked for no state: mark it with @on_state, or make it a stub"
            )
