"""What a routine's end is turned into: an event, waiting, or a failure; and the report that says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import iscoroutine
from typing import Any, Final, cast

import msgspec

from stateous.client.documents import NotJson, plain
from stateous.model.articles import a_kind_of
from stateous.model.flows import FlowFailed
from stateous.model.marks import Event, StateRef
from stateous.model.refusals import ChildIdTaken, ChildNotDeclared

LONGEST_ERROR: Final = 10_000
"""Characters that a ledger keeps of a failure."""
LONGEST_TRACEBACK: Final = 20_000
"""Characters of a traceback in the log: an exception may carry megabytes."""
_FINAL: Final = (FlowFailed, ChildIdTaken, ChildNotDeclared)
"""What comes out alike in each attempt: a child belongs to its step for ever, and the graph declares what it declares."""
DEEPEST_CAUSE: Final = 8
MOST_OF_A_GROUP: Final = 20


class Emitted(msgspec.Struct, frozen=True):
    """The routine returned an event; the payload is plain JSON, None when there is none."""

    event: str
    payload: dict[str, Any] | None


class Waits(msgspec.Struct, frozen=True):
    """The routine returned None, or awaits a response or a child: the task waits for someone outside, or for a timer."""

    awaiting: tuple[str, ...] = ()


class Failed(msgspec.Struct, frozen=True):
    """The routine raised, or what it returned is no outcome; `error` can be sent as it is.

    A `final` failure is not tried again.
    """

    error: str
    final: bool = False


Outcome = Emitted | Waits | Failed

_encode = msgspec.json.Encoder().encode
_NAME: Final[Any] = type.__dict__["__name__"]


def outcome_of(result: object, *, state: StateRef, where: str) -> Outcome:
    """The outcome that a routine's result means. `where` names the routine in the sentence of a failure."""
    match result:
        case None:
            return Waits()
        case Event():
            return _emitted(result, state=state, where=where)
        case type() if issubclass(result, Event) and result.model is None:
            return _emitted(result(), state=state, where=where)
        case type() if issubclass(result, Event):
            problem = f"the event {result.name!r} without its payload: return an instance of it"
        case _:
            if iscoroutine(result):
                result.close()  # nobody awaits it any more, and Python would warn of it
            problem = f"{a_kind_of(result)}: it must return an event, or None to wait"
    return Failed(f"{where} returned {problem}")


def _emitted(event: Event, *, state: StateRef, where: str) -> Outcome:
    returned = f"{where} returned the event {event.name!r}"
    if event.name not in state.emits:
        return Failed(f"{returned}, which the state {state.name!r} does not emit")
    try:
        return Emitted(event.name, payload_of(event))
    except NotJson as problem:
        return Failed(clean(f"{returned}, and {problem}"))


def payload_of(event: Event) -> dict[str, Any] | None:
    """What an event carries, as plain JSON. Raises NotJson, naming the field."""
    if event.payload is None:
        return None
    payload = plain(event.payload, "payload", level=2)
    if not isinstance(payload, dict):
        raise NotJson(f"payload is {a_kind_of(event.payload)}, and no object")
    return cast("dict[str, Any]", payload)


def failure_of(error: BaseException) -> Failed:
    """The failure of a routine that raised: the exception's name and text, and the causes that it names."""
    try:
        return Failed(clean(_said(error)), final=_is_final(error))
    except BaseException as problem:  # noqa: BLE001 - a user's exception may have any name and causes
        return Failed(f"an exception that cannot be read: reading it raised {kind_of(problem)}")


def _is_final(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        return any(_is_final(each) for each in group.exceptions)
    return isinstance(error, _FINAL)


def _said(error: BaseException, *, deeper: int = DEEPEST_CAUSE) -> str:
    """`ValueError: no card, because of KeyError: 'card'`; a group's exceptions follow its text."""
    name, text = kind_of(error), _text_of(error)
    said = f"{name}: {text}" if text else name
    if deeper and isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        inner = [_said(each, deeper=deeper - 1) for each in group.exceptions[:MOST_OF_A_GROUP]]
        said = f"{said}: {'; '.join(inner)}"
    if deeper and error.__cause__ is not None:
        said = f"{said}, because of {_said(error.__cause__, deeper=deeper - 1)}"
    return said


def kind_of(error: BaseException) -> str:
    """The name of an exception's class, also when its metaclass hides it."""
    name: object = _NAME.__get__(type(error))
    return clean(str(name))


def _text_of(error: BaseException) -> str:
    """What an exception says, as far as it is needed; nothing when its own text fails."""
    try:
        return str(error)[:LONGEST_ERROR]
    except BaseException:  # noqa: BLE001 - a user's __str__ may do anything
        return ""


def clean(text: str) -> str:
    """The text without what no database keeps (NUL, halves of surrogate pairs), at most 10,000 characters."""
    if len(text) > LONGEST_ERROR:
        text = text[: LONGEST_ERROR - 1] + "…"
    text = text.replace("\x00", "\ufffd")
    return (
        text
        if text.isascii()
        else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    )


def report_body(
    outcome: Outcome,
    *,
    context: Mapping[str, Any],
    schedules: Sequence[Mapping[str, Any]],
    attempt: int,
    supervisor: str,
) -> bytes:
    """The body of the report; the context's changes and the schedules are those of a routine that did not fail.

    All of it is plain JSON already: it was made so where it came from, so that the mistake is named there.
    """
    body: dict[str, Any] = {"attempt": attempt, "supervisor": supervisor}
    match outcome:
        case Failed(error, final):
            body |= {"final": True} if final else {}
            return _encode({"kind": "failed", "error": error, **body})
        case Waits(awaiting):
            body["kind"] = "waiting"
            if awaiting:
                body["awaiting"] = awaiting
        case Emitted(event, payload):
            body |= {"kind": "event", "event": event}
            if payload is not None:
                body["payload"] = payload
    if context:
        body["context"] = context
    if schedules:
        body["schedules"] = schedules
    return _encode(body)


class Report(msgspec.Struct, frozen=True):
    """What is read back of a report's body."""

    kind: str
    event: str = ""
    error: str = ""
    attempt: int | None = None
    supervisor: str | None = None

    @property
    def said(self) -> str:
        """It in a log line: `passed`, `waiting`, `failed: …`."""
        match self.kind:
            case "event":
                return self.event
            case "failed":
                return f"failed: {self.error.partition(chr(10))[0][:200]}"
            case kind:
                return kind


def read_report(body: bytes) -> Report:
    return _decode(body)


def failed_instead(report: bytes, why: str) -> bytes | None:
    """The report that the attempt failed, in place of one that nobody takes; None if it says so already."""
    body = read_report(report)
    if body.kind == "failed":
        return None
    instead = {"kind": "failed", "error": clean(why), "attempt": body.attempt}
    return _encode({**instead, "supervisor": body.supervisor})


_decode = msgspec.json.Decoder(Report).decode
