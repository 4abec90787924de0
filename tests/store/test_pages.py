"""A page of a long history, or of what is due, reads no more than it answers; whatever Postgres knows of its tables."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from stateous.store.postgres.session import READ_SETTINGS, Place
from stateous.store.statements import sqlite_statement
from tests.databases import Database, new_database
from tests.store.opened import raw
from tests.store.plans import Planned, rows_touched
from tests.store.test_costs import CROWD, MORE_ENTRIES

LIMIT = 100
PAGES: dict[str, dict[str, Any]] = {
    "first": {"token": "old", "after": 0, "limit": LIMIT},
    "middle": {"token": "old", "after": 50_000, "limit": LIMIT},
    "last": {"token": "old", "after": 99_900, "limit": LIMIT},
}
DUE: dict[str, Any] = {"now": "2040-01-01T00:00:00.000000Z", "limit": LIMIT}


@pytest.mark.parametrize("analysed", ["never", "when full"])
async def test_a_page_reads_what_it_answers_on_postgres(postgres: Database, analysed: str) -> None:
    for seed in (MORE_ENTRIES, *CROWD):
        await raw(postgres, seed)
    if analysed == "when full":
        await raw(postgres, "vacuum (analyze) ledger, timers, tokens")
    connection = await Place(postgres.url, schema="stateous").connect(READ_SETTINGS)
    try:
        history = Planned("history_read", PAGES["first"])
        await history.name_it(connection)
        for name, values in PAGES.items():
            plan = await Planned("history_read", values).explain(connection)
            assert rows_touched(plan) == {"ledger": LIMIT}, (name, plan)
        due = Planned("timers_due", DUE)
        await due.name_it(connection)
        assert rows_touched(await due.explain(connection))["timers"] <= 2 * LIMIT
    finally:
        await connection.close()


def test_a_page_reads_what_it_answers_on_sqlite(tmp_path: Path) -> None:
    with new_database("sqlite", tmp_path) as database:
        path = database.url.removeprefix("sqlite:///")
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute(MORE_ENTRIES)
            steps = {name: _steps(connection, values) for name, values in PAGES.items()}
    assert len(set(steps.values())) == 1, steps
    assert steps["first"] < 20 * LIMIT


def _steps(connection: sqlite3.Connection, values: dict[str, Any]) -> int:
    counted = 0

    def step() -> int:
        nonlocal counted
        counted += 1
        return 0

    connection.set_progress_handler(step, 1)
    assert len(connection.execute(sqlite_statement("history_read"), values).fetchall()) == LIMIT
    connection.set_progress_handler(None, 1)
    return counted
