"""The one tree of errors: a refusal says no in one sentence and carries a stable code."""

from __future__ import annotations

from typing import ClassVar


class StateousError(Exception):
    """Anything that Stateous itself raises; its text is one sentence for a person."""


class Refusal(StateousError):
    """An answer that says no. `code` is the contract, the sentence is for people.

    The codes are those of the HTTP API; only the API knows which status each one has.
    """

    code: ClassVar[str] = "unexpected"

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class TokenNotFound(Refusal):
    """No token has this id."""

    code = "token_not_found"


class TaskNotFound(Refusal):
    """No task has this id."""

    code = "task_not_found"


class NotFound(Refusal):
    """No such path."""

    code = "not_found"


class MethodNotAllowed(Refusal):
    """The path is known, the method is not."""

    code = "method_not_allowed"


class BadRequest(Refusal):
    """The request cannot be read: not JSON, too deep, too large."""

    code = "bad_request"


class BodyTooLarge(BadRequest):
    """The body has more than 1 MiB; the code is that of every unreadable request."""


class InvalidArgument(Refusal):
    """A name, request id, status, limit or attempt is out of range."""

    code = "invalid_argument"


class InvalidContext(Refusal):
    """A context, or a change to it, breaks its model."""

    code = "invalid_context"


class InvalidPayload(Refusal):
    """A payload, schedule, note, memory write or idempotency key is not valid."""

    code = "invalid_payload"


class InvalidTokenId(Refusal):
    """The id breaks the pattern, or differs only in case from an existing id."""

    code = "invalid_token_id"


class InvalidBody(Refusal):
    """The body does not have the shape that the route asks for."""

    code = "invalid_body"


class EventNotAllowed(Refusal):
    """The event cannot move the token in its state."""

    code = "event_not_allowed"


class TokenNotActive(Refusal):
    """The token's status does not allow it."""

    code = "token_not_active"


class ChildToken(Refusal):
    """The token is a child: its top token is steered instead."""

    code = "child_token"


class TaskNotHeld(Refusal):
    """The task is not this supervisor's, or nobody works on it now."""

    code = "task_not_held"


class AttemptOver(Refusal):
    """The task moved on to a newer attempt."""

    code = "attempt_over"


class StaleRevision(Refusal):
    """The flow was changed by somebody else since it was read."""

    code = "stale_revision"


class StepOpen(Refusal):
    """A step of the flow is open, and it has to end before another one."""

    code = "step_open"


class StepDoneAlready(Refusal):
    """The step is done, and its first result stays."""

    code = "step_done_already"


class ChildNotDeclared(Refusal):
    """The state does not declare that its routine runs this workflow."""

    code = "child_not_declared"


class ChildIdTaken(Refusal):
    """The id of the child belongs to another token, or the step has another child."""

    code = "child_id_taken"


class ResponseNotAwaited(Refusal):
    """Nobody awaits this response, or not any more."""

    code = "response_not_awaited"


class FlowNotFound(Refusal):
    """The token is in no state with a routine, so that it has no flow."""

    code = "flow_not_found"


class FlowTooLarge(Refusal):
    """The steps of the flow are as many, or as large, as a flow may have."""

    code = "flow_too_large"


class FlowUnreadable(Refusal):
    """Another version of Stateous wrote the flow, in a form that this one does not know."""

    code = "flow_unreadable"


class NoStateLog(Refusal):
    """The task's state has no state log that the control plane keeps."""

    code = "no_state_log"


class ItemBusy(Refusal):
    """Another task works on the item."""

    code = "item_busy"


class ItemMoveNotAllowed(Refusal):
    """The item's life cycle has no such move."""

    code = "item_move_not_allowed"


class ItemNotFound(Refusal):
    """Nothing is known of the item."""

    code = "item_not_found"


class DatabaseBusy(Refusal):
    """The database did not get to the command in time: try again."""

    code = "database_busy"


class NotServing(Refusal):
    """This control plane lost the database to another one."""

    code = "not_serving"


class Unexpected(Refusal):
    """A bug, or an outcome that cannot be known."""

    code = "unexpected"
