"""Who asks the views for one token walks through no table, and the last failures are found by an index."""

from __future__ import annotations

import psycopg

from tests.databases import Database
from tests.store.plans import SEED, nodes, rows_touched
from tests.store.walked import viewed

# The seed has ten entries of each token; here are failures of some, and who works.
MORE = """
insert into ledger (token, seq, at, kind, data)
select 'T-' || n, 100, now(), case when n % 2 = 0 then 'failed' else 'task_failed' end, '{"task": 7, "error": "no ink"}'
from generate_series(1, 4000) n;
insert into steps (task, name, seq, kind, status, result, attempt, revision, opened_at, completed_at)
select n, 'charge', 1, 'step', 'done', '1', 1, 1, now(), now() from generate_series(1, 50000) n;
insert into supervisors (name, states, last_seen_at)
select 's-' || n, array['draft', 'review'], now() from generate_series(1, 50) n;
analyze
"""

MOST: dict[str, dict[str, int]] = {
    "select * from history where token = 'T-7' order by seq": {"ledger": 11},
    "select sentence from history where token = 'T-7' and kind = 'note'": {"ledger": 11},
    "select * from attempts where token = 'T-7'": {"ledger": 60, "tokens": 1, "tasks": 1},
    "select * from attempts order by at desc limit 20": {"ledger": 300, "tokens": 20, "tasks": 20},
    "select token, sentence from history where kind = 'failed' order by at desc limit 20": {
        "ledger": 20
    },
    # Of the tasks also those that are claimed, because whoever holds one is there.
    "select * from waiting where token = 'T-7'": {"tokens": 1, "timers": 1, "tasks": 5001},
}
"""Queries, and how many rows of each table they may look at. All but the supervisors have 50,000."""


async def test_no_table_is_walked_through_for_one_token(postgres: Database) -> None:
    async with await psycopg.AsyncConnection.connect(postgres.url, autocommit=True) as seeding:
        await seeding.execute("set search_path = stateous")
        await seeding.execute(SEED.encode())
        await seeding.execute(MORE.encode())
    found: dict[str, object] = {}
    for query, most in MOST.items():
        (row,) = await viewed(postgres, f"explain (analyze, format json) {query}")
        plan = row["QUERY PLAN"][0]["Plan"]
        walks = {n["Relation Name"] for n in nodes(plan) if n["Node Type"] == "Seq Scan"}
        touched = rows_touched(plan)
        too_many = {name for name in most if not 0 < touched.get(name, 0) <= most[name]}
        if walks - {"supervisors"} or too_many:
            found[query] = (walks, touched)
    assert found == {}
