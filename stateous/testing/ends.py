"""What a test says of responses that a routine awaits, and of its children."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from stateous.client.documents import plain
from stateous.model.flows import ChildResult, ResponseFailed, ResponseStatus, ResponseTimeout


class ChildEnd(msgspec.Struct, frozen=True, kw_only=True):
    """What a child comes to: without a `context` it keeps its input. With a `reason` it fails."""

    context: dict[str, Any] | None = None
    reason: str | None = None
    final: str = ""
    payload: dict[str, Any] | None = None


def child_end_of(given: object) -> ChildEnd:
    """A ChildResult, an exception that says why it failed, or the context that it ends with. Raises NotJson."""
    match given:
        case ChildResult():
            found = cast("ChildResult[Any]", given)
            context = cast("dict[str, Any] | None", plain(found.context, "the child's context"))
            reason = found.reason if found.status == "completed" else found.reason or "it failed"
            return ChildEnd(
                context=context, reason=reason, final=found.final, payload=found.payload
            )
        case Exception():
            return ChildEnd(reason=str(given))
        case None:
            return ChildEnd()
        case _:
            return ChildEnd(context=cast("dict[str, Any]", plain(given, "the child's context")))


def failure_of_child(child: str, end: ChildEnd) -> str:
    """As the engine says it."""
    return f"the child '{child}' failed: {end.reason}"


def result_of_child(
    child: str, workflow: str, context: dict[str, Any], end: ChildEnd
) -> dict[str, Any]:
    return {
        "token": child,
        "workflow": workflow,
        "status": "completed" if end.reason is None else "failed",
        "final": end.final,
        "payload": end.payload,
        "context": context,
        "reason": end.reason,
    }


class Response(msgspec.Struct, frozen=True):
    """What somebody outside answers: plain JSON, or why there is no answer."""

    status: ResponseStatus
    payload: Any = None
    message: str | None = None
    fault: str | None = None


def response_of(given: object) -> Response:
    """A payload, or a ResponseFailed or ResponseTimeout. Raises NotJson."""
    match given:
        case ResponseTimeout():
            return Response("failed", message=str(given), fault="deadline")
        case ResponseFailed():
            return Response("failed", message=str(given), fault="failed")
        case _:
            return Response("completed", plain(given, "the response"))
