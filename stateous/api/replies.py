"""Finished HTTP answers: bytes that send themselves, and what the API's objects look like in them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Final, assert_never

import msgspec
from litestar.types import (
    ASGIApp,
    HTTPResponseBodyEvent,
    HTTPResponseStartEvent,
    Receive,
    Scope,
    Send,
)
from msgspec import UNSET, Meta, UnsetType

from stateous.api.item_replies import told_shown
from stateous.engine import answers, family
from stateous.engine.answers import (
    Answer,
    Checkpointed,
    Done,
    Granted,
    ItemsTold,
    Moved,
    Responded,
    Started,
)
from stateous.engine.flows import is_readable
from stateous.engine.showing import ShownFlow
from stateous.model.graph import Graph
from stateous.model.wire.query import STATUSES

_JSON: Final = (b"content-type", b"application/json")
_encode: Final = msgspec.json.Encoder().encode


class Reply:
    """One answer, ready to be sent. Litestar takes it as an ASGI application of its own.

    Cheaper than Litestar's responses (by 3 to 6 µs each): nothing is looked up again that is known here.
    """

    __slots__ = ("body", "headers", "status")

    def __init__(
        self, status: int, body: bytes, headers: Iterable[tuple[bytes, bytes]] = ()
    ) -> None:
        self.status = status
        self.body = body
        self.headers = headers

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        start: HTTPResponseStartEvent = {
            "type": "http.response.start",
            "status": self.status,
            "headers": [_JSON, (b"content-length", b"%d" % len(self.body)), *self.headers],
        }
        body: HTTPResponseBodyEvent = {
            "type": "http.response.body",
            "body": self.body,
            "more_body": False,
        }
        await send(start)
        await send(body)


class Nothing:
    """The answer 204, which has no body and says nothing about one."""

    __slots__ = ()

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


NOTHING: Final = Nothing()


class Token(msgspec.Struct):
    """A token as it is shown."""

    token: str
    state: str
    status: Annotated[str, Meta(extra_json_schema={"enum": list(STATUSES)})]
    visit: int
    context: dict[str, Any]
    entered_at: datetime
    parent: str | UnsetType = UNSET


class Duplicate(msgspec.Struct):
    """The answer to an event whose key was used before: nothing changed."""

    duplicate: bool
    token: Token


class EnteredBy(msgspec.Struct):
    """The event that brought the token into its state."""

    name: str
    payload: dict[str, Any] | UnsetType = UNSET


class GrantStep(msgspec.Struct, omit_defaults=True):
    """A step of a routine, as a later attempt finds it: `result` when it is done, `correlation` while it is open.

    `child` is the token that it began.
    `fault`, `failed` or `deadline`, is why there is no response, until a failed attempt was told of it.
    """

    kind: str
    status: str
    result: Any = UNSET
    correlation: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    fault: str | UnsetType = UNSET
    child: str | UnsetType = UNSET


class GrantFlow(msgspec.Struct, omit_defaults=True):
    """How far the routine got before. Of a flow in a form that is not known here, there is only that."""

    revision: int | UnsetType = UNSET
    steps: dict[str, GrantStep] | UnsetType = UNSET
    unreadable: bool | UnsetType = UNSET
    schemaVersion: int | UnsetType = UNSET  # noqa: N815 - as the flow itself is shown


class Step(msgspec.Struct, omit_defaults=True):
    """The flow's revision after the step, and what a response that it opened is known by, or the child that it began."""

    revision: int
    correlation: str | UnsetType = UNSET
    child: str | UnsetType = UNSET


class Response(msgspec.Struct):
    """Where a response went; `duplicate` when the step had its response before."""

    token: str
    state: str
    step: str
    duplicate: bool


class FlowStep(msgspec.Struct, rename="camel"):
    """A step of a flow; `resultJson` is a text of JSON."""

    completed: bool
    result_json: str | None
    pending_correlation_id: str | None
    faulted: bool
    message: str | None
    child_flow_id: str | None
    completed_at_utc: datetime | None


class Flow(msgspec.Struct, rename="camel"):
    """The flow of the routine that a token is in; `inputJson` and each of the `values` is a text of JSON."""

    schema_version: int
    revision: int
    flow_id: str
    flow_type_name: str
    input_type_name: str | None
    input_json: str
    status: int
    status_name: str
    last_message: str | None
    created_at_utc: datetime
    updated_at_utc: datetime
    attempts: int
    steps: dict[str, FlowStep]
    values: dict[str, str]
    parent_flow_id: str | None
    parent_step_name: str | None
    context: dict[str, str] | None


class GrantLog(msgspec.Struct, rename="camel"):
    """The state log of the task's state: who keeps its items, who shares them, and where they are."""

    handler: str
    scope: str
    scope_id: int
    place: str
    options: dict[str, Any]
    tenant: str
    app: str


class Grant(msgspec.Struct):
    """A task that the supervisor holds now, with all that its routine needs."""

    task: int
    token: str
    state: str
    visit: int
    attempt: int
    context: dict[str, Any]
    memory: dict[str, Any]
    entered_by: EnteredBy
    flow: GrantFlow
    ambient: dict[str, str] | None
    stateLog: GrantLog | None  # noqa: N815 - as the fields in it are written


class Grants(msgspec.Struct):
    """The tasks of a claim that asked for more than one."""

    grants: list[Grant]


