"""No hot statement on Postgres walks through a table, not even with a plan from when the table was empty."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from stateous.store.postgres.session import LANE_SETTINGS, Place
from tests.databases import Database
from tests.store.plans import SEED, Planned, nodes, rows_touched

NOW = datetime(2030, 1, 1, tzinfo=UTC)
ASKED = [f"T-{n}" for n in range(1000, 41_000, 1000)]
TASKS = list(range(1001, 41_001, 1000))

AT = "2026-01-01T00:00:00.000000Z"


def rows(*made: dict[str, Any]) -> str:
    return msgspec.json.encode(made).decode()


def token_rows() -> str:
    return rows(
        *(
            {
                "token": name,
                "seq_loaded": 10,
                "state": "draft",
                "status": "active",
                "visit": 1,
                "seq": 10,
                "children_open": 0,
                "held_count": 0,
                "entered_at": AT,
                "changed_at": AT,
            }
            for name in ASKED
        )
    )


def task_rows() -> str:
    return rows(
        *(
            {
                "id": number,
                "status": "claimed",
                "parked": False,
                "attempt": 2,
                "failures": 0,
                "lease_until": AT,
                "queued_at": AT,
                "has_items": False,
            }
            for number in TASKS
        )
    )


def item_rows(**more: Any) -> str:
    """Items that are there; their keys, and what else is given."""
    keys = ({"scope": 4, "place": "draft", "entity": "invoice", "item": f"I-{n}"} for n in TASKS)
    return rows(*({**key, **more} for key in keys))


LISTED: dict[str, Any] = {
    **dict.fromkeys(("scope", "place", "entity", "item", "status")),
    "after_scope": 0,
    "after_place": "",
    "after_entity": "",
    "after_item": "",
    "limit": 40,
}

# Values that touch at most about 40 rows, whatever the size of the tables.
STATEMENTS: dict[str, dict[str, Any]] = {
    "families_lock": {"tokens": ASKED, "tasks": TASKS},
    "families_read": {"tokens": ASKED, "tasks": TASKS},
    "tasks_lock": {"tasks": TASKS},
    "tasks_read": {"tasks": TASKS},
    "new_ids_find": {"ids": [name.lower() for name in ASKED]},
    "keys_read": {
        "rows": rows(
            *({"token": name, "task": None, "key": "k-2"} for name in ASKED),
            *({"token": None, "task": number, "key": "k-2"} for number in TASKS),
        )
    },
    "memory_keys_read": {"rows": rows(*({"task": number, "key": "k"} for number in TASKS))},
    "memory_read": {"tasks": TASKS},
    "held_read": {"root": "T-7"},
    "ready_lock": {
        "rows": rows(
            *(
                {"place": 0, "queue": queue, "demand": 20, "looked_at": 50}
                for queue in ("draft", "x")
            )
        )
    },
    "ready_look": {"rows": rows({"queue": "draft", "demand": 40}, {"queue": "x", "demand": 9})},
    "queues_look": {"queues": ["draft", "x", *(f"q-{n}" for n in range(30))]},
    "remembered_read": {"supervisors": [f"s-{n}" for n in TASKS]},
    "tokens_save": {"rows": token_rows()},
    "tasks_save": {"rows": task_rows()},
    "timers_save": {
        "rows": rows(
            *({"id": number, "status": "fired", "parked": False, "due_at": AT} for number in TASKS)
        )
    },
    "tasks_park": {"tasks": TASKS, "parked": False},
    "timers_park": {"tokens": ASKED, "parked": False},
    "memory_set": {
        "rows": rows(*({"token": n, "state": "draft", "key": "k", "value": "1"} for n in ASKED))
    },
    "memory_delete": {
        "rows": rows(*({"token": name, "state": "draft", "key": "z"} for name in ASKED))
    },
    "memory_wipe": {"tokens": ASKED},
    "held_clear": {"roots": ASKED},
    "tasks_beat": {
        "rows": rows(*({"task": number, "supervisor": "s"} for number in TASKS)),
        "now": AT,
        "leased_until": AT,
        "epoch": 0,
    },
    "token_read": {"token": "T-7"},
    "tokens_list": {"statuses": ["active", "completed", "failed"], "limit": 20},
    "children_list": {"parent": "T-99", "statuses": ["active", "completed"], "limit": 20},
    "history_read": {"token": "T-7", "after": 2, "limit": None},
    "timers_due": {"now": AT, "limit": 40},
    "inbox_look": {"passed": ["t-1", "T-3"], "limit": 40, "bytes": 10**6, "largest": 10**6},
    "inbox_lock": {"inbox": TASKS},
    "inbox_read": {"inbox": TASKS},
    "items_lock": {"rows": item_rows()},
    "items_wait": {"rows": item_rows()},
    "items_read": {"rows": item_rows()},
    "items_save": {"rows": item_rows(status="skipped", changed_at=AT)},
    "item_changes_add": {"rows": item_rows(status="skipped", changed_at=AT)},
    "items_forget": {"rows": item_rows()},
    "locks_lock": {"tasks": TASKS},
    "locks_wait": {"tasks": TASKS},
    "locks_read": {"tasks": TASKS},
    "locks_over": {"now": "2100-01-01T00:00:00.000000Z", "limit": 40},
    "items_due": {"now": "2100-01-01T00:00:00.000000Z", "limit": 40},
    "item_history": {"scope": 4, "place": "draft", "entity": "invoice", "item": "I-7", "limit": 40},
    "items_list": LISTED,
    "items_of_token": {**LISTED, "token": "T-7"},
    "task_place": {"task": 7},
    "inbox_settle": {
        "rows": rows(
            *(
                {"id": number, "status": "applied", "duplicate": False, "settled_at": AT}
                for number in TASKS
            )
        )
    },
}

TABLES = (
    "tokens",
    "ledger",
    "tasks",
    "timers",
    "memory",
    "held",
    "claims",
    "inbox",
    "items",
    "item_changes",
)

# Their rows are counted only when they are there.
COUNTED = {"tokens_save", "tasks_save", "timers_save", "items_save", "inbox_settle"}


@pytest.mark.parametrize("analysed", ["never", "while empty"])
async def test_hot_statements_stay_on_their_indexes(postgres: Database, analysed: str) -> None:
    place = Place(postgres.url, schema="stateous")
    planned = [Planned(name, values) for name, values in STATEMENTS.items()]
    empty = {name: Planned(name, {**STATEMENTS[name], "rows": "[]"}) for name in sorted(COUNTED)}
    connection = await place.connect(LANE_SETTINGS)
    seeding = await place.connect({})
    try:
        if analysed == "while empty":
            for table in TABLES:
                await seeding.execute(f"vacuum analyze {table}".encode())
        for each in planned:
            await empty.get(each.name, each).prepare(connection)
        await seeding.execute(SEED.encode(), prepare=False)
        if analysed == "while empty":
            # What the lane does every few seconds.
            await connection.execute("discard plans")
        await connection.execute("begin")
        found: dict[str, Any] = {}
        for each in planned:
            plan = await each.explain(connection)
            walks = [
                node["Relation Name"]
                for node in nodes(plan)
                if node["Node Type"] == "Seq Scan" and node["Relation Name"] != "control_plane"
            ]
            too_many = {table: n for table, n in rows_touched(plan).items() if n > 250}
            if walks or too_many:
                found[each.name] = (walks, too_many)
        await connection.execute("rollback")
    finally:
        await connection.close()
        await seeding.close()
    assert found == {}
