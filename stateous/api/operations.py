"""What the OpenAPI document says of each route: its body, its answers, and every refusal."""

from __future__ import annotations

from typing import Final

from litestar.openapi.spec import OpenAPIType, Schema

from stateous.api import shapes
from stateous.api.document import Told, described, in_path, many, one, one_of, parameter
from stateous.api.replies import (
    Clock,
    Duplicate,
    Entry,
    Flow,
    Grant,
    Grants,
    Health,
    Lost,
    Released,
    Response,
    Results,
    Step,
    Token,
)
from stateous.model.refusals import (
    AttemptOver,
    BadRequest,
    BodyTooLarge,
    ChildIdTaken,
    ChildNotDeclared,
    ChildToken,
    DatabaseBusy,
    EventNotAllowed,
    FlowNotFound,
    FlowTooLarge,
    FlowUnreadable,
    InvalidArgument,
    InvalidBody,
    InvalidContext,
    InvalidPayload,
    InvalidTokenId,
    NotFound,
    NotServing,
    ResponseNotAwaited,
    StaleRevision,
    StepDoneAlready,
    StepOpen,
    TaskNotFound,
    TaskNotHeld,
    TokenNotActive,
    TokenNotFound,
)
from stateous.model.wire import fields, query

_TOKEN: Final = in_path(
    "token",
    "A token's id, in its exact case.",
    Schema(type=OpenAPIType.STRING, min_length=1),
    example="ORDER-1",
)
_EVENT: Final = in_path(
    "event",
    "An event that the token's own workflow declares.",
    Schema(type=OpenAPIType.STRING, min_length=1),
    example="submitted",
)
TASK: Final = in_path(
    "task",
    "A task's number.",
    Schema(type=OpenAPIType.INTEGER, minimum=1, maximum=fields.LARGEST_INTEGER),
    example=1,
)
_CORRELATION: Final = in_path(
    "correlation",
    "What the response is known by.",
    Schema(type=OpenAPIType.STRING, min_length=1),
    example="3f2a9c0d4b5e6f708192a3b4c5d6e7f8",
)
_KEY: Final = parameter(
    "header",
    "Idempotency-Key",
    "Makes a repeat of this event safe: it is applied at most once in the token's life.",
    Schema(type=OpenAPIType.STRING, min_length=1, max_length=query.LONGEST_KEY),
)
_STATUS: Final = parameter(
    "query",
    "status",
    "Only tokens of this status.",
    Schema(type=OpenAPIType.STRING, enum=list(query.STATUSES)),
)
_LIMIT: Final = parameter(
    "query",
    "limit",
    "How many tokens at most.",
    Schema(type=OpenAPIType.INTEGER, minimum=1, maximum=query.LONGEST_LISTING, default=100),
)
_PARENT: Final = parameter(
    "query",
    "parent",
    "Only the child tokens of this one.",
    Schema(type=OpenAPIType.STRING, min_length=1, max_length=query.LONGEST_PARENT),
)
_AFTER: Final = parameter(
    "query",
    "after",
    "Only entries with a higher number.",
    Schema(type=OpenAPIType.INTEGER, minimum=0, maximum=fields.LARGEST_INTEGER, default=0),
)
_PART: Final = parameter(
    "query",
    "limit",
    "How many entries at most; all when absent.",
    Schema(type=OpenAPIType.INTEGER, minimum=1, maximum=fields.LARGEST_INTEGER),
)

DATABASE: Final = (DatabaseBusy, NotServing)
BODY: Final = (BadRequest, BodyTooLarge, InvalidBody)
_OF_TOKEN: Final = (TokenNotFound, NotFound)
OF_TASK: Final = (TaskNotFound, NotFound)
_AFTER_IT: Final = Told("The token after it.", one(Token))
NO_CONTENT: Final = Told("Done.")