class MessageResult(msgspec.Struct):
    """What became of one message: what its single route would have answered.

    `token` is there for a report that was taken, `code` and `error` for a refusal.
    """

    status: int
    code: str | UnsetType = UNSET
    error: str | UnsetType = UNSET
    token: Token | UnsetType = UNSET


class Results(msgspec.Struct):
    """What became of the messages of a request, in their order."""

    results: list[MessageResult]


class Released(msgspec.Struct):
    """The tasks that went back to their queues, ascending."""

    released: list[int]


class Lost(msgspec.Struct):
    """The tasks of a heartbeat that the supervisor no longer holds, ascending."""

    lost: list[int]


class Entry(msgspec.Struct):
    """One entry of a token's history."""

    seq: int
    at: datetime
    kind: str
    data: dict[str, Any]


class Health(msgspec.Struct):
    """What this control plane serves; `lease_for` in seconds."""

    workflow: str
    checksum: str
    lease_for: float
    version: str


class Clock(msgspec.Struct):
    """The time of a manual clock."""

    now: datetime


def reply(value: Any, *, status: int = 200) -> Reply:
    """The value as JSON. Any object of the API, or a list of them."""
    return Reply(status, _encode(value))


def answer_reply(answer: Answer) -> ASGIApp:
    """The answer of a command: 201 for a token that was made, 204 where there is nothing to tell."""
    match answer:
        case Started():
            return reply(token_shown(answer.token), status=201 if answer.created else 200)
        case Moved():
            shown = token_shown(answer.token)
            return reply(Duplicate(duplicate=True, token=shown) if answer.duplicate else shown)
        case Granted():
            grants = [grant_shown(grant) for grant in answer.grants]
            return reply(Grants(grants)) if grants else NOTHING
        case Checkpointed():
            opened, child = answer.correlation, answer.child
            return reply(
                Step(
                    answer.revision,
                    UNSET if opened is None else opened,
                    UNSET if child is None else child,
                )
            )
        case Responded():
            token = answer.token
            return reply(Response(token.token, token.state, answer.step, answer.duplicate))
        case ItemsTold():
            return reply(told_shown(answer))
        case Done():
            return NOTHING
        case _:
            assert_never(answer)


def token_shown(token: family.Token) -> Token:
    """The token without what only the engine needs."""
    return Token(
        token.token,
        token.state,
        token.status,
        token.visit,
        token.context,
        token.entered_at,
        UNSET if token.parent is None else token.parent,
    )


def grant_shown(grant: answers.Grant) -> Grant:
    """The grant, with the payload of its event only if there was one."""
    payload = grant.entered_by.payload
    return Grant(
        grant.task,
        grant.token,
        grant.state,
        grant.visit,
        grant.attempt,
        grant.context,
        grant.memory,
        EnteredBy(grant.entered_by.name, UNSET if payload is None else payload),
        _grant_flow(grant),
        grant.ambient,
        _grant_log(grant.state_log),
    )


def _grant_log(log: answers.GrantLog | None) -> GrantLog | None:
    if log is None:
        return None
    return GrantLog(
        log.handler, log.scope, log.scope_id, log.place, log.options, log.tenant, log.app
    )


def _grant_flow(grant: answers.Grant) -> GrantFlow:
    if grant.flow is None:
        return GrantFlow(revision=0, steps={})
    if not is_readable(grant.flow):
        return GrantFlow(unreadable=True, schemaVersion=grant.flow.schema_version)
    steps = {
        step.name: GrantStep(
            step.kind,
            step.status,
            step.result if step.status == "done" else UNSET,
            UNSET if step.correlation is None else step.correlation,
            UNSET if step.message is None else step.message,
            UNSET if step.fault is None else step.fault,
            UNSET if step.child is None else step.child,
        )
        for step in grant.steps
    }
    return GrantFlow(revision=grant.flow.revision, steps=steps)


_STATUS_NUMBERS: Final = {"Running": 0, "Succeeded": 1, "Failed": 2, "Suspended": 3}


def flow_shown(shown: ShownFlow, graph: Graph) -> Flow:
    """The flow as programs read it, in the names of the form that it is kept in."""
    flow, token = shown.flow, shown.token
    return Flow(
        schema_version=flow.schema_version,
        revision=flow.revision,
        flow_id=token.token,
        flow_type_name=f"{token.workflow}/{shown.task.state}",
        input_type_name=graph.flows[token.workflow].context,
        input_json=_json(flow.input),
        status=_STATUS_NUMBERS[shown.status],
        status_name=shown.status,
        last_message=shown.last_message,
        created_at_utc=flow.created_at,
        updated_at_utc=flow.updated_at,
        attempts=shown.task.attempt,
        steps={
            step.name: FlowStep(
                completed=step.status == "done",
                result_json=_json(step.result) if step.status == "done" else None,
                pending_correlation_id=step.correlation,
                faulted=step.status == "faulted",
                message=step.message,
                child_flow_id=step.child,
                completed_at_utc=step.completed_at,
            )
            for step in shown.steps
        },
        values={key: _json(value) for key, value in shown.memory.items()},
        parent_flow_id=None if shown.parent_step is None else token.parent,
        parent_step_name=shown.parent_step,
        context=token.ambient,
    )


def _json(value: Any) -> str:
    return _encode(value).decode()


def entry_shown(entry: family.Entry) -> Entry:
    """The entry without its idempotency key, which is never shown."""
    return Entry(entry.seq, entry.at, entry.kind, entry.data)
