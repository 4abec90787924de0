"""The fields of a body, one by one: each reader answers a true value or raises the field's own refusal."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final, Literal, cast

from stateous.model.ambient import over_limit
from stateous.model.durations import LONGEST, parse_duration
from stateous.model.flows import LONGEST_STEP, OnLost, ResponseStatus, StepKind
from stateous.model.names import REQUEST_ID, TOKEN_ID
from stateous.model.refusals import (
    InvalidArgument,
    InvalidBody,
    InvalidPayload,
    InvalidTokenId,
    Refusal,
)
from stateous.model.wire.body import Body, kind_of

LARGEST_INTEGER: Final = 2**63 - 1
LONGEST_SUPERVISOR: Final = 256
LONGEST_STATE: Final = 129
LONGEST_NOTE: Final = 500
LONGEST_MEMORY_KEY: Final = 128
MOST_IN_A_LIST: Final = 1000
LONGEST_WAIT: Final = 60
LONGEST_ADVANCE: Final = int(LONGEST.total_seconds())


MessageKind = Literal["report", "note", "memory"]

_SHOWN: Final = 128


def token_id(body: Body) -> str:
    """`token`: an id that a token may be started under. Raises InvalidTokenId."""
    value = body.fields.get("token")
    if not isinstance(value, str):
        raise InvalidTokenId(f"'token' is a string, not {kind_of(value)}")
    return value


def check_token_id(token: str) -> None:
    """Raise InvalidTokenId unless the text has the pattern of token ids."""
    if TOKEN_ID.fullmatch(token) is None:
        raise InvalidTokenId(
            f"{_shown(token)} is not a token id: 1 to 128 letters, digits, '.', '_' and '-', "
            "the first a letter or a digit"
        )


def document(body: Body, name: str, refusal: type[Refusal]) -> dict[str, Any] | None:
    """An object, or None for null and for an absent field. Raises `refusal` for anything else."""
    value = body.fields.get(name)
    if value is not None and not isinstance(value, dict):
        raise refusal(f"'{name}' is an object or null, not {kind_of(value)}")
    return cast("dict[str, Any] | None", value)


def ambient(body: Body) -> dict[str, str] | None:
    """`ambient`: names and texts that were captured around a start; null, absent and empty are None.

    Raises InvalidBody for what is no object of strings, then InvalidArgument.
    """
    captured = document(body, "ambient", InvalidBody)
    if not captured:
        return None
    for name, value in captured.items():
        if not isinstance(value, str):
            raise InvalidBody(f"'ambient' has strings only, and {_shown(name)} is {kind_of(value)}")
    problem = over_limit(captured)
    if problem is not None:
        raise InvalidArgument(problem)
    body.refuse_nul(captured, "'ambient'", InvalidArgument)
    return captured


def supervisor(body: Body) -> str:
    """`supervisor`: 1 to 256 characters. Raises InvalidArgument."""
    value = body.fields.get("supervisor")
    if not isinstance(value, str):
        raise InvalidArgument(f"'supervisor' is a string, not {kind_of(value)}")
    if not 1 <= len(value) <= LONGEST_SUPERVISOR:
        raise InvalidArgument(f"'supervisor' has 1 to {LONGEST_SUPERVISOR} characters")
    body.refuse_nul(value, "'supervisor'", InvalidArgument)
    return value


def supervisor_or_none(body: Body) -> str | None:
    """`supervisor` where it may be left out or null."""
    return None if body.fields.get("supervisor") is None else supervisor(body)


def states(body: Body) -> tuple[str, ...]:
    """`states`: at most 1000 strings of 1 to 129 characters. Raises InvalidBody, then InvalidArgument."""
    names = _list(body, "states")
    for name in names:
        if not isinstance(name, str) or not 1 <= len(name) <= LONGEST_STATE:
            raise InvalidBody(f"'states' is a list of strings of 1 to {LONGEST_STATE} characters")
    body.refuse_nul(names, "'states'", InvalidBody)
    _refuse_more(names, "states")
    return tuple(names)


def tasks(body: Body) -> tuple[int, ...]:
    """`tasks`: at most 1000 integers from 1 to 2^63-1. Raises InvalidBody, then InvalidArgument."""
    ids = _list(body, "tasks")
    for number in ids:
        if not is_integer(number) or not 1 <= number <= LARGEST_INTEGER:
            raise InvalidBody("'tasks' is a list of integers from 1 to 2^63-1")
    _refuse_more(ids, "tasks")
    return tuple(ids)


def request_id(body: Body) -> str | None:
    """`request`: an id that makes a repeated claim safe, if there is one. Raises InvalidArgument."""
    return _repeat_id(body, "request")


def message_id(body: Body) -> str | None:
    """`id`: what makes a repeated message safe, if there is one. Raises InvalidArgument."""
    return _repeat_id(body, "id")


def _repeat_id(body: Body, name: str) -> str | None:
    value = body.fields.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or REQUEST_ID.fullmatch(value) is None:
        raise InvalidArgument(f"'{name}' is 1 to 64 letters, digits, '.', '_' and '-'")
    return value


def messages(body: Body) -> list[Any]:
    """`messages`: at most 1000 of them, not looked into. Raises InvalidBody, then InvalidArgument."""
    sent = _list(body, "messages")
    _refuse_more(sent, "messages")
    return sent


def message_kind(body: Body) -> MessageKind:
    """`kind` of a message. Raises InvalidBody."""
    match body.fields.get("kind"):
        case "report" | "note" | "memory" as kind:
            return kind
        case _:
            raise InvalidBody("'kind' of a message is 'report', 'note' or 'memory'")


def task(body: Body) -> int:
    """`task`: an integer from 1 to 2^63-1. Raises InvalidBody."""
    value: Any = body.fields.get("task")
    if not is_integer(value) or not 1 <= value <= LARGEST_INTEGER:
        raise InvalidBody("'task' is an integer from 1 to 2^63-1")
    return value


def most_grants(body: Body) -> int | None:
    """`max`: how many tasks a claim takes at once, 1 to 1000. Raises InvalidArgument."""
    value = body.fields.get("max")
    if value is None:
        return None
    if not is_integer(value) or not 1 <= value <= MOST_IN_A_LIST:
        raise InvalidArgument(f"'max' is an integer from 1 to {MOST_IN_A_LIST}")
    return value


def wait_for(body: Body) -> float:
    """`wait`: for how many seconds a claim may wait for a task, 0 to 60. Raises InvalidArgument."""
    value = body.fields.get("wait")
    if value is None:
        return 0.0
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 0 <= value <= LONGEST_WAIT
    ):
        raise InvalidArgument(f"'wait' is a number of seconds from 0 to {LONGEST_WAIT}")
    return float(value)


def advance(body: Body) -> timedelta:
    """`advance`: by how many seconds a clock is moved on, to a microsecond. Raises InvalidBody, InvalidArgument."""
    value = body.fields.get("advance")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidBody(f"'advance' is a number of seconds, not {kind_of(value)}")
    if not 0 <= value <= LONGEST_ADVANCE:
        raise InvalidArgument(f"'advance' is a number of seconds from 0 to {LONGEST_ADVANCE}")
    return timedelta(seconds=value)


def attempt(body: Body, refusal: type[Refusal], *, largest: int | None = None) -> int | None:
    """`attempt`: which try of the task the sender is on, from 1. Raises `refusal`."""
    value = body.fields.get("attempt")
    if value is None:
        return None
    if not is_integer(value) or value < 1 or (largest is not None and value > largest):
        raise refusal("'attempt' is an integer from 1" + (" to 2^63-1" if largest else ""))
    return value


def revision(body: Body) -> int:
    """`revision`: that of a flow, 0 to 2^63-1. Raises InvalidArgument."""
    value: Any = body.fields.get("revision")
    if not is_integer(value) or not 0 <= value <= LARGEST_INTEGER:
        raise InvalidArgument("'revision' is an integer from 0 to 2^63-1")
    return value


def step_name(body: Body) -> str:
    """`name` of a step: 1 to 128 characters. Raises InvalidArgument."""
    value = text(body, "name", InvalidArgument)
    if not 1 <= len(value) <= LONGEST_STEP:
        raise InvalidArgument(f"'name' has 1 to {LONGEST_STEP} characters")
    body.refuse_nul(value, "'name'", InvalidArgument)
    return value


def step_kind(body: Body) -> StepKind:
    """`kind` of a step. Raises InvalidBody."""
    match body.fields.get("kind"):
        case "step" | "response" | "child" as kind:
            return kind
        case _:
            raise InvalidBody("'kind' of a step is 'step', 'response' or 'child'")


def child_id(body: Body) -> str | None:
    """`id` of a child; None if absent or null. Raises InvalidTokenId."""
    value = body.fields.get("id")
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidTokenId(f"'id' is a string or null, not {kind_of(value)}")
    check_token_id(value)
    return value


def on_lost(body: Body) -> OnLost:
    """`on_lost`: what a response does when nobody waits for it any more; `resume` if absent. Raises InvalidBody."""
    match body.fields.get("on_lost"):
        case None:
            return "resume"
        case "resume" | "fail" | "keep" as told:
            return told
        case _:
            raise InvalidBody("'on_lost' is 'resume', 'fail' or 'keep'")


def response_status(body: Body) -> ResponseStatus:
    """`status` of a response. Raises InvalidBody."""
    match body.fields.get("status"):
        case "completed" | "failed" | "progress" as status:
            return status
        case _:
            raise InvalidBody("'status' of a response is 'completed', 'failed' or 'progress'")


def flag(body: Body, name: str, *, default: bool = False) -> bool:
    """True or false; absent and null are the default. Raises InvalidBody."""
    value = body.fields.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise InvalidBody(f"'{name}' is true or false, not {kind_of(value)}")
    return value


def message(body: Body) -> str | None:
    """`message`: a text for people, kept with U+FFFD for each NUL; None if there is none. Raises InvalidBody."""
    if body.fields.get("message") is None:
        return None
    return text(body, "message", InvalidBody).replace("\0", "\ufffd")


def timeout(body: Body) -> str | None:
    """`timeout`: how long a response is awaited, None: for ever. Raises InvalidBody."""
    if body.fields.get("timeout") is None:
        return None
    value = text(body, "timeout", InvalidBody)
    try:
        parse_duration(value)
    except ValueError as fault:
        raise InvalidBody(f"'timeout': {fault}") from None
    return value


def awaiting(body: Body) -> tuple[str, ...]:
    """`awaiting`: the steps that a task waits for, at most 1000; null and absent are none. Raises InvalidBody."""
    if body.fields.get("awaiting") is None:
        return ()
    names = _list(body, "awaiting")
    for name in names:
        if not isinstance(name, str) or not 1 <= len(name) <= LONGEST_STEP:
            raise InvalidBody(f"'awaiting' is a list of strings of 1 to {LONGEST_STEP} characters")
    if len(names) > MOST_IN_A_LIST:
        raise InvalidBody(f"'awaiting' has at most {MOST_IN_A_LIST} entries")
    body.refuse_nul(names, "'awaiting'", InvalidBody)
    return tuple(dict.fromkeys(names))


def text(body: Body, name: str, refusal: type[Refusal]) -> str:
    """A string of any length. Raises `refusal`, also for an absent field."""
    value = body.fields.get(name)
    if not isinstance(value, str):
        raise refusal(f"'{name}' is a string, not {kind_of(value)}")
    return value


def note_text(body: Body) -> str:
    """`text`: a note of 1 to 500 characters, trimmed. Raises InvalidPayload."""
    value = text(body, "text", InvalidPayload).strip()
    if not 1 <= len(value) <= LONGEST_NOTE:
        raise InvalidPayload(
            f"'text' has 1 to {LONGEST_NOTE} characters, spaces around it not counted"
        )
    body.refuse_nul(value, "'text'", InvalidPayload)
    return value


def memory_key(body: Body) -> str:
    """`key`: 1 to 128 characters. Raises InvalidPayload."""
    value = text(body, "key", InvalidPayload)
    if not 1 <= len(value) <= LONGEST_MEMORY_KEY:
        raise InvalidPayload(f"'key' has 1 to {LONGEST_MEMORY_KEY} characters")
    body.refuse_nul(value, "'key'", InvalidPayload)
    return value


def schedules(body: Body) -> list[tuple[str, dict[str, Any] | None, str]]:
    """`schedules`: event, payload and delay of each timer that is asked for. Raises InvalidBody.

    Absent is none; null is refused, since a routine that sends one meant something else.
    """
    if "schedules" not in body.fields:
        return []
    return [_schedule(body, asked) for asked in _list(body, "schedules")]


def _schedule(body: Body, asked: Any) -> tuple[str, dict[str, Any] | None, str]:
    if not isinstance(asked, dict):
        raise InvalidBody(f"a schedule is an object, not {kind_of(asked)}")
    one = Body(cast("dict[str, Any]", asked), may_hold_nul=body.may_hold_nul)
    event = text(one, "event", InvalidBody)
    payload = document(one, "payload", InvalidBody)
    after = text(one, "after", InvalidBody)
    try:
        parse_duration(after)
    except ValueError as fault:
        raise InvalidBody(f"'after' of a schedule: {fault}") from None
    return event, payload, after


def is_integer(value: Any) -> bool:
    """Whether the JSON value is an integer: no boolean, and no float such as `1.0`."""
    return type(value) is int


def _list(body: Body, name: str) -> list[Any]:
    value = body.fields.get(name)
    if not isinstance(value, list):
        raise InvalidBody(f"'{name}' is a list, not {kind_of(value)}")
    return cast("list[Any]", value)


def _refuse_more(values: Sequence[Any], name: str) -> None:
    if len(values) > MOST_IN_A_LIST:
        raise InvalidArgument(f"'{name}' has at most {MOST_IN_A_LIST} entries")


def _shown(value: str) -> str:
    return repr(value if len(value) <= _SHOWN else value[:_SHOWN] + "…")
