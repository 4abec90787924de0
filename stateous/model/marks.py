"""What routines are written with: the mark `@on_state`, events, states, and the `ctx` that they are given."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from datetime import timedelta
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Concatenate,
    Final,
    Generic,
    Protocol,
    TypeVar,
    cast,
)

import msgspec

from stateous.model.flows import OnLost
from stateous.model.items import Items

Routine = TypeVar("Routine", bound=Callable[..., object])

MARK: Final = "__stateous_marks__"
"""The attribute in which `on_state` keeps a routine's marks. Decorators that copy `__dict__` keep it."""


class Occurrence(msgspec.Struct, frozen=True):
    """The event that brought a token where it is, and what it carried (None: nothing)."""

    name: str
    payload: dict[str, Any] | None = None


class Event:
    """An event that a routine returns; a contract has one subclass for each event of the workflow.

    The payload is given whole (an instance of the model, or a dict), or field by field:
    `reviewed(Review(approved=True))`, `reviewed({"approved": True})`, `reviewed(approved=True)`.
    An event without a model takes none. Raises TypeError for another use.
    """

    name: ClassVar[str] = ""
    model: ClassVar[Any] = None
    schema: ClassVar[str | None] = None
    """The name that the workflow has for the model."""

    __slots__ = ("payload",)

    def __init__(self, payload: object = None, /, **fields: Any) -> None:
        model = type(self).model
        if fields:
            if payload is not None:
                raise TypeError(f"the event {self.name!r} takes a payload or its fields, not both")
            if model is None:
                raise TypeError(f"the event {self.name!r} takes no payload")
            payload = model(**fields)  # a TypedDict takes any: the control plane checks it
        elif payload is not None and model is None:
            raise TypeError(f"the event {self.name!r} takes no payload")
        self.payload = payload

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.payload is None else repr(self.payload)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Event):
            return NotImplemented
        return self.name == other.name and self.payload == other.payload

    __hash__ = None  # type: ignore[assignment]  # payloads can change


Model_co = TypeVar("Model_co", covariant=True)

if TYPE_CHECKING:
    from typing_extensions import TypeVar as DefaultTypeVar

    from stateous.model.answers import Answer, Answers

    Emitted_co = DefaultTypeVar("Emitted_co", bound=Event, covariant=True, default=Event)
else:
    Emitted_co = TypeVar("Emitted_co", bound=Event, covariant=True)


class StateRef(msgspec.Struct, Generic[Emitted_co], frozen=True, eq=False):
    """A state as a contract names it: what a supervisor claims, and the events that it may report.

    `answers` gives what is known of these events. `state_log` is the handler that keeps its state log, None: it has
    none. Two of the same name and events are equal.
    """

    name: str
    emits: tuple[str, ...] = ()
    answers: Callable[[], Answers] | None = None
    state_log: str | None = None

    def outcome_schema(self, *, within: str | None = None) -> dict[str, Any]:
        """The JSON Schema of an agent's answer: `{"event": …, "payload": …}` for an event that the state emits.

        It refers to nothing outside. `within` names the key of an object around the answer, for programs that
        take no `anyOf` at the top. Raises TypeError for a state that emits nothing.
        """
        return self._answers().schema(self, within=within)

    def outcome(self, answer: Answer, *, within: str | None = None) -> Emitted_co:
        """The event that an agent's answer means, for the routine to return.

        The answer is an object or its JSON text, checked as the control plane checks it. Raises BadAnswer with
        a sentence for the agent, and TypeError for a state that emits nothing.
        """
        return cast("Emitted_co", self._answers().event(self, answer, within=within))

    def _answers(self) -> Answers:
        if self.answers is None:
            raise TypeError(
                f"the state {self.name!r} emits no event, or its contract.py is an old one: "
                "run stateous init supervisor again"
            )
        return self.answers()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StateRef):
            return NotImplemented
        return (self.name, self.emits) == (other.name, other.emits)

    def __ne__(self, other: object) -> bool:
        return not self == other  # a Struct's own would compare which object it is

    def __hash__(self) -> int:
        return hash((self.name, self.emits))

    def __reduce__(self) -> tuple[Any, ...]:
        return StateRef, (self.name, self.emits)


class WorkflowRef(msgspec.Struct, Generic[Model_co], frozen=True):
    """A workflow that routines may run, as a contract names it; `model` is that of its context, None for any object."""

    name: str
    model: Any = None


