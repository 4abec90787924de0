"""Measures the views for people over a long ledger: a million entries of a hundred thousand tokens, or as many as asked.

Run from the checkout: `python bench/views.py postgresql://user@host/name [--tokens 100000] [--times 5]`. The tables are in
a schema of the bench's own, which is dropped afterwards. A token has ten entries.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    # A script's own folder comes first on the path, where `http.py` would be the standard library's.
    sys.path[0] = sys.path[0].rpartition("/")[0]

import argparse
import asyncio
import os
from datetime import UTC, datetime
from statistics import median
from time import perf_counter
from typing import Any

import psycopg
from psycopg import sql

from bench.served import drop
from stateous.store.urls import open_store

# Each token goes draft → review, one in ten fails once, one in twenty fails for good; a tenth lives.
SEED = """
insert into tokens (token, root, workflow, state, status, visit, seq, context, counts, visits, task,
                    created_at, entered_at, changed_at)
select 'T-' || n, 'T-' || n, 'orders', case when n % 10 = 0 then 'draft' else 'review' end,
       case when n % 10 = 0 then 'active' when n % 20 = 7 then 'failed' else 'completed' end, 1, 10,
       json_build_object('title', 'Chair ' || n, 'note', repeat('x', 200)), '{{"submitted":1}}', '{{"draft":1}}',
       case when n % 10 = 0 then n end, now(), now() - n * interval '1 second', now()
from generate_series(1, {tokens}) n;
insert into tasks (id, token, queue, state, visit, status, attempt, claimed_by, lease_until, queued_at)
select n, 'T-' || n, 'draft', 'draft', 1,
       case when n % 10 > 0 then 'done' when n % 30 = 0 then 'claimed' when n % 20 = 0 then 'waiting' else 'queued' end,
       1, case when n % 30 = 0 then 'box-' || n % 200 end, case when n % 30 = 0 then now() + interval '2 minutes' end, now()
from generate_series(1, {tokens}) n;
insert into timers (id, token, state, visit, event, kind, status, set_at, due_at)
select n, 'T-' || n, 'draft', 1, 'timeout', 'timeout', case when n % 20 = 0 then 'pending' else 'cancelled' end,
       now(), now() + n * interval '1 second'
from generate_series(1, {tokens}) n;
insert into ledger (token, seq, at, kind, data)
select 'T-' || n, s, now() - (n + 10 - s) * interval '1 second',
       case when s = 10 and n % 20 = 7 then 'failed' when s = 10 and n % 10 = 0 then 'note'
            when s = 7 and n % 10 = 3 then 'task_failed'
            else (array['started', 'event_accepted', 'entered', 'task_queued', 'task_claimed', 'note', 'note',
                        'event_accepted', 'entered', 'completed'])[s] end,
       case s when 1 then '{{"context":{{"title":"Chair"}}}}' when 2 then '{{"event":"__started__","payload":null,"state":"__start__"}}'
              when 3 then '{{"state":"draft","visit":1}}' when 4 then json_build_object('task', n, 'state', 'draft')
              when 5 then json_build_object('task', n, 'supervisor', 'box-' || n % 200, 'attempt', 1)
              when 8 then '{{"event":"submitted","payload":{{"n":1}},"state":"draft"}}'
              when 9 then '{{"state":"review","visit":1}}'
              else json_build_object('task', n, 'text', 'half way', 'error', 'no ink', 'reason', 'no ink') end::json
from generate_series(1, {tokens}) n cross join generate_series(1, 10) s;
insert into supervisors (name, states, last_seen_at)
select 'box-' || n, array['draft', 'review'], now() from generate_series(0, 199) n;
"""

QUESTIONS = {
    "history of one token": "select * from history where token = 'T-7777' order by seq",
    "waiting, one token": "select * from waiting where token = 'T-7770'",
    "attempts of one token": "select * from attempts where token = 'T-7773'",
    "board": "select * from board",
    "board of one workflow": "select * from board where workflow = 'orders'",
    "supervisors": "select * from supervisors",
    "waiting, by reason": "select reason, count(*) from waiting group by reason",
    "waiting, the oldest 20 without a supervisor": "select * from waiting where reason = 'unserved' order by since_at limit 20",
    "attempts, the last 20": "select * from attempts order by at desc limit 20",
    "history, the last 20 that failed": "select * from history where kind = 'failed' order by at desc limit 20",
    "dwell": "select * from dwell",
    "paths": "select * from paths",
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the views over a long ledger.")
    parser.add_argument("db", help="the URL of a Postgres")
    parser.add_argument(
        "--tokens", type=int, default=100_000, help="how many tokens; ten entries each"
    )
    parser.add_argument("--times", type=int, default=5, help="how often each question is asked")
    asked = parser.parse_args()
    schema = f"bench_{os.getpid()}"
    asyncio.run(make(asked.db, schema))
    try:
        with psycopg.connect(asked.db, autocommit=True) as connection:
            reach = sql.SQL("set search_path = {}")
            connection.execute(reach.format(sql.Identifier(schema)))
            connection.execute(SEED.format(tokens=asked.tokens).encode())
            connection.execute("vacuum analyze")
            connection.execute(reach.format(sql.Identifier(f"{schema}_views")))
            print(f"| question, {asked.tokens * 10:,} entries | median, ms | longest |")
            print("|---|---|---|")
            for name, query in QUESTIONS.items():
                times = [ask(connection, query) for _ in range(asked.times)]
                print(f"| {name} | {median(times) * 1e3:.1f} | {max(times) * 1e3:.1f} |")
    finally:
        drop(asked.db, schema)


async def make(db: str, schema: str) -> None:
    store = open_store(db, schema=schema, clock=lambda: datetime.now(UTC))
    await store.open()
    await store.close()


def ask(connection: psycopg.Connection[Any], query: str) -> float:
    """Seconds until all rows are here."""
    begun = perf_counter()
    connection.execute(query.encode()).fetchall()
    return perf_counter() - begun


if __name__ == "__main__":
    main()
