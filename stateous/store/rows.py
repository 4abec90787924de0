"""Rows become the engine's values here, and the engine's values become rows; the same for both databases.

Documents travel as JSON text in both directions, inside a row too, so that no database ever reads their
numbers. Times travel as UTC text with six digits of fraction, which sorts as the times do.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from stateous.engine.family import (
    Document,
    Entry,
    Held,
    Json,
    Occurrence,
    Remembered,
    Schedule,
    Task,
    Timer,
    Token,
)

Row = Sequence[Any]
"""The columns of one row in the order of its statement."""

TOKEN_COLUMNS = 19
TASK_COLUMNS = 11

_encoder = msgspec.json.Encoder()
_read_json = msgspec.json.Decoder().decode
_read_occurrence = msgspec.json.Decoder(Occurrence).decode
_read_schedules = msgspec.json.Decoder(tuple[Schedule, ...]).decode
_read_pairs = msgspec.json.Decoder(tuple[tuple[int, int], ...]).decode
_read_timers = msgspec.json.Decoder(list[list[Any]]).decode


def json_text(value: Json) -> str:
    """The JSON text of a value; integers of any length stay exact."""
    return _encoder.encode(value).decode()


def json_or_null(value: Json) -> str | None:
    """As `json_text`, None for None."""
    return None if value is None else json_text(value)


def json_value(text: str) -> Json:
    """The value of a JSON text."""
    return _read_json(text)


def time_text(moment: datetime) -> str:
    """The moment as UTC text with six digits of fraction."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="microseconds")[:-6] + "Z"


def time_or_null(moment: datetime | None) -> str | None:
    """As `time_text`, None for None."""
    return None if moment is None else time_text(moment)


def time_value(value: datetime | str) -> datetime:
    """The moment that a column holds: text in SQLite and in JSON, a datetime in Postgres."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    return value if value.tzinfo is UTC else value.astimezone(UTC)


def _time_or_none(value: datetime | str | None) -> datetime | None:
    return None if value is None else time_value(value)


def token_of(row: Row) -> Token:
    """The token in the first 19 columns of a row."""
    return Token(
        token=row[0],
        root=row[1],
        parent=row[2],
        workflow=row[3],
        state=row[4],
        status=row[5],
        visit=row[6],
        seq=row[7],
        context=_read_json(row[8]),
        counts=_read_json(row[9]),
        visits=_read_json(row[10]),
        entered_by=None if row[11] is None else _read_occurrence(row[11]),
        task=row[12],
        children_open=row[13],
        held_count=row[14],
        created_at=time_value(row[15]),
        entered_at=time_value(row[16]),
        changed_at=time_value(row[17]),
        paused_at=_time_or_none(row[18]),
    )


def task_of(row: Row) -> Task:
    """The task in a row of 11 columns."""
    return Task(
        id=row[0],
        token=row[1],
        queue=row[2],
        state=row[3],
        visit=row[4],
        status=row[5],
        attempt=row[6],
        failures=row[7],
        claimed_by=row[8],
        lease_until=_time_or_none(row[9]),
        queued_at=time_value(row[10]),
    )


def timers_of(text: str | None) -> list[Timer]:
    """The timers in a JSON list of lists; their payloads are JSON text inside it."""
    return [
        Timer(
            id=row[0],
            token=row[1],
            state=row[2],
            visit=row[3],
            event=row[4],
            payload=None if row[5] is None else _read_json(row[5]),
            kind=row[6],
            status=row[7],
            set_at=time_value(row[8]),
            due_at=time_value(row[9]),
        )
        for row in (_read_timers(text) if text else ())
    ]


def held_of(row: Row) -> Held:
    """The held event in a row of 10 columns."""
    return Held(
        arrival=row[0],
        token=row[1],
        event=row[2],
        payload=None if row[3] is None else _read_json(row[3]),
        key=row[4],
        task=row[5],
        state=row[6],
        visit=row[7],
        context=None if row[8] is None else _read_json(row[8]),
        schedules=_read_schedules(row[9]),
    )


def entry_of(row: Row) -> Entry:
    """The ledger entry in a row of 5 columns; its key is never read back."""
    return Entry(
        token=row[0], seq=row[1], at=time_value(row[2]), kind=row[3], data=_read_json(row[4])
    )


def remembered_of(row: Row) -> Remembered:
    """The last claim of a supervisor in a row of 3 columns."""
    return Remembered(supervisor=row[0], request=row[1], grants=_read_pairs(row[2]))


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
        **timer_row(timer, parked=parked),
    }


def timer_row(timer: Timer, *, parked: bool) -> Document:
    return {
        "id": timer.id,
        "status": timer.status,
        "parked": parked and timer.status == "pending",
        "due_at": time_text(timer.due_at),
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
