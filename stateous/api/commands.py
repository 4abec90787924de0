"""Bodies as commands of the engine, each checked in the order of docs/http.md."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from stateous.engine.commands import (
    AwaitChild,
    Beat,
    Checkpoint,
    Claim,
    Fire,
    Note,
    Report,
    SetMemory,
    Start,
)
from stateous.engine.family import Json, Schedule
from stateous.model.flows import ResponseStatus
from stateous.model.refusals import (
    InvalidArgument,
    InvalidBody,
    InvalidContext,
    InvalidPayload,
)
from stateous.model.wire import fields
from stateous.model.wire.body import Body
from stateous.model.wire.query import idempotency_key

_REPLACED = str.maketrans({"\0": "\ufffd"})


class ReleaseAsked(NamedTuple):
    """Whose tasks are given back, and the request of the claim that is ended, if any."""

    supervisor: str
    tasks: tuple[int, ...]
    request: str | None


class ClaimAsked(NamedTuple):
    """A claim as it came: `wait` in seconds, and whether it asked for a list (`max`)."""

    claim: Claim
    wait: float
    many: bool


def start_asked(body: Body) -> Start:
    """`{token, context?, ambient?}`. Raises InvalidTokenId, InvalidContext, InvalidBody and InvalidArgument."""
    token = fields.token_id(body)
    context = fields.document(body, "context", InvalidContext)
    body.refuse_nul(context, "'context'", InvalidContext)
    fields.check_token_id(token)
    return Start(token, context or {}, fields.ambient(body))


def fire_asked(token: str, event: str, body: Body, headers: Iterable[tuple[bytes, bytes]]) -> Fire:
    """`{payload?}` and the header Idempotency-Key. Raises InvalidPayload."""
    payload = fields.document(body, "payload", InvalidPayload)
    body.refuse_nul(payload, "'payload'", InvalidPayload)
    # The ledger keeps the path's text even of an event that nobody declared.
    return Fire(token, event.translate(_REPLACED), payload, idempotency_key(headers))


def claim_asked(body: Body) -> ClaimAsked:
    """`{supervisor, states, request?, max?, wait?}`. Raises InvalidArgument and InvalidBody."""
    supervisor = fields.supervisor(body)
    states = fields.states(body)
    request = fields.request_id(body)
    most = fields.most_grants(body)
    wait = fields.wait_for(body)
    claim = Claim(supervisor=supervisor, states=states, request=request, max=most or 1)
    return ClaimAsked(claim, wait, many=most is not None)


def beat_asked(body: Body) -> Beat:
    """`{supervisor, tasks}`. Raises InvalidArgument and InvalidBody."""
    supervisor = fields.supervisor(body)
    return Beat(supervisor, fields.tasks(body))


def release_asked(body: Body) -> ReleaseAsked:
    """`{supervisor, tasks?, request?}`. Raises InvalidArgument and InvalidBody."""
    supervisor = fields.supervisor(body)
    tasks = () if body.fields.get("tasks") is None else fields.tasks(body)
    return ReleaseAsked(supervisor, tasks, fields.request_id(body))


def report_asked(
    task: int, body: Body, *, kind: Literal["kind", "outcome"] = "kind", by: str | None = None
) -> Report:
    """`{kind, event?, payload?, error?, context?, schedules?, attempt?, supervisor?}`.

    Raises InvalidArgument and InvalidBody, whatever the kind; for `event` and `waiting` also InvalidContext
    and InvalidPayload. What the kind does not look at is left out of the command. `kind` is the field that
    has it; `by` is the supervisor if the report names none.
    """
    return _report(task, body, fields.supervisor_or_none(body) or by, _kind(body, kind))


def _report(
    task: int, body: Body, supervisor: str | None, kind: Literal["event", "waiting", "failed"]
) -> Report:
    event = fields.text(body, "event", InvalidBody) if kind == "event" else ""
    error = fields.text(body, "error", InvalidBody) if kind == "failed" else ""
    body.refuse_nul(event, "'event'", InvalidBody)
    asked = fields.schedules(body)
    awaiting = fields.awaiting(body)
    final = fields.flag(body, "final")
    attempt = fields.attempt(body, InvalidBody)
    payload = fields.document(body, "payload", InvalidBody)
    context = fields.document(body, "context", InvalidBody)
    if kind == "failed":
        # A report must not be lost because its error is ugly.
        error = error.translate(_REPLACED)
        return Report(
            task=task,
            kind=kind,
            error=error,
            attempt=attempt,
            supervisor=supervisor,
            final=final,
        )
    body.refuse_nul(context, "'context'", InvalidContext)
    for schedule in asked:
        body.refuse_nul(list(schedule), "a schedule", InvalidPayload)
    if kind == "event":
        body.refuse_nul(payload, "'payload'", InvalidPayload)
    return Report(
        task=task,
        kind=kind,
        event=event,
        payload=payload if kind == "event" else None,
        context=context,
        schedules=tuple(Schedule(*schedule) for schedule in asked),
        attempt=attempt,
        supervisor=supervisor,
        awaiting=awaiting if kind == "waiting" else (),
    )


def step_asked(task: int, body: Body) -> Checkpoint | AwaitChild:
    """`{attempt, revision, name, kind, supervisor?, message?}`, and what the kind has.

    That is `result?, faulted?` of a step, `faulted?, timeout?, on_lost?` of a response, and
    `workflow, input?, id?, fail_on_failure?, ambient?` of a child. Raises InvalidArgument, InvalidBody and InvalidPayload; for
    a child also InvalidContext and InvalidTokenId.
    """
    supervisor = fields.supervisor_or_none(body)
    attempt = fields.attempt(body, InvalidArgument, largest=fields.LARGEST_INTEGER)
    if attempt is None:
        raise InvalidArgument(
            "'attempt' is missing: a step is of the attempt that works on the task"
        )
    revision = fields.revision(body)
    name = fields.step_name(body)
    kind = fields.step_kind(body)
    faulted = fields.flag(body, "faulted")
    message = fields.message(body)
    timeout = fields.timeout(body)
    on_lost = fields.on_lost(body)
    result = body.fields.get("result")
    if "result" in body.fields and (faulted or kind != "step"):
        raise InvalidBody(
            "a 'result' is of a step that is done: not of one that faulted, nor of a response or a child"
        )
    if kind == "child":
        if faulted:
            raise InvalidBody("a child is not sent as 'faulted': it ends by itself")
        workflow = fields.text(body, "workflow", InvalidBody)
        body.refuse_nul(workflow, "'workflow'", InvalidBody)
        asked = fields.document(body, "input", InvalidContext)
        body.refuse_nul(asked, "'input'", InvalidContext)
        return AwaitChild(
            task=task,
            attempt=attempt,
            revision=revision,
            name=name,
            workflow=workflow,
            input=asked or {},
            id=fields.child_id(body),
            fail_on_failure=fields.flag(body, "fail_on_failure", default=True),
            ambient=fields.ambient(body),
            message=message,
            supervisor=supervisor,
        )
    body.refuse_nul(result, "'result'", InvalidPayload)
    ended = "done" if kind == "step" else "open"
    return Checkpoint(
        task=task,
        attempt=attempt,
        revision=revision,
        name=name,
        kind=kind,
        status="faulted" if faulted else ended,
        result=result,
        message=message,
        timeout=timeout if ended == "open" and not faulted else None,
        on_lost=on_lost,
        supervisor=supervisor,
    )


class ResponseAsked(NamedTuple):
    """What somebody outside answers."""

    status: ResponseStatus
    payload: Json
    message: str | None


def response_asked(body: Body) -> ResponseAsked:
    """`{status, payload?, message?}`. Raises InvalidBody and InvalidPayload."""
    status = fields.response_status(body)
    message = fields.message(body)
    payload = body.fields.get("payload")
    body.refuse_nul(payload, "'payload'", InvalidPayload)
    return ResponseAsked(status, payload, message)


def note_asked(task: int, body: Body) -> Note:
    """`{text, attempt?}`. Raises InvalidPayload and InvalidArgument."""
    text = fields.note_text(body)
    attempt = fields.attempt(body, InvalidArgument, largest=fields.LARGEST_INTEGER)
    return Note(task=task, text=text, attempt=attempt)


def memory_asked(task: int, body: Body) -> SetMemory:
    """`{key, value, attempt?}`. Raises InvalidPayload, InvalidBody and InvalidArgument."""
    key = fields.memory_key(body)
    if "value" not in body.fields:
        raise InvalidBody("'value' is missing: null deletes the key")
    value = body.fields["value"]
    body.refuse_nul(value, "'value'", InvalidPayload)
    attempt = fields.attempt(body, InvalidArgument, largest=fields.LARGEST_INTEGER)
    return SetMemory(task=task, key=key, value=value, attempt=attempt)


def _kind(body: Body, name: str) -> Literal["event", "waiting", "failed"]:
    match body.fields.get(name):
        case "event" | "waiting" | "failed" as kind:
            return kind
        case _:
            raise InvalidBody(f"'{name}' is 'event', 'waiting' or 'failed'")