class Context(Protocol):
    """What a routine is given: its token's context, its memory, and where it is.

    `ctx["key"]` reads the token's context; `ctx["key"] = value` changes it when the outcome is reported,
    not before. Changing a value in place (`ctx["list"].append(1)`) is not seen: assign it.
    Notes and memory writes are on this computer's disk when the call returns, and are sent at once;
    they raise when the task was taken back. Values are JSON; models and datetimes are written as JSON.

    What `step`, `respond`, `child` and the calls of `items` return is awaited in an `async def` routine; in a `def` one they wait
    themselves.
    """

    @property
    def token(self) -> str: ...
    @property
    def task(self) -> int: ...
    @property
    def state(self) -> str: ...
    @property
    def visit(self) -> int: ...
    @property
    def attempt(self) -> int: ...
    @property
    def entered_by(self) -> Occurrence: ...
    @property
    def memory(self) -> MutableMapping[str, Any]:
        """A key-value store of this token and state: it survives attempts and visits."""
        ...

    @property
    def items(self) -> Items:
        """The state log of this state: which business items are done, and who works on them."""
        ...

    def __getitem__(self, key: str, /) -> Any: ...
    def __setitem__(self, key: str, value: object, /) -> None: ...
    def __contains__(self, key: object, /) -> bool: ...
    def get(self, key: str, default: Any = None, /) -> Any: ...

    def note(self, text: str, /) -> None:
        """Write a progress line of 1 to 500 characters into the token's history."""
        ...

    def progress(self, text: str, /) -> None:
        """A note: it says how far the routine is."""
        ...

    def step(
        self,
        name: str,
        fn: Callable[..., Any],
        /,
        *args: Any,
        type: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Call `fn(*args, **kwargs)` once for this visit, and return its result, also in later attempts.

        The result is JSON, as an instance of `type` if that is given. It is kept by the control plane when
        this returns. Names are unique in a run, and steps come one after the other.
        """
        ...

    def respond(
        self,
        name: str,
        trigger: Callable[Concatenate[str, ...], Any],
        /,
        *args: Any,
        timeout: str | timedelta | None = None,
        type: Any = None,
        on_lost: OnLost = "resume",
    ) -> Any:
        """Call `trigger(correlation, *args)` once, give the worker back, and return the response to that id.

        The run ends here; when the response is there, the routine is run again and comes to it. Raises
        ResponseFailed, and ResponseTimeout when none came within `timeout`; the next attempt asks afresh.
        """
        ...

    def child(
        self,
        name: str,
        workflow: WorkflowRef[Any] | str,
        /,
        input: object = None,
        *,
        id: str | None = None,
        fail_on_failure: bool = True,
    ) -> Any:
        """Start a child token of a workflow once, give the worker back, and return its ChildResult when it has ended.

        The run ends here; when the child has ended, the routine is run again and comes to it. A child that fails
        fails the task for good, or is a result, too, without `fail_on_failure`. `input` is the child's context,
        `id` its id in place of `<token>.<state>.<visit>.<name>`.
        """
        ...

    def schedule(self, event: Event | type[Event], /, *, after: str | timedelta) -> None:
        """Ask for an event later, counted from the report; it is forgotten when the token moves before."""
        ...


class Mark(msgspec.Struct, frozen=True):
    """What `on_state` says of a routine: the state that it is for, and whether it runs in a process of its own."""

    state: StateRef
    isolate: bool = False


def on_state(state: StateRef, *, isolate: bool = False) -> Callable[[Routine], Routine]:
    """Mark a `def` or `async def` function of one argument, `ctx`, as the routine of a state.

    With `isolate=True` each of its runs is a process of its own, which is ended when the task is lost.
    Stacked marks make it the routine of each of these states. Nothing is registered: a supervisor looks
    for the marks when it has imported its folder. Raises TypeError when `state` is not a contract's state,
    and for what can keep no mark.
    """
    if not isinstance(state, StateRef):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError("@on_state needs a state of contract.py: @on_state(states.name)")

    def mark(routine: Routine) -> Routine:
        try:
            setattr(routine, MARK, (Mark(state, isolate), *marks_of(routine)))
        except AttributeError:
            raise TypeError(
                f"@on_state marks functions of a module, and {routine!r:.80} is none"
            ) from None
        return routine

    return mark


def marks_of(routine: object) -> tuple[Mark, ...]:
    """The marks of a function, in the order of its decorators; none of what `on_state` did not mark."""
    try:
        found = getattr(routine, MARK, ())
    except Exception:  # noqa: BLE001 - objects of other libraries answer as they like
        return ()
    return cast("tuple[Mark, ...]", found) if isinstance(found, tuple) else ()


def states_of(routine: object) -> tuple[StateRef, ...]:
    """The states that a function is marked for, in the order of its decorators."""
    return tuple(mark.state for mark in marks_of(routine))
