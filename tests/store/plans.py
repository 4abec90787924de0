"""Plans of statements: prepared while the tables are empty, looked at when they are full."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from psycopg import AsyncConnection, sql

from stateous.store.statements import for_psycopg, statement_text

_PARAMETER = re.compile(r"%\((\w+)\)s")

SEED = """
insert into tokens (token, root, parent, workflow, state, status, visit, seq, context, counts, visits,
                    task, created_at, entered_at, changed_at)
select 'T-' || n, 'T-' || n, case when n % 100 = 0 then 'T-' || n - 1 end, 'orders', 'draft',
       case when n % 10 = 0 then 'completed' else 'active' end, 1, 10, '{}', '{}', '{}', n,
       now(), now() - n * interval '1 second', now()
from generate_series(1, 50000) n;
insert into ledger (token, seq, at, kind, key, data)
select 'T-' || n % (50000 / 10), n / (50000 / 10) + 1, now(), 'note',
       case when n % 2 = 0 then 'k-' || n end, '{}'
from generate_series(1, 50000) n;
insert into tasks (id, token, queue, state, visit, status, attempt, claimed_by, lease_until, queued_at)
select n, 'T-' || n, 'draft', 'draft', 1,
       case n % 10 when 0 then 'done' when 1 then 'claimed' else 'queued' end, 1,
       case when n % 10 = 1 then 's' end, case when n % 10 = 1 then now() + interval '1 hour' end, now()
from generate_series(1, 50000) n;
insert into timers (id, token, state, visit, event, kind, status, set_at, due_at)
select n, 'T-' || n, 'draft', 1, 'timeout', 'timeout',
       case when n % 3 = 0 then 'fired' else 'pending' end, now(), now() + n * interval '1 second'
from generate_series(1, 50000) n;
insert into memory (token, state, key, value)
select 'T-' || n, 'draft', 'k', '1' from generate_series(1, 50000) n;
insert into held (root, arrival, token, event, schedules)
select 'T-' || n, 1, 'T-' || n, 'x', '[]' from generate_series(1, 50000) n;
insert into claims (supervisor, request, grants)
select 's-' || n, 'r', '[]' from generate_series(1, 50000) n;
insert into items (scope, place, entity, item, status, task, attempt, token, seq, locked_until, changed_at, expires_at)
select 4, 'draft', 'invoice', 'I-' || n, case when n % 10 = 1 then 'processing' else 'processed' end, n, 1, 'T-' || n, 2,
       case when n % 10 = 1 then now() + n * interval '1 second' end, now(),
       case when n % 10 = 2 then now() + n * interval '1 second' end
from generate_series(1, 50000) n;
insert into item_changes (scope, place, entity, item, at, status, token, seq)
select 4, 'draft', 'invoice', 'I-' || n, now(), 'processed', 'T-' || n, 2 from generate_series(1, 50000) n;
insert into inbox (id, kind, token, status, settled_at) overriding system value
select n, 'start', 'T-' || n % 100, case when n % 2 = 1 then 'pending' else 'applied' end,
       case when n % 2 = 0 then now() end
from generate_series(1, 50000) n;
"""


class Planned:
    """A statement that is prepared on a connection, with the values that it is run with."""

    def __init__(self, name: str, values: Mapping[str, Any]) -> None:
        text = for_psycopg(statement_text(name, "postgres")).replace("%%", "%")
        names = list(dict.fromkeys(_PARAMETER.findall(text)))
        self.name = name
        self._text = _PARAMETER.sub(lambda found: f"${names.index(found[1]) + 1}", text)
        self._values = [values[each] for each in names]

    async def name_it(self, connection: AsyncConnection[Any]) -> None:
        """Prepare it; it is planned when it is run first."""
        await connection.execute(f"prepare {self.name} as {self._text}".encode())

    async def prepare(self, connection: AsyncConnection[Any]) -> None:
        """Prepare it and run it once, so that its plan is made now and kept."""
        await self.name_it(connection)
        await connection.execute(self._execution())

    async def explain(self, connection: AsyncConnection[Any]) -> dict[str, Any]:
        """The plan as it ran."""
        explained = sql.SQL("explain (analyze, buffers, format json) ") + self._execution()
        cursor = await connection.execute(explained)
        row = await cursor.fetchone()
        assert row is not None
        plans = row[0] if isinstance(row[0], list) else json.loads(row[0])
        return plans[0]["Plan"]

    def _execution(self) -> sql.Composed:
        call = sql.SQL("execute {}").format(sql.Identifier(self.name))
        if not self._values:
            return call
        return call + sql.SQL(" ({})").format(sql.SQL(", ").join(map(sql.Literal, self._values)))


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The plan and every plan below it."""
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)


def rows_touched(plan: dict[str, Any]) -> dict[str, int]:
    """How many rows the scans of each table looked at, those that they threw away included."""
    touched: dict[str, int] = {}
    for node in nodes(plan):
        table = node.get("Relation Name")
        if table is None or node["Node Type"] == "ModifyTable":
            continue
        each = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
        each += node.get("Rows Removed by Index Recheck", 0)
        touched[table] = touched.get(table, 0) + round(each * node["Actual Loops"])
    return touched
