"""The engine's values become rows here, as `:rows` carries them; the same for both databases.

Documents travel as JSON text, inside a row too, so that no database ever reads their numbers. Times
travel as UTC text with six digits of fraction, which sorts as the times do.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

import msgspec

from stateous.engine.family import (
    Document,
    Entry,
    Flow,
    FlowStep,
    Held,
    Item,
    Json,
    Occurrence,
    Remembered,
    Settled,
    Task,
    Timer,
    Token,
)
from stateous.store.store import Seen

_encoder = msgspec.json.Encoder()


def json_text(value: Json) -> str:
    """The JSON text of a value; integers of any length stay exact."""
    return _encoder.encode(value).decode()


def json_or_null(value: Json) -> str | None:
    """As `json_text`, None for None."""
    return None if value is None else json_text(value)


@lru_cache(maxsize=256)
def time_text(moment: datetime) -> str:
    """The moment as UTC text with six digits of fraction; a batch writes the same few over and over."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="microseconds")[:-6] + "Z"


def time_or_null(moment: datetime | None) -> str | None:
    """As `time_text`, None for None."""
    return None if moment is None else time_text(moment)


class Before(msgspec.Struct, frozen=True):
    """What a token's row held when it was read, so that only what changed is sent back."""

    status: str
    context: Document
    counts: dict[str, int]
    visits: dict[str, int]
    entered_by: Occurrence | None


def before_of(token: Token) -> Before:
    return Before(token.status, token.context, token.counts, token.visits, token.entered_by)


def new_token_row(token: Token) -> Document:
    return {
        "token": token.token,
        "root": token.root,
        "parent": token.parent,
        "workflow": token.workflow,
        "state": token.state,
        "status": token.status,
        "visit": token.visit,
        "seq": token.seq,
        "context": json_text(token.context),
        "counts": json_text(token.counts),
        "visits": json_text(token.visits),
        "entered_by": json_or_null(token.entered_by),
        "task": token.task,
        "children_open": token.children_open,
        "held_count": token.held_count,
        "created_at": time_text(token.created_at),
        "entered_at": time_text(token.entered_at),
        "changed_at": time_text(token.changed_at),
        "paused_at": time_or_null(token.paused_at),
        "ambient": json_or_null(token.ambient),
        "child": token.child,
        "child_task": token.child_task,
    }


def token_row(token: Token, *, seq_loaded: int, before: Before | None) -> Document:
    """The row of a changed token. A document that is the very one that was read is sent as null."""
    row: Document = {
        "token": token.token,
        "seq_loaded": seq_loaded,
        "state": token.state,
        "status": token.status,
        "visit": token.visit,
        "seq": token.seq,
        "task": token.task,
        "children_open": token.children_open,
        "held_count": token.held_count,
        "entered_at": time_text(token.entered_at),
        "changed_at": time_text(token.changed_at),
        "paused_at": time_or_null(token.paused_at),
        "child": token.child,
        "child_task": token.child_task,
    }
    if before is None or token.context is not before.context:
        row["context"] = json_text(token.context)
    if before is None or token.counts is not before.counts:
        row["counts"] = json_text(token.counts)
    if before is None or token.visits is not before.visits:
        row["visits"] = json_text(token.visits)
    if before is None or token.entered_by is not before.entered_by:
        row["entered_by"] = json_or_null(token.entered_by)
    return row


def entry_row(entry: Entry) -> Document:
    return {
        "token": entry.token,
        "seq": entry.seq,
        "at": time_text(entry.at),
        "kind": entry.kind,
        "key": entry.key,
        "data": json_text(entry.data),
    }


def new_task_row(task: Task, *, parked: bool) -> Document:
    return {
        "id": task.id,
        "token": task.token,
        "queue": task.queue,
        "state": task.state,
        "visit": task.visit,
        **task_row(task, parked=parked),
    }


def task_row(task: Task, *, parked: bool) -> Document:
    return {
        "id": task.id,
        "status": task.status,
        "parked": parked and task.status == "queued",
        "attempt": task.attempt,
        "failures": task.failures,
        "claimed_by": task.claimed_by,
        "lease_until": time_or_null(task.lease_until),
        "queued_at": time_text(task.queued_at),
        "awaiting": json_or_null(task.awaiting),
        "has_items": task.has_items,
    }


def new_timer_row(timer: Timer, *, parked: bool) -> Document:
    return {
        "token": timer.token,
        "state": timer.state,
        "visit": timer.visit,
        "event": timer.event,
        "payload": json_or_null(timer.payload),
        "kind": timer.kind,
        "set_at": time_text(timer.set_at),
        "step": timer.step,
        **timer_row(timer, parked=parked),
    }


def timer_row(timer: Timer, *, parked: bool) -> Document:
    return {
        "id": timer.id,
        "status": timer.status,
        "parked": parked and timer.status == "pending",
        "due_at": time_text(timer.due_at),
    }


def flow_row(flow: Flow) -> Document:
    return {
        "task": flow.task,
        "token": flow.token,
        "schema_version": flow.schema_version,
        "revision": flow.revision,
        "input": json_text(flow.input),
        "last_message": flow.last_message,
        "message_at": time_or_null(flow.message_at),
        "created_at": time_text(flow.created_at),
        "updated_at": time_text(flow.updated_at),
        "step_count": flow.step_count,
        "size": flow.size,
    }


def step_row(step: FlowStep) -> Document:
    return {
        "task": step.task,
        "name": step.name,
        "seq": step.seq,
        "kind": step.kind,
        "status": step.status,
        # A result of null is a result, too.
        "result": json_text(step.result) if step.status == "done" else None,
        "correlation": step.correlation,
        "answered": step.answered,
        "message": step.message,
        "child": step.child,
        "on_lost": step.on_lost,
        "attempt": step.attempt,
        "revision": step.revision,
        "opened_at": time_text(step.opened_at),
        "completed_at": time_or_null(step.completed_at),
        "fault": step.fault,
        "failures": step.failures,
        "workflow": step.workflow,
        "input_hash": step.input_hash,
        "fail_on_failure": step.fail_on_failure,
    }


def item_row(item: Item) -> Document:
    """The row of an item, and that of a change of it; the time of a change is `changed_at`."""
    return {
        "scope": item.scope,
        "place": item.place,
        "entity": item.entity,
        "item": item.item,
        "status": item.status,
        "data": item.data,
        "reason": item.reason,
        "task": item.task,
        "attempt": item.attempt,
        "token": item.token,
        "seq": item.seq,
        "locked_until": time_or_null(item.locked_until),
        "changed_at": time_text(item.changed_at),
        "expires_at": time_or_null(item.expires_at),
    }


def held_row(root: str, held: Held) -> Document:
    return {
        "root": root,
        "arrival": held.arrival,
        "token": held.token,
        "event": held.event,
        "payload": json_or_null(held.payload),
        "key": held.key,
        "task": held.task,
        "state": held.state,
        "visit": held.visit,
        "context": json_or_null(held.context),
        "schedules": json_text(held.schedules),
    }


def remembered_row(remembered: Remembered) -> Document:
    return {
        "supervisor": remembered.supervisor,
        "request": remembered.request,
        "grants": json_text(remembered.grants),
    }


def settled_row(settled: Settled) -> Document:
    return {
        "id": settled.row,
        "status": "applied" if settled.code is None else "refused",
        "duplicate": settled.duplicate,
        "code": settled.code,
        "error": settled.error,
        "settled_at": time_text(settled.at),
    }


def seen_row(seen: Seen) -> Document:
    return {"name": seen.name, "states": json_or_null(seen.states), "ago": max(seen.ago, 0.0)}
