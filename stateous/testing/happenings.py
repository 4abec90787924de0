"""Events in tests: as a test names them, and as they were reported, so that both can be compared."""

from __future__ import annotations

from typing import Any, TypeGuard

import msgspec

from stateous.client.documents import plain
from stateous.model.marks import Event, Occurrence
from stateous.model.names import STARTED
from stateous.model.workflow import WorkflowEvent
from stateous.testing.problems import CannotTest
from stateous_supervisor.outcome import payload_of

AnyEvent = Event | type[Event] | WorkflowEvent | str
"""An event: of a contract, with or without its payload, as a workflow declares it, or its name."""


class Reported(msgspec.Struct, frozen=True, eq=False):
    """An event as it went to the control plane. `payload` is plain JSON, None when it carried nothing.

    It equals an event of a contract that would be sent in the same way, and the class of one without payload.
    """

    name: str
    payload: Any = None

    def __eq__(self, other: object) -> bool:
        match other:
            case Reported():
                return (self.name, self.payload) == (other.name, other.payload)
            case Event():
                return (self.name, self.payload) == (other.name, payload_of(other))
            case _ if is_event(other):
                return self.name == other.name and self.payload is None
            case _:
                return NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other  # a Struct's own would compare which object it is

    __hash__ = None  # type: ignore[assignment]  # payloads can change

    def __repr__(self) -> str:
        return f"{self.name}({'' if self.payload is None else repr(self.payload)})"


def is_event(value: object) -> TypeGuard[type[Event]]:
    """Whether the value is the class of an event."""
    return isinstance(value, type) and issubclass(value, Event)


def spoken(event: AnyEvent, payload: object = None) -> tuple[str, object]:
    """The name of an event, and what it carries. Raises CannotTest when that is said twice, or for what is no event."""
    match event:
        case Event():
            if payload is not None:
                raise CannotTest(f"the payload of {event.name!r} is given twice")
            return event.name, event.payload
        case _ if is_event(event) or isinstance(event, WorkflowEvent):
            return event.name, payload
        case str():
            return event, payload
        case _:
            raise CannotTest(
                f"{event!r:.80} is no event: give one of the contract or workflow, or its name"
            )


def emitted(event: AnyEvent, payload: object = None) -> Event | type[Event]:
    """The event as a routine returns it."""
    if payload is None and not isinstance(event, str | WorkflowEvent):
        return event
    name, carried = spoken(event, payload)
    model = None if carried is None else dict
    kind = type(name, (Event,), {"__slots__": (), "name": name, "model": model})
    return kind() if carried is None else kind(carried)


def occurrence(event: AnyEvent | Occurrence | None) -> Occurrence:
    """What brought a token where it is; None is its start."""
    match event:
        case None:
            return Occurrence(STARTED)
        case Occurrence():
            return event
        case _:
            name, payload = spoken(event)
            return Occurrence(name, None if payload is None else plain(payload, "payload"))
