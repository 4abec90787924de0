"""Refusals as HTTP answers: the one table of their status, and what is kept to ourselves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, Final

import msgspec
import structlog
from litestar import Request
from litestar.datastructures import State
from litestar.types import ASGIApp

from stateous.api.replies import Reply
from stateous.model import refusals
from stateous.model.refusals import Refusal, Unexpected

Asked = Request[Any, Any, State]
"""A request to us: no users, no sessions."""

log: Final = structlog.get_logger("stateous.api")

STATUS: Final[dict[type[Refusal], int]] = {
    refusals.TokenNotFound: 404,
    refusals.TaskNotFound: 404,
    refusals.NotFound: 404,
    refusals.MethodNotAllowed: 405,
    refusals.BadRequest: 400,
    refusals.BodyTooLarge: 413,
    refusals.InvalidArgument: 422,
    refusals.InvalidContext: 422,
    refusals.InvalidPayload: 422,
    refusals.InvalidTokenId: 422,
    refusals.InvalidBody: 422,
    refusals.EventNotAllowed: 409,
    refusals.TokenNotActive: 409,
    refusals.ChildToken: 409,
    refusals.TaskNotHeld: 409,
    refusals.AttemptOver: 409,
    refusals.StaleRevision: 409,
    refusals.StepOpen: 409,
    refusals.StepDoneAlready: 409,
    refusals.ChildNotDeclared: 409,
    refusals.ChildIdTaken: 409,
    refusals.FlowTooLarge: 409,
    refusals.FlowUnreadable: 409,
    refusals.ResponseNotAwaited: 404,
    refusals.FlowNotFound: 404,
    refusals.NoStateLog: 409,
    refusals.ItemBusy: 409,
    refusals.ItemMoveNotAllowed: 409,
    refusals.ItemNotFound: 404,
    refusals.DatabaseBusy: 503,
    refusals.NotServing: 503,
    refusals.Unexpected: 500,
}

RETRY_AFTER: Final[dict[type[Refusal], int]] = {refusals.DatabaseBusy: 1}
"""Seconds after which the same request may well be taken."""

_HIDDEN: Final = "something went wrong inside the control plane; its log says what"


def refused(refusal: Refusal, *, retry_after: int | None = None) -> Reply:
    """The answer that says no: one sentence and the code, and after how many seconds to ask again, if ever."""
    code, sentence = code_and_sentence(refusal)
    wait = RETRY_AFTER.get(type(refusal), retry_after)
    return Reply(
        status_of(refusal),
        msgspec.json.encode({"error": sentence, "code": code}),
        () if wait is None else ((b"retry-after", b"%d" % wait),),
    )


def status_of(refusal: Refusal) -> int:
    """The status that the refusal is answered with."""
    return STATUS[type(refusal)]


def code_and_sentence(refusal: Refusal) -> tuple[str, str]:
    """What a client is told of the refusal: of a bug only that there is one."""
    sentence = _HIDDEN if isinstance(refusal, Unexpected) else refusal.sentence
    return refusal.code, sentence


def answering(
    handler: Callable[[Asked], Awaitable[ASGIApp]],
) -> Callable[[Asked], Awaitable[ASGIApp]]:
    """The handler, with what it raises turned into an answer.

    A refusal takes this short way instead of Litestar's exception handlers, which cost twice as much.
    """

    @wraps(handler)
    async def answered(request: Asked) -> ASGIApp:
        try:
            return await handler(request)
        except Unexpected as refusal:
            log_unexpected(request, refusal)
            return refused(refusal)
        except Refusal as refusal:
            return refused(refusal)
        except Exception as fault:  # noqa: BLE001 - a bug: told to the log in full, to the client not at all
            log_unexpected(request, fault)
            return refused(Unexpected(_HIDDEN))

    return answered


def log_unexpected(request: Asked, fault: Exception) -> None:
    """Tell the log everything about a fault that the client hears nothing of."""
    log.error(
        "request.unexpected",
        method=request.scope["method"],
        path=request.scope["path"],
        exc_info=fault,
    )
