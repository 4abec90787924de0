"""Reads what a batch needs. Whoever is in a transaction here is alone, so nothing is locked or busy."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from stateous.engine.facts import Need
from stateous.store.gathering import Gathered, Leftovers
from stateous.store.rows import json_text
from stateous.store.statements import sqlite_statement
from stateous.store.values import Row
from stateous.store.wanted import Wanted, key_rows, rows_text


def run(
    connection: sqlite3.Connection, name: str, values: Mapping[str, Any] | None = None
) -> list[Row]:
    """Run a statement by its name. A list among the values travels as JSON. Raises sqlite3.Error."""
    given = {
        key: json_text(value) if isinstance(value, list) else value
        for key, value in (values or {}).items()
    }
    return connection.execute(sqlite_statement(name), given).fetchall()


class Load:
    """Loads batches; ids that a committed batch left over are used first."""

    def __init__(self) -> None:
        self.leftovers = Leftovers()

    def read(self, connection: sqlite3.Connection, gathered: Gathered, wanted: Wanted) -> None:
        """Read what is wanted into the facts."""
        if wanted.tokens or wanted.tasks:
            gathered.add_families(run(connection, "families_read", wanted.families), locked=None)
        if wanted.tasks:
            gathered.add_tasks(run(connection, "tasks_read", {"tasks": wanted.tasks}))
        if wanted.keys:
            gathered.add_keys(wanted, run(connection, "keys_read", rows_text(wanted.keys)))
        if wanted.memory_keys:
            there = run(connection, "memory_keys_read", rows_text(wanted.memory_keys))
            gathered.add_memory_keys(wanted, there)
        if wanted.flows:
            found = run(connection, "flows_find", rows_text(wanted.flows))
            gathered.add_flows(wanted, found)
        if wanted.items:
            read = run(connection, "items_read", rows_text(key_rows(wanted.items)))
            gathered.add_items(wanted, read, all_there=True)
        if wanted.new:
            found = run(connection, "new_ids_find", {"ids": wanted.new})
            gathered.add_taken(found, asked=wanted.tokens, unreserved=())
        if wanted.ids:
            self._reserve(connection, gathered, wanted.ids)

    def _reserve(self, connection: sqlite3.Connection, gathered: Gathered, count: int) -> None:
        ids = self.leftovers.take(count)
        more = count - len(ids)
        if more > 0:
            (after,) = run(connection, "ids_reserve", {"count": more})[0]
            ids.extend(range(after - more, after))
        gathered.offer_ids(ids)

    def fetch(self, connection: sqlite3.Connection, gathered: Gathered, need: Need) -> None:
        """Bring what a decision needs on top."""
        wanted = Wanted(tokens=need.tokens, tasks=need.tasks, flows=need.flows, ids=need.ids)
        wanted.new = sorted(need.free)
        self.read(connection, gathered, wanted)
        gathered.add_needed_tokens(need)
        if need.items_of:
            tasks = {"tasks": list(need.items_of)}
            locks = run(connection, "locks_read", tasks)
            gathered.add_locks(need.items_of, locks, locked=None)
        if need.held:
            gathered.add_held(need.root, run(connection, "held_read", {"root": need.root}))
