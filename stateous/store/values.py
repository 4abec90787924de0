"""What the database answers becomes the engine's values here; the same for both databases.

Documents come as JSON text, also inside a JSON list, so that no database ever reads their numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from stateous.engine.facts import FlowRead
from stateous.engine.family import (
    Entry,
    Flow,
    FlowStep,
    Held,
    Item,
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

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""When something changed last of which nothing is known."""

TOKEN_COLUMNS = 22
TASK_COLUMNS = 13

_read_json = msgspec.json.Decoder().decode
_read_occurrence = msgspec.json.Decoder(Occurrence).decode
_read_schedules = msgspec.json.Decoder(tuple[Schedule, ...]).decode
_read_pairs = msgspec.json.Decoder(tuple[tuple[int, int], ...]).decode
_read_texts = msgspec.json.Decoder(dict[str, str]).decode
_read_names = msgspec.json.Decoder(tuple[str, ...]).decode
_read_lists = msgspec.json.Decoder(list[list[Any]]).decode


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
    """The token in the first 22 columns of a row."""
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
        ambient=None if row[19] is None else _read_texts(row[19]),
        child=row[20],
        child_task=row[21],
    )


def task_of(row: Row) -> Task:
    """The task in a row of 13 columns."""
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
        awaiting=None if row[11] is None else _read_names(row[11]),
        has_items=bool(row[12]),
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
            step=row[10],
        )
        for row in (_read_lists(text) if text else ())
    ]


def flow_of(row: Row) -> tuple[Flow, tuple[FlowStep, ...]]:
    """The flow in a row of 12 columns, and the steps that came with it, in order."""
    flow = Flow(
        task=row[0],
        token=row[1],
        schema_version=row[2],
        revision=row[3],
        input=_read_json(row[4]),
        last_message=row[5],
        message_at=_time_or_none(row[6]),
        created_at=time_value(row[7]),
        updated_at=time_value(row[8]),
        step_count=row[9],
        size=row[10],
    )
    steps = (_step_of(flow.task, step) for step in (_read_lists(row[11]) if row[11] else ()))
    return flow, tuple(sorted(steps, key=lambda step: step.seq))


def _step_of(task: int, row: Row) -> FlowStep:
    """The step in a JSON list of 19; its result is JSON text inside it."""
    return FlowStep(
        task=task,
        seq=row[0],
        name=row[1],
        kind=row[2],
        status=row[3],
        result=None if row[4] is None else _read_json(row[4]),
        correlation=row[5],
        answered=row[6],
        message=row[7],
        child=row[8],
        on_lost=row[9],
        attempt=row[10],
        revision=row[11],
        opened_at=time_value(row[12]),
        completed_at=_time_or_none(row[13]),
        fault=row[14],
        failures=row[15],
        workflow=row[16],
        input_hash=row[17],
        fail_on_failure=None if row[18] is None else bool(row[18]),
    )


def shown_of(row: Row) -> FlowRead:
    """The token, its newest task, and the flow of that, in a row of flow_show."""
    task_at = TOKEN_COLUMNS + TASK_COLUMNS
    flow, steps = flow_of(row[task_at : task_at + 12]) if row[task_at] is not None else (None, ())
    memory, note = row[task_at + 12], row[task_at + 13]
    said = None if note is None else _read_json(note)
    return FlowRead(
        token=token_of(row),
        task=None if row[TOKEN_COLUMNS] is None else task_of(row[TOKEN_COLUMNS:task_at]),
        flow=flow,
        steps=steps,
        memory={key: _read_json(value) for key, value in (_read_lists(memory) if memory else ())},
        note=None if said is None else (said[0], time_value(said[1])),
        parent_step=row[task_at + 14],
    )


def item_of(row: Row) -> Item:
    """The item in a row of 15 columns; what only keeps its place has no status yet."""
    return Item(
        scope=row[0],
        place=row[1],
        entity=row[2],
        item=row[3],
        status=row[4],
        data=row[5],
        reason=row[6],
        task=row[7],
        attempt=row[8],
        token=row[9],
        seq=row[10],
        locked_until=_time_or_none(row[11]),
        changed_at=time_value(row[12]),
        expires_at=_time_or_none(row[13]),
        left_out=bool(row[14]),
    )


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
