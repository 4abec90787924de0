"""Measures what a long history costs: one token with 10, one with 1,000 and one with 100,000 ledger entries.

Run from the checkout: `python bench/history.py [--db sqlite|postgresql://...] [--times 200]`. Over HTTP, one
request after the other, the three tokens in turn.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    # A script's own folder comes first on the path, where `http.py` would be the standard library's.
    sys.path[0] = sys.path[0].rpartition("/")[0]

import argparse
import asyncio
import os
import sqlite3
import tempfile
from collections import defaultdict
from collections.abc import Generator
from contextlib import closing, contextmanager
from statistics import median
from typing import Any

from bench.load import Answer, Connection, connect
from bench.served import drop, process

LENGTHS = (10, 1_000, 100_000)
PAGE = 100
WARM_UP = 20

_MORE = """
insert into ledger (token, seq, at, kind, data)
with recursive n(n) as (select {first} union all select n + 1 from n where n < {last})
select '{token}', n, '2026-01-01T00:00:00.000000Z', 'note', '{{"task": 1, "text": "half way"}}' from n
"""
_SEQ = "update tokens set seq = {last} where token = '{token}'"

Times = dict[str, dict[int, list[float]]]
"""Seconds, by what was asked and by the length of the history."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what a long history costs.")
    parser.add_argument("--db", default="sqlite", help="sqlite, or the URL of a Postgres")
    parser.add_argument("--times", type=int, default=200, help="how often each is measured")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stateous-bench-") as folder:
        place = Place(asked.db, folder)
        with place.served() as (host, port):
            times = asyncio.run(Measure(place, asked.times).run(host, port))
    print(f"| {'SQLite' if asked.db == 'sqlite' else 'Postgres'} | 10 | 1,000 | 100,000 |")
    print("|---|---|---|---|")
    for what, by_length in times.items():
        cells = (f"{median(by_length[n]) * 1e3:.2f}" if by_length[n] else "" for n in LENGTHS)
        print(f"| {what} | {' | '.join(cells)} |")


class Place:
    """Where the tables are: a file in a folder, or a schema of the bench's own."""

    def __init__(self, db: str, folder: str) -> None:
        self._db = db
        self._folder = folder
        self._file = f"{folder}/bench.db"
        self._schema = f"bench_{os.getpid()}"

    @contextmanager
    def served(self) -> Generator[tuple[str, int]]:
        """Host and port of a server on it."""
        if self._db == "sqlite":
            options = ["--db", f"sqlite:///{self._file}"]
        else:
            options = ["--db", self._db, "--schema", self._schema]
        try:
            with process(options, self._folder) as (host, port, _):
                yield host, port
        finally:
            if self._db != "sqlite":
                drop(self._db, self._schema)

    def lengthen(self, token: str, *, first: int, last: int) -> None:
        """Write entries behind the server's back, so that the token's ledger ends with `last`."""
        where = {"token": token, "first": first, "last": last}
        statements = [_MORE.format(**where), _SEQ.format(**where)] if first <= last else []
        if self._db == "sqlite":
            with closing(sqlite3.connect(self._file, timeout=30)) as file, file:
                for statement in statements:
                    file.execute(statement)
            return
        import psycopg

        with psycopg.connect(self._db, options=f"-c search_path={self._schema}") as connection:
            for statement in statements:
                connection.execute(statement.encode())


class Measure:
    """Asks for the same of each token, again and again."""

    def __init__(self, place: Place, times: int) -> None:
        self._place = place
        self._rounds = times
        self._times: Times = defaultdict(lambda: defaultdict(list))
        self._counts = False

    async def run(self, host: str, port: int) -> Times:
        worker = await connect(host, port)
        tasks = {length: await self._begin(worker, length) for length in LENGTHS}
        for _ in self._turns():
            for length, task in tasks.items():
                note = {"text": "half way"}
                await self._ask(worker, "note", length, "POST", f"/tasks/{task}/note", note)
        for _ in self._turns():
            for length in LENGTHS:
                tasks[length] = await self._work(worker, length, tasks[length])
        for _ in self._turns():
            for length in LENGTHS:
                await self._fire(worker, length)
        for _ in self._turns():
            for length in LENGTHS:
                await self._page(worker, length)
        worker.close()
        return self._times

    def _turns(self) -> Generator[int]:
        """As many turns as are counted, behind some that warm up."""
        for number in range(-WARM_UP, self._rounds):
            self._counts = number >= 0
            yield number

    async def _begin(self, worker: Connection, length: int) -> int:
        """A token with a history of this length, and the task that is worked on."""
        body = {"token": f"H-{length}", "context": {"title": "again"}}
        expect(await worker.request("POST", "/tokens", body))
        task = await self._claim(worker, "draft")
        entries = expect(await worker.request("GET", f"/tokens/H-{length}/history")).read()
        self._place.lengthen(f"H-{length}", first=entries[-1]["seq"] + 1, last=length)
        return task

    async def _work(self, worker: Connection, length: int, task: int) -> int:
        """There and back again: two reports and two claims; the task that is worked on then."""
        back: Any = {"kind": "event", "event": "reviewed", "payload": {"approved": False}}
        there: Any = {"kind": "event", "event": "submitted"}
        for report, state in ((there, "review"), (back, "draft")):
            await self._ask(worker, "report", length, "POST", f"/tasks/{task}/report", report)
            task = await self._claim(worker, state, length)
        return task

    async def _claim(self, worker: Connection, state: str, length: int = 0) -> int:
        claim = {"supervisor": "bench", "states": [state]}
        answer = await self._ask(worker, "claim", length, "POST", "/tasks/claim", claim)
        return answer.read()["task"]

    async def _fire(self, worker: Connection, length: int) -> None:
        path = f"/tokens/H-{length}/events"
        await self._ask(worker, "fire", length, "POST", f"{path}/submitted", {})
        body = {"payload": {"approved": False}}
        await self._ask(worker, "fire", length, "POST", f"{path}/reviewed", body)

    async def _page(self, worker: Connection, length: int) -> None:
        places = {"first": 0}
        if length > PAGE:
            places |= {"middle": length // 2, "last": length - PAGE}
        for name, after in places.items():
            path = f"/tokens/H-{length}/history?after={after}&limit={PAGE}"
            await self._ask(worker, f"{name} page of {PAGE}", length, "GET", path)

    async def _ask(
        self,
        worker: Connection,
        what: str,
        length: int,
        method: str,
        path: str,
        body: Any = None,
    ) -> Answer:
        answer = expect(await worker.request(method, path, body))
        if self._counts:
            self._times[what][length].append(answer.took)
        return answer


def expect(answer: Answer) -> Answer:
    if answer.status >= 400:
        sys.exit(f"refused with {answer.status}: {answer.body[:500].decode()}")
    return answer


if __name__ == "__main__":
    main()
