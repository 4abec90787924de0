"""No statement on SQLite walks through a table, but for what a tick looks for."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from stateous.store.resources import resource_folder
from stateous.store.statements import parameters, sqlite_statement
from tests.databases import new_database

TABLES = {
    "tokens",
    "ledger",
    "tasks",
    "timers",
    "memory",
    "held",
    "claims",
    "items",
    "item_changes",
}

# A table by its name or by the alias that the statements give it.
ALIASES = TABLES | {"t", "a", "p", "k", "m", "l", "h", "i", "n"}

# All claimed tasks are one partial index, and their leases are looked at one by one; the next timer is the first
# entry of another one.
EXPECTED = {
    "leases_over": ["SCAN k USING INDEX tasks_claimed"],
    "timer_next": ["SCAN m USING INDEX timers_due"],
}

NAMES = sorted(
    path.stem
    for folder in ("sqlite", "common")
    for path in (resource_folder("sql") / folder).glob("*.sql")
)


@pytest.mark.parametrize("name", NAMES)
def test_statements_search_by_an_index(name: str, tmp_path: Path) -> None:
    text = sqlite_statement(name)
    values = dict.fromkeys(parameters(text), "[]")
    with new_database("sqlite", tmp_path) as database:
        path = database.url.removeprefix("sqlite:///")
        with closing(sqlite3.connect(path)) as connection:
            steps = [row[3] for row in connection.execute(f"explain query plan {text}", values)]
    scans = [step for step in steps if _scans_a_table(step)]
    assert scans == EXPECTED.get(name, [])


def _scans_a_table(step: str) -> bool:
    found = re.match(r"SCAN (\w+)(?! VIRTUAL)\b", step)
    return found is not None and found[1] in ALIASES and "VIRTUAL TABLE" not in step
