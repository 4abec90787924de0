"""What each statement of a batch costs. The batch is decided as ever, but its COMMIT is sent as ROLLBACK.

So one seeded database serves many measurements, and each of them finds it as it was. On Postgres the very
statements that were sent run once more, under EXPLAIN, on a connection like a lane's; on SQLite the steps
of its virtual machine are counted while they run.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Any, ClassVar, cast

import msgspec
import psycopg
import pytest

from stateous.engine.answers import Answer, Granted, Skipped
from stateous.engine.batch import Batch
from stateous.engine.claiming import ClaimBatch
from stateous.engine.commands import Claim, Command
from stateous.engine.rules import Rules
from stateous.model.refusals import Refusal
from stateous.store.postgres.session import LANE_SETTINGS, Place
from stateous.store.resources import resource_folder
from stateous.store.statements import postgres_statement, sqlite_statement
from tests.databases import Clock, Database
from tests.store.opened import opened
from tests.store.plans import Planned, nodes, rows_touched

FREE = {"ids_reserve", "graph_read"}
"""What is no matter of the command: whether numbers were left over by the batch before, and the hold's pings."""


class Cost(msgspec.Struct, frozen=True):
    """Of one statement: rows looked at and written, by table, and pages (Postgres); steps (SQLite)."""

    rows: Counter[str]
    pages: int = 0
    steps: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.rows + other.rows, self.pages + other.pages, self.steps + other.steps)


NOTHING = Cost(Counter())
Costs = dict[str, Cost]
"""By statement; one that was sent twice is counted together."""


def names_of(dialect: str, statement: Callable[[str], Any]) -> dict[Any, str]:
    """The name of each statement, by the text that its driver is given."""
    folder = resource_folder("sql")
    paths = [path for part in ("common", dialect) for path in (folder / part).glob("*.sql")]
    return {statement(path.stem): path.stem for path in paths}


class Measure:
    """Decides commands on a database that stays as it was seeded, and tells what they cost."""

    def __init__(self, database: Database, rules: Rules) -> None:
        self._database = database
        self._rules = rules
        self.clock = Clock()
        self.store = database.store(self.clock)
        self.read: set[str] = set()
        """The tokens that the last decision had read, or made."""

    async def costs(self, command: Command | Claim) -> Costs:
        """What each statement costs that this command's batch sends. It has to be accepted."""
        raise NotImplementedError

    async def decide(self, command: Command | Claim) -> Answer:
        """Decide one command in a batch of its own; it is committed unless it is being measured."""
        answer: Answer | Refusal | Skipped
        if isinstance(command, Claim):
            claims = ClaimBatch(self._rules, [command])
            seen = _Seen(claims, self.read)
            await self.store.claims_decide(cast("Any", seen))
            answer = claims.answers[0]
            assert isinstance(answer, Granted)
            assert len(answer.grants) == command.max
        else:
            batch = Batch(self._rules, [command])
            await self.store.batch_decide(cast("Any", _Seen(batch, self.read)))
            assert not batch.faults
            answer = cast("Any", batch.answers[0])
        assert not isinstance(answer, Refusal | Skipped), answer
        return answer


class _Seen:
    """A batch that remembers which tokens its facts hold."""

    def __init__(self, batch: Batch | ClaimBatch, read: set[str]) -> None:
        self._batch = batch
        self._read = read
        self.asks = batch.asks

    def decide(self, facts: Any, now: datetime) -> None:
        self._batch.decide(facts, now)

    def changes(self, facts: Any) -> Any:
        self._read.clear()
        self._read.update(name for family in facts.families.values() for name in family.tokens)
        return self._batch.changes(facts)


class OnPostgres(Measure):
    """Rows and pages, as EXPLAIN (ANALYZE, BUFFERS) counts them."""

    NAMES = names_of("postgres", postgres_statement)

    async def costs(self, command: Command | Claim) -> Costs:
        Recorder.sent = []
        try:
            await self.decide(command)
        finally:
            sent, Recorder.sent = Recorder.sent, None
        connection = await Place(self._database.url, schema="stateous").connect(LANE_SETTINGS)
        found: Costs = {}
        try:
            await connection.execute("begin")
            for text, values in sent:
                name = self.NAMES[text]
                if name in FREE:
                    continue
                planned = Planned(name, values)
                if name not in found:
                    await planned.name_it(connection)
                plan = await planned.explain(connection)
                cost = Cost(_rows_of(plan), pages=_pages_of(plan))
                found[name] = found.get(name, NOTHING) + cost
            await connection.execute("rollback")
        finally:
            await connection.close()
        return found


class Recorder(psycopg.AsyncConnection[Any]):
    """A connection that records what it is sent, and does not commit while it does."""

    sent: ClassVar[list[tuple[bytes, dict[str, Any]]] | None] = None

    async def execute(self, query: Any, params: Any = None, **rest: Any) -> Any:
        if Recorder.sent is not None and isinstance(query, bytes):
            Recorder.sent.append((query, dict(params or {})))
        if Recorder.sent is not None and query == "commit":
            query = "rollback"
        # Nothing is prepared: a rollback among other statements would confuse psycopg's list of what is.
        return await super().execute(query, params, **{**rest, "prepare": False})


def _rows_of(plan: dict[str, Any]) -> Counter[str]:
    """Rows that were looked at, by table, and rows that were written."""
    touched = Counter(rows_touched(plan))
    for node in nodes(plan):
        if node["Node Type"] == "ModifyTable":
            written = sum(below["Actual Rows"] for below in node["Plans"])
            touched[f"{node['Operation'].lower()} {node['Relation Name']}"] += round(written)
    return touched


def _pages_of(plan: dict[str, Any]) -> int:
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


class OnSqlite(Measure):
    """Steps of SQLite's virtual machine: each row that a loop comes by is a few of them."""

    NAMES = names_of("sqlite", sqlite_statement)

    async def costs(self, command: Command | Claim) -> Costs:
        Counting.steps.clear()
        Counting.measures = True
        try:
            await self.decide(command)
        finally:
            Counting.measures = False
        counted = {self.NAMES.get(text): steps for text, steps in Counting.steps.items()}
        return {
            name: Cost(Counter(), steps=steps)
            for name, steps in counted.items()
            if name is not None and name not in FREE
        }


class Counting(sqlite3.Connection):
    """A connection that counts the steps of each statement, and does not commit while it measures."""

    measures: ClassVar[bool] = False
    steps: ClassVar[Counter[str]] = Counter()

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        def step() -> int:
            Counting.steps[sql] += 1
            return 0

        if Counting.measures:
            self.set_progress_handler(step, 1)
            sql = "rollback" if sql == "commit" else sql
        else:
            self.set_progress_handler(None, 1)
        return super().execute(sql, parameters)


@asynccontextmanager
async def measuring(database: Database, rules: Rules) -> AsyncGenerator[Measure, None]:
    """A measure of the database, open."""
    with pytest.MonkeyPatch.context() as patch:
        kind = OnSqlite if database.dialect == "sqlite" else OnPostgres
        if database.dialect == "sqlite":
            connect = partial(sqlite3.connect, factory=Counting)
            patch.setattr("stateous.store.sqlite.files.sqlite3.connect", connect)
        else:
            patch.setattr("stateous.store.postgres.session.AsyncConnection", Recorder)
        measure = kind(database, rules)
        async with opened(measure.store):
            yield measure
