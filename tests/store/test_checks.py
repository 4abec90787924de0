"""What the tables of both databases let in is what the engine's life cycles and the ledger's kinds are."""

from __future__ import annotations

import re

import pytest

from stateous.engine.lifecycles import ITEM, STEP, TASK, TIMER, TOKEN
from stateous.model.sentences import SENTENCES
from tests.databases import Database
from tests.store.opened import raw

ALLOWED = {
    ("tokens", "status"): set(TOKEN),
    ("tasks", "status"): set(TASK),
    ("steps", "status"): set(STEP),
    ("timers", "status"): set(TIMER),
    ("items", "status"): set(ITEM),
    ("item_changes", "status"): set(ITEM) - {"none"},
    # Children of routines are let in, and not started yet.
    ("ledger", "kind"): {*SENTENCES, "child_awaited"},
}


@pytest.mark.parametrize(("table", "column"), ALLOWED)
async def test_a_check_allows_what_the_engine_knows(
    database: Database, table: str, column: str
) -> None:
    assert await allowed_by(database, table, column) == ALLOWED[table, column]


async def allowed_by(database: Database, table: str, column: str) -> set[str]:
    """The texts that the column's check names, as the database itself tells it."""
    if database.dialect == "sqlite":
        rows = await raw(database, "select name, sql from sqlite_schema where type = 'table'")
        found = re.search(rf"check \({column} in \(([^)]*)\)", dict(rows)[table])
    else:
        asked = "select conrelid::regclass::text, pg_get_constraintdef(oid) from pg_constraint"
        rows = await raw(database, asked)
        checks = [text for name, text in rows if name == table and text.startswith("CHECK")]
        listed = (
            re.fullmatch(rf"CHECK \(\({column} = ANY \((.*)\)\)\)( NOT VALID)?", text)
            for text in checks
        )
        found = next((match for match in listed if match), None)
    assert found is not None
    return set(re.findall(r"'(\w+)'", found[1]))
