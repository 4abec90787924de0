"""What the database answers becomes the engine's values here; the same for both databases.

Documents come as JSON text, also inside a JSON list, so that no database ever reads their numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from stateous.engine.family import (
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

LARGEST = 2**63 - 1
"""The largest integer that a column holds; no number in a row is beyond it."""

TOKEN_COLUMNS = 19
TASK_COLUMNS = 11

_read_json = msgspec.json.Decoder().decode
_read_occurrence = msgspec.json.Decoder(Occurrence).decode
_read_schedules = msgspec.json.Decoder(tuple[Schedule, ...]).decode
_read_pairs = msgspec.json.Decoder(tuple[tuple[int, int], ...]).decode
_read_timers = msgspec.json.Decoder(list[list[Any]]).decode


def json_value(text: str) -> Json:
    """The value of a JSON text."""
    return _read_json(text)


def time_value(value: datetime | str) -> datetime:
    """The moment that a column holds: text in SQLite and in JSON, a datetime in Postgres."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    return value if value.tzinfo is UTC else value.astimezone(UTC)


def _time_or_none(value: datetime | str | None) -> datetime | None:
    return None if value is None else time_value(value)


def latest_of(row: Row) -> datetime | None:
    """The latest of the moments in a row; None when there is none."""
    return max((time_value(value) for value in row if value is not None), default=None)


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
