"""What an answer means: a value, a refusal, a reason to try again, or not a control plane at all."""

from __future__ import annotations

import math
import os
import ssl
from typing import NoReturn

import msgspec

from stateous.client.address import Address
from stateous.client.calls import Answered, Call
from stateous.client.errors import Again, NotStateous, Unreachable, refusal_of
from stateous.model.refusals import DatabaseBusy, NotServing, Refusal

_SHOWN = 80
_UNREADABLE = (msgspec.DecodeError, RecursionError)
"""What msgspec raises for what is no JSON, for another shape, and for JSON that is too deep."""


class Answer(msgspec.Struct, frozen=True):
    """An answer as it came."""

    status: int
    retry_after: str | None
    body: bytes


class _Refused(msgspec.Struct):
    error: str
    code: str


def read_answer(call: Call[Answered], answer: Answer, *, address: Address) -> Answered:
    """The answer's value. Raises Refusal, NotStateous, or Again for one that is worth another try."""
    if answer.status < 300:
        try:
            return call.read(answer.status, answer.body)
        except _UNREADABLE as problem:
            raise not_stateous(address, f"its answer cannot be read ({problem})") from problem
    try:
        refused = msgspec.json.decode(answer.body, type=_Refused)
    except _UNREADABLE:
        _raise_foreign(answer, address=address)
    refusal = refusal_of(refused.code, refused.error)
    if answer.status >= 500:
        # These two say that nothing was done; any other 5xx leaves it open.
        done = not isinstance(refusal, DatabaseBusy | NotServing)
        raise Again(refusal, done=done, retry_after=_seconds(answer.retry_after))
    raise refusal


def _raise_foreign(answer: Answer, *, address: Address) -> NoReturn:
    """An error that is not ours: a server in between that says 5xx or 429 speaks of a control plane that is away."""
    if answer.status >= 500 or answer.status == 429:
        raise Again(
            Unreachable(f"{_cannot_reach(address)} (it answered {answer.status})"),
            done=answer.status not in {429, 503},
            retry_after=_seconds(answer.retry_after),
        )
    raise not_stateous(address, f"it answered {answer.status} without a code")


def not_stateous(address: Address, why: str) -> NotStateous:
    return NotStateous(f"{address.shown} did not answer as a Stateous control plane: {why}")


def unreachable(address: Address, why: object, *, done: bool) -> Again:
    """A try that got no answer; `done` as Again has it."""
    said = _reason(why) if isinstance(why, OSError) else str(why)
    said = said or type(why).__name__
    said = said if len(said) <= _SHOWN * 2 else f"{said[: _SHOWN * 2]}…"
    return Again(Unreachable(f"{_cannot_reach(address)} ({said})"), done=done)


def _reason(problem: OSError) -> str:
    """What the system says of it; asyncio's own words hide a refused connection."""
    # The number of an SSL error is none of the system's: 1 would be said as "Operation not permitted".
    secure = problem if isinstance(problem, ssl.SSLError) else problem.__cause__
    if isinstance(secure, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted: {secure.verify_message}"
    if isinstance(secure, ssl.SSLError) and secure.reason == "WRONG_VERSION_NUMBER":
        return "it does not speak TLS: is it http, not https?"
    if isinstance(secure, ssl.SSLError):
        return str(secure)
    if problem.errno is not None and problem.errno > 0:
        return os.strerror(problem.errno)
    return problem.strerror or str(problem)


def sentence_of(again: Again, *, shown: str) -> str:
    """Why there is no final answer, as a log line begins; `shown` is the URL without a password."""
    if isinstance(again.cause, Refusal):
        return f"the control plane at {shown} cannot answer now ({again.cause.sentence})"
    return str(again.cause)


def _cannot_reach(address: Address) -> str:
    return f"cannot reach the control plane at {address.shown}"


def _seconds(header: str | None) -> float | None:
    """Retry-After in seconds; a date, or nonsense, is as good as none."""
    try:
        seconds = float(header) if header is not None else None
    except ValueError:
        return None
    return seconds if seconds is not None and math.isfinite(seconds) and seconds >= 0 else None
