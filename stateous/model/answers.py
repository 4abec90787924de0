"""What an agent may answer for a state, and the event that its answer is turned into (docs/contract.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

from stateous.model.marks import Event, StateRef
from stateous.model.outcome_schemas import outcome_schema
from stateous.model.refusals import BadRequest, InvalidBody, StateousError
from stateous.model.schemas import Models
from stateous.model.wire.body import holds_nul, kind_of, read_body

Answer = Mapping[str, Any] | str | bytes

_KEYS: Final = frozenset({"event", "payload"})


class BadAnswer(StateousError, ValueError):
    """An answer that is no event of the state. The sentence tells the agent what to mend."""


class Answers:
    """The events of one workflow, as its contract has them, and the models of their payloads.

    `schemas` are the models as the control plane checks them, `library` is what the contract's classes are
    made with: "msgspec" or "pydantic".
    """

    def __init__(self, events: type[object], *, library: str, schemas: Mapping[str, Any]) -> None:
        self._events = {
            event.name: event
            for event in vars(events).values()
            if isinstance(event, type) and issubclass(event, Event)
        }
        self._library = library
        self._schemas = schemas

    def schema(self, state: StateRef, *, within: str | None) -> dict[str, Any]:
        """The JSON Schema of the answers for a state."""
        payloads = {name: self._events[name].schema for name in state.emits}
        return outcome_schema(payloads, self._schemas, within=within)

    def event(self, state: StateRef, answer: Answer, *, within: str | None) -> Event:
        """The event that an answer means, with its payload as the contract's class. Raises BadAnswer."""
        read = _inside(_read(answer), within)
        told = _either(state.emits)
        if "event" not in read:
            raise BadAnswer(f"the answer has no 'event': it must be {told}")
        name = read["event"]
        if not isinstance(name, str) or name not in state.emits:
            raise BadAnswer(f"the event of the answer must be {told}")
        if unknown := sorted(read.keys() - _KEYS):
            raise BadAnswer(
                f"the answer has {unknown[0][:60]!r}, and may have 'event' and 'payload' only"
            )
        return self._made(self._events[name], read.get("payload"))

    def _made(self, event: type[Event], payload: Any) -> Event:
        if payload is not None and not isinstance(payload, dict):
            raise BadAnswer(
                f"the payload of {event.name!r} must be an object, not {kind_of(payload)}"
            )
        payload = cast("dict[str, Any]", payload or {})
        if event.schema is None:
            if payload:
                raise BadAnswer(f"the event {event.name!r} takes no payload")
            return event()
        if problem := Models(self._schemas).problem(event.schema, payload):
            raise BadAnswer(f"the payload of {event.name!r}: {problem}")
        return event(_typed(payload, event, library=self._library))


def _read(answer: Answer) -> dict[str, Any]:
    """The answer as JSON, with the limits that the control plane has."""
    raw = answer if isinstance(answer, bytes) else None
    if isinstance(answer, str):
        raw = answer.encode("utf-8", "surrogatepass")
    try:
        body = read_body(msgspec.json.encode(answer) if raw is None else raw)
    except InvalidBody as problem:
        raise BadAnswer(str(problem).replace("the body is", "the answer must be")) from None
    except BadRequest as problem:
        raise BadAnswer(str(problem).replace("the body", "the answer")) from None
    if body.may_hold_nul and holds_nul(body.fields):
        raise BadAnswer("the answer holds the character \\u0000, which no database keeps")
    return body.fields


def _inside(answer: dict[str, Any], within: str | None) -> dict[str, Any]:
    if within is None:
        return answer
    inner = answer.get(within)
    if not isinstance(inner, dict) or len(answer) > 1:
        raise BadAnswer(
            f"the answer must be an object with one key, {within!r}, which is an object"
        )
    return cast("dict[str, Any]", inner)


def _either(names: tuple[str, ...]) -> str:
    *others, last = (repr(name) for name in names)
    return f"{', '.join(others)} or {last}" if others else last


def _typed(payload: dict[str, Any], event: type[Event], *, library: str) -> Any:
    """The payload as an instance of the event's class. Raises BadAnswer for texts that are not what they stand for."""
    try:
        if library == "pydantic":
            return _as_pydantic(payload, event)
        try:
            return msgspec.convert(payload, event.model, str_keys=True)
        except msgspec.ValidationError:
            # JSON Schema takes 1.0 for an integer, msgspec does not.
            return msgspec.convert(_with_whole_numbers(payload), event.model, str_keys=True)
    except msgspec.ValidationError as problem:
        said = str(problem).replace("`$.", "`")
        raise BadAnswer(f"the payload of {event.name!r} cannot be read: {said}") from None


def _as_pydantic(payload: dict[str, Any], event: type[Event]) -> Any:
    import pydantic  # noqa: PLC0415  # the contract has imported it

    model, raw = event.model, msgspec.json.encode(payload)
    try:
        if hasattr(model, "model_validate_json"):
            return model.model_validate_json(raw)
        config = pydantic.ConfigDict(regex_engine="python-re")
        return pydantic.TypeAdapter(model, config=config).validate_json(raw)
    except pydantic.ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        raise BadAnswer(
            f"the payload of {event.name!r} cannot be read: {first['msg']} - at `{place}`"
        ) from None


def _with_whole_numbers(value: Any) -> Any:
    match value:
        case float() if value.is_integer():
            return int(value)
        case list():
            return [_with_whole_numbers(item) for item in cast("list[Any]", value)]
        case dict():
            items = cast("dict[str, Any]", value).items()
            return {key: _with_whole_numbers(item) for key, item in items}
        case _:
            return value
