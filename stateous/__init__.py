"""Stateous runs a process as a graph of states, and keeps every run of it durable.

What users import stands here, and is loaded when it is asked for: `import stateous` stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from stateous.client import (
        AsyncClient,
        Client,
        Entry,
        FiredToken,
        Health,
        NotJson,
        NotStateous,
        StartedToken,
        Token,
        Unreachable,
    )
    from stateous.model.ambient import BadPropagator, ContextPropagator, ContextVarPropagator
    from stateous.model.answers import Answers, BadAnswer
    from stateous.model.flows import (
        ChildResult,
        FlowFailed,
        Mistyped,
        ResponseFailed,
        ResponseTimeout,
    )
    from stateous.model.items import Acquired, BadItem, ItemRecord, Items, Skipped
    from stateous.model.marks import Context, Event, Occurrence, StateRef, WorkflowRef, on_state
    from stateous.model.names import END, ERROR, JOINED, START, TIMEOUT
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
        ItemBusy,
        ItemMoveNotAllowed,
        ItemNotFound,
        MethodNotAllowed,
        NoStateLog,
        NotFound,
        NotServing,
        Refusal,
        ResponseNotAwaited,
        StaleRevision,
        StateousError,
        StepDoneAlready,
        StepOpen,
        TaskNotFound,
        TaskNotHeld,
        TokenNotActive,
        TokenNotFound,
        Unexpected,
    )
    from stateous.model.state_log_handlers import (
        ItemCall,
        StateLogContext,
        StateLogHandler,
        state_log_handler,
    )
    from stateous.model.state_logs import StateLog
    from stateous.model.tracing import TraceContextPropagator
    from stateous.model.workflow import Workflow

__all__ = [
    "END",
    "ERROR",
    "JOINED",
    "START",
    "TIMEOUT",
    "Acquired",
    "Answers",
    "AsyncClient",
    "AttemptOver",
    "BadAnswer",
    "BadItem",
    "BadPropagator",
    "BadRequest",
    "BodyTooLarge",
    "ChildIdTaken",
    "ChildNotDeclared",
    "ChildResult",
    "ChildToken",
    "Client",
    "Context",
    "ContextPropagator",
    "ContextVarPropagator",
    "DatabaseBusy",
    "Entry",
    "Event",
    "EventNotAllowed",
    "FiredToken",
    "FlowFailed",
    "FlowNotFound",
    "FlowTooLarge",
    "FlowUnreadable",
    "Health",
    "InvalidArgument",
    "InvalidBody",
    "InvalidContext",
    "InvalidPayload",
    "InvalidTokenId",
    "ItemBusy",
    "ItemCall",
    "ItemMoveNotAllowed",
    "ItemNotFound",
    "ItemRecord",
    "Items",
    "MethodNotAllowed",
    "Mistyped",
    "NoStateLog",
    "NotFound",
    "NotJson",
    "NotServing",
    "NotStateous",
    "Occurrence",
    "Refusal",
    "ResponseFailed",
    "ResponseNotAwaited",
    "ResponseTimeout",
    "Skipped",
    "StaleRevision",
    "StartedToken",
    "StateLog",
    "StateLogContext",
    "StateLogHandler",
    "StateRef",
    "StateousError",
    "StepDoneAlready",
    "StepOpen",
    "TaskNotFound",
    "TaskNotHeld",
    "Token",
    "TokenNotActive",
    "TokenNotFound",
    "TraceContextPropagator",
    "Unexpected",
    "Unreachable",
    "Workflow",
    "WorkflowRef",
    "on_state",
    "state_log_handler",
]

_NAMES: Final = {
    "stateous.model.ambient": ("BadPropagator", "ContextPropagator", "ContextVarPropagator"),
    "stateous.model.answers": ("Answers", "BadAnswer"),
    "stateous.model.flows": (
        "ChildResult",
        "FlowFailed",
        "Mistyped",
        "ResponseFailed",
        "ResponseTimeout",
    ),
    "stateous.model.marks": (
        "Context",
        "Event",
        "Occurrence",
        "StateRef",
        "WorkflowRef",
        "on_state",
    ),
    "stateous.model.names": ("END", "ERROR", "JOINED", "START", "TIMEOUT"),
    "stateous.model.items": ("Acquired", "BadItem", "ItemRecord", "Items", "Skipped"),
    "stateous.model.state_log_handlers": (
        "ItemCall",
        "StateLogContext",
        "StateLogHandler",
        "state_log_handler",
    ),
    "stateous.model.state_logs": ("StateLog",),
    "stateous.model.tracing": ("TraceContextPropagator",),
    "stateous.model.workflow": ("Workflow",),
    "stateous.client": (
        "AsyncClient",
        "Client",
        "Entry",
        "FiredToken",
        "Health",
        "NotJson",
        "NotStateous",
        "StartedToken",
        "Token",
        "Unreachable",
    ),
}
_HOME: Final = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Load what is asked for from where it lives; a name that has no other home is a refusal."""
    if name not in __all__:
        raise AttributeError(f"module 'stateous' has no attribute {name!r}")
    found: object = getattr(import_module(_HOME.get(name, "stateous.model.refusals")), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