START: Final = described(
    "token_start",
    "Start a token",
    body=shapes.StartBody,
    answers={
        201: Told("The token was started.", one(Token)),
        200: Told("A token with this id exists: here it is, unchanged.", one(Token)),
    },
    refusals=(*BODY, InvalidTokenId, InvalidContext, InvalidArgument, *DATABASE),
)
LIST: Final = described(
    "tokens_list",
    "List tokens, those that entered their state last first",
    parameters=[_STATUS, _LIMIT, _PARENT],
    answers={200: Told("The tokens.", many(Token))},
    refusals=(InvalidArgument, *DATABASE),
)
GET: Final = described(
    "token_get",
    "Show a token",
    parameters=[_TOKEN],
    answers={200: Told("The token.", one(Token))},
    refusals=(*_OF_TOKEN, *DATABASE),
)
HISTORY: Final = described(
    "token_history",
    "Show a token's history",
    parameters=[_TOKEN, _AFTER, _PART],
    answers={200: Told("Its entries in order, numbered without a gap.", many(Entry))},
    refusals=(*_OF_TOKEN, InvalidArgument, *DATABASE),
)
FIRE: Final = described(
    "event_fire",
    "Fire an event at a token",
    parameters=[_TOKEN, _EVENT, _KEY],
    body=shapes.FireBody,
    body_required=False,
    answers={
        200: Told(
            "The token after it; or, for a key that was used before, the token as it is now.",
            one_of(Token, Duplicate),
        )
    },
    refusals=(
        *BODY,
        *_OF_TOKEN,
        InvalidPayload,
        EventNotAllowed,
        TokenNotActive,
        *DATABASE,
    ),
)
PAUSE: Final = described(
    "token_pause",
    "Pause a top token and its children",
    parameters=[_TOKEN],
    answers={200: _AFTER_IT},
    refusals=(*_OF_TOKEN, ChildToken, TokenNotActive, *DATABASE),
)
RESUME: Final = described(
    "token_resume",
    "Resume a paused token; what was held is applied",
    parameters=[_TOKEN],
    answers={200: _AFTER_IT},
    refusals=(*_OF_TOKEN, ChildToken, TokenNotActive, *DATABASE),
)
CANCEL: Final = described(
    "token_cancel",
    "Cancel a top token and its children",
    parameters=[_TOKEN],
    answers={200: _AFTER_IT},
    refusals=(*_OF_TOKEN, ChildToken, TokenNotActive, *DATABASE),
)
CLAIM: Final = described(
    "task_claim",
    "Claim ready tasks of some states",
    body=shapes.ClaimBody,
    answers={
        200: Told("The task; a list of tasks when `max` was given.", one_of(Grant, Grants)),
        204: Told("No task is ready, and none came while the claim waited."),
    },
    refusals=(*BODY, InvalidArgument, *DATABASE),
)
RELEASE: Final = described(
    "task_release",
    "Give back tasks that were not worked on, and end a claim that waits",
    body=shapes.ReleaseBody,
    answers={200: Told("The tasks that went back to their queues.", one(Released))},
    refusals=(*BODY, InvalidArgument, *DATABASE),
)
MESSAGES: Final = described(
    "task_messages",
    "Send reports, notes and memory writes of many tasks at once",
    body=shapes.MessagesBody,
    answers={200: Told("What became of each message, in their order.", one(Results))},
    refusals=(*BODY, InvalidArgument, *DATABASE),
)
HEARTBEAT: Final = described(
    "task_heartbeat",
    "Renew the leases of tasks",
    body=shapes.HeartbeatBody,
    answers={200: Told("The tasks that this supervisor does not hold.", one(Lost))},
    refusals=(*BODY, InvalidArgument, *DATABASE),
)
REPORT: Final = described(
    "task_report",
    "Report how a routine ended",
    parameters=[TASK],
    body=shapes.ReportBody,
    answers={200: _AFTER_IT},
    refusals=(
        *BODY,
        *OF_TASK,
        InvalidArgument,
        InvalidContext,
        InvalidPayload,
        EventNotAllowed,
        TaskNotHeld,
        AttemptOver,
        *DATABASE,
    ),
)
NOTE: Final = described(
    "task_note",
    "Write a progress line into the token's history",
    parameters=[TASK],
    body=shapes.NoteBody,
    answers={204: NO_CONTENT},
    refusals=(
        *BODY,
        *OF_TASK,
        InvalidArgument,
        InvalidPayload,
        TaskNotHeld,
        AttemptOver,
        *DATABASE,
    ),
)
MEMORY: Final = described(
    "task_memory",
    "Write or delete one key of a routine's memory",
    parameters=[TASK],
    body=shapes.MemoryBody,
    answers={204: NO_CONTENT},
    refusals=(
        *BODY,
        *OF_TASK,
        InvalidArgument,
        InvalidPayload,
        TaskNotHeld,
        AttemptOver,
        *DATABASE,
    ),
)
STEP: Final = described(
    "task_step",
    "Write down a step of a routine",
    parameters=[TASK],
    body=shapes.StepBody,
    answers={
        200: Told(
            "The flow's revision after it; for a response its correlation id, for a child its token.",
            one(Step),
        )
    },
    refusals=(
        *BODY,
        *OF_TASK,
        InvalidArgument,
        InvalidPayload,
        InvalidContext,
        InvalidTokenId,
        TaskNotHeld,
        AttemptOver,
        StaleRevision,
        StepOpen,
        StepDoneAlready,
        ChildNotDeclared,
        ChildIdTaken,
        FlowTooLarge,
        FlowUnreadable,
        *DATABASE,
    ),
)
RESPOND: Final = described(
    "response_take",
    "Answer a step that awaits a response, or say how far it is",
    parameters=[_CORRELATION],
    body=shapes.ResponseBody,
    answers={200: Told("Where the response went.", one(Response))},
    refusals=(
        *BODY,
        NotFound,
        InvalidPayload,
        ResponseNotAwaited,
        FlowUnreadable,
        *DATABASE,
    ),
)
FLOW: Final = described(
    "token_flow",
    "Show the flow of the routine that a token is in",
    parameters=[_TOKEN],
    answers={200: Told("The flow.", one(Flow))},
    refusals=(*_OF_TOKEN, FlowNotFound, FlowUnreadable, *DATABASE),
)
WORKFLOW: Final = described(
    "workflow_get",
    "Show the graph that is served",
    answers={200: Told("The graph document.", Schema(type=OpenAPIType.OBJECT))},
    refusals=(NotServing,),
)
HEALTH: Final = described(
    "health_get",
    "Say what is served, and by which version",
    answers={200: Told("It serves.", one(Health))},
    refusals=(NotServing,),
)
ADVANCE: Final = described(
    "clock_advance",
    "Move the manual clock on, and decide what is due then",
    body=shapes.AdvanceBody,
    answers={200: Told("The time after it.", one(Clock))},
    refusals=(*BODY, InvalidArgument, *DATABASE),
)
