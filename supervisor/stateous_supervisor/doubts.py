"""What looks like a mistake in a routine that can be run all the same: the supervisor says it when it starts."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from typing import Union, get_args, get_origin, get_type_hints

from stateous.model.marks import Event
from stateous_supervisor.routine import Routine


def doubts(routines: Iterable[Routine]) -> Iterator[str]:
    """A sentence for each event that a routine says it returns and that its state does not emit."""
    for routine in routines:
        for event in _returned(routine):
            if event.name not in routine.state.emits:
                yield (
                    f"{routine.where} says that it returns the event {event.name!r}, "
                    f"which the state {routine.state.name!r} does not emit"
                )


def _returned(routine: Routine) -> Iterator[type[Event]]:
    """The events that the function's return annotation names, as far as they can be known."""
    try:
        said = get_type_hints(routine.function).get("return")
    except Exception:  # noqa: BLE001 - an annotation may name what is not there when the program runs
        return
    for each in get_args(said) if get_origin(said) in (Union, types.UnionType) else (said,):
        # An event without a payload is returned without parentheses, too: type[events.submitted].
        event = get_args(each)[0] if get_origin(each) is type else each
        if isinstance(event, type) and issubclass(event, Event) and event is not Event:
            yield event
