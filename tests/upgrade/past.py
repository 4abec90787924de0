"""Databases of every past version, with something in each of their tables: `python -m tests.upgrade.past` keeps today's.

Whoever makes a new version of the tables keeps the rows of the one before, ahead. The rows of a version are in the file of
its number; when it has none, its tables were those of the next one that has a file, or some of them.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sqlite3
import tempfile
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import psycopg
from psycopg import sql

from stateous.engine.answers import Answer
from stateous.engine.commands import (
    AwaitChild,
    Cancel,
    Checkpoint,
    Command,
    Note,
    Pause,
    Report,
    SetMemory,
)
from stateous.engine.family import Json
from stateous.model.graph import parse_graph
from stateous.model.refusals import Refusal
from stateous.store import migrate
from stateous.store.contents import promised
from stateous.store.postgres.session import Place
from stateous.store.serving import Candidate
from stateous.store.sqlite.files import connect
from tests.databases import SHARED_VARIABLE, Clock, Database, new_database
from tests.postgres import stop_server_in
from tests.store.story import GRAPH as MORNING
from tests.store.story import SEEN, Morning
from tests.store.walked import write_world

FOLDER = Path(__file__).parent
DRAFT = {**MORNING["states"]["draft"], "children": ["credit"]}
GRAPH = {**MORNING, "states": {**MORNING["states"], "draft": DRAFT}}
"""What is on record with the rows of the newest version."""
Row = dict[str, Any]
Rows = dict[str, list[Row]]

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00")


class Past(Morning):
    """The morning of orders, and what no order of it met."""

    def __init__(self) -> None:
        super().__init__(GRAPH)
        self._is_new("ORDER-10")
        self.do(Cancel("ORDER-10"))
        self._waits_for_somebody("ORDER-11")
        self.do(Pause("ORDER-11"))
        self.fire("ORDER-11", "reviewed", {"approved": False}, key="held-key")
        self._waits_for_a_timer("ORDER-12")
        self.do(Pause("ORDER-12"))
        self.do(Pause("ORDER-5"))
        self._is_new("ORDER-13")
        task = self._taken("draft", "box-1")
        self.do(Note(task=task, text="which colour?", id="m1"))
        self.do(SetMemory(task=task, key="colours", value=["red", {"rgb": 2**70}]))
        self._did(task, "ask", {"colour": "red"})
        self._is_new("ORDER-14")
        task = self._taken("draft", "box-1")
        self._did(task, "print", "page 1")
        self._asks(task, "label", revision=1)
        self._runs_a_child("ORDER-15")
        self._runs_a_child("ORDER-16")
        self.do(Pause("ORDER-16"))
        self.fire(self._runs_a_child("ORDER-17"), "answered")
        self._taken("draft", "box-1")

    def _did(self, task: int, step: str, result: Json) -> None:
        self.do(
            Checkpoint(
                task=task,
                attempt=1,
                revision=0,
                name=step,
                kind="step",
                status="done",
                result=result,
                message="asked",
            )
        )

    def _asks(self, task: int, step: str, *, revision: int) -> None:
        self.do(
            Checkpoint(
                task=task,
                attempt=1,
                revision=revision,
                name=step,
                kind="response",
                status="open",
                timeout="2h",
                correlation="0123456789abcdef" * 2,
            )
        )
        self._waits(task, step)

    def _waits(self, task: int, step: str) -> None:
        self.do(Report(task=task, kind="waiting", supervisor="box-1", awaiting=(step,)))

    def do(self, command: Command) -> Answer | Refusal:
        """Do what must not be refused."""
        answer = super().do(command)
        assert not isinstance(answer, Refusal), answer
        return answer

    def _runs_a_child(self, order: str) -> str:
        """The child that the order's routine waits for."""
        self._is_new(order)
        task = self._taken("draft", "box-1")
        given = {"title": "A chair"}
        self.do(
            AwaitChild(
                task=task, attempt=1, revision=0, name="credit", workflow="credit", input=given
            )
        )
        self._waits(task, "credit")
        return f"{order}.draft.1.credit"


def make_version(database: Database, version: str, *, schema: str = "stateous") -> None:
    """Make the tables of this version where there are none."""
    if database.dialect == "sqlite":
        path = Path(database.url.removeprefix("sqlite:///"))
        migrate.upgrade(url="sqlite://", schema=None, connect=lambda: connect(path), to=version)
        return
    place = Place(database.url, schema=schema)
    migrate.upgrade(
        url="postgresql+psycopg://", schema=schema, connect=place.connect_blocking, to=version
    )


def rows_of(version: str) -> Rows:
    """What was kept of this version, table by table."""
    kept = sorted(FOLDER.glob("[0-9]*.json"))
    path = next(path for path in kept if path.stem >= version)
    return json.loads(path.read_text(encoding="utf-8"))


def fill(database: Database, version: str) -> Rows:
    """Put what was kept into the tables of this version; what was put there."""
    rows = rows_of(version)
    if database.dialect == "sqlite":
        with closing(sqlite3.connect(database.url.removeprefix("sqlite:///"))) as connection:
            found = connection.execute("select name from sqlite_schema where type = 'table'")
            put = {name: rows[name] for (name,) in found.fetchall() if name in rows}
            _fill_sqlite(connection, put)
        return put
    with Place(database.url, schema="stateous").connect_blocking() as connection:
        found = connection.execute("select tablename from pg_tables where schemaname = 'stateous'")
        put = {name: rows[name] for (name,) in found.fetchall() if name in rows}
        _fill_postgres(connection, put)
    return put


def _fill_sqlite(connection: sqlite3.Connection, rows: Rows) -> None:
    connection.execute("delete from control_plane")
    for table, kept in rows.items():
        for row in kept:
            names = ", ".join(row)
            marks = ", ".join("?" for _ in row)
            values = [
                json.dumps(value) if _is_json(name, value) else value for name, value in row.items()
            ]
            connection.execute(f"insert into {table} ({names}) values ({marks})", values)  # noqa: S608
    connection.execute("update ids set next = ?", (_last_id(rows) + 1,))
    connection.commit()


def _is_json(column: str, value: Any) -> bool:
    """Whether SQLite keeps this as the text of a document; a document may be a text itself."""
    return isinstance(value, dict | list) or (column in {"result", "value"} and value is not None)


def _fill_postgres(connection: psycopg.Connection[Any], rows: Rows) -> None:
    connection.execute("delete from control_plane")
    for table, kept in rows.items():
        name = sql.Identifier(table)
        columns = sql.SQL(", ").join(map(sql.Identifier, kept[0]))
        connection.execute(
            sql.SQL(
                "insert into {name} ({columns}) overriding system value "
                "select {columns} from json_populate_recordset(null::{name}, %s)"
            ).format(name=name, columns=columns),
            (json.dumps(kept),),
        )
    connection.execute("select setval('ids', %s)", (_last_id(rows),))
    if "item_changes" in rows:
        number = max(row["id"] for row in rows["item_changes"])
        connection.execute(
            "select setval(pg_get_serial_sequence('item_changes', 'id'), %s)", (number,)
        )
    if "inbox" in rows:
        number = max(row["id"] for row in rows["inbox"])
        connection.execute("select setval(pg_get_serial_sequence('inbox', 'id'), %s)", (number,))


def _last_id(rows: Rows) -> int:
    return max(row["id"] for table in ("tasks", "timers") for row in rows[table])


def last_time(rows: Rows) -> datetime:
    """When the last of all these tokens was changed."""
    return max(datetime.fromisoformat(row["changed_at"]) for row in rows["tokens"])


ITEMS = (
    """
    insert into stateous.items (scope, place, entity, item, status, data, task, attempt, token, seq, changed_at)
    values (4, 'draft', 'chair', 'C-1', 'processed', '{"legs": 4}', 1, 1, 'ORDER-1', 6, %s)
    """,
    """
    insert into stateous.item_changes (scope, place, entity, item, at, status, data, token, seq, task, attempt)
    values (4, 'draft', 'chair', 'C-1', %s, 'processed', '{"legs": 4}', 'ORDER-1', 6, 1, 1)
    """,
)

# -- keeping today's ----------------------------------------------------------------------------------------


async def tell(database: Database) -> None:
    """Let everything happen of which something is to be kept."""
    graph = parse_graph(GRAPH)
    candidate = Candidate(
        workflow=graph.workflow,
        structure=graph.structure,
        checksum=graph.checksum,
        graph=msgspec.json.encode(graph.document).decode(),
        name="box:1:past",
    )
    world = Past()
    store = database.store(Clock())
    await store.open(candidate=candidate)
    try:
        await write_world(database, store, world)
        await store.supervisors_see(SEEN)
        await store.clock_write(world.now.astimezone(UTC))
    finally:
        await store.close()
    claimed = [task for task in world.tasks.values() if task.status == "claimed"]
    grants = [[task.id, task.attempt] for task in claimed if task.claimed_by == "box-1"]
    async with await psycopg.AsyncConnection.connect(database.url) as connection:
        await connection.execute(
            "insert into stateous.claims values ('box-1', 'r1', %s)", (json.dumps(grants),)
        )
        await connection.execute("select stateous.start('ORDER-20', '{\"title\": \"A lamp\"}')")
        await connection.execute("select stateous.fire('ORDER-20', 'submitted', null, 'k')")
        await connection.execute("select stateous.fire('ORDER-21', 'submitted')")
        for statement in ITEMS:
            await connection.execute(statement.encode(), (world.now,))


def kept_of(database: Database) -> Rows:
    """Everything that is in the tables of a Postgres."""
    tables = [line.removeprefix("table ") for line in promised("postgres") if line[:6] == "table "]
    rows: Rows = {}
    with Place(database.url, schema="stateous").connect_blocking() as connection:
        for table in tables:
            found = connection.execute(
                sql.SQL("select row_to_json(t)::text from {} t").format(sql.Identifier(table))
            )
            rows[table] = sorted(
                (_plain(json.loads(text)) for (text,) in found.fetchall()), key=json.dumps
            )
    return rows


def _plain(row: Row) -> Row:
    """The row with its times as SQLite keeps them."""
    for name, value in row.items():
        if isinstance(value, str) and _TIME.fullmatch(value):
            at = datetime.fromisoformat(value).astimezone(UTC)
            row[name] = at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return row


def keep() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ[SHARED_VARIABLE] = folder
        try:
            with new_database("postgres", Path(folder)) as database:
                asyncio.run(tell(database))
                rows = kept_of(database)
        finally:
            stop_server_in(Path(folder))
    tables = [
        f" {json.dumps(table)}: [\n  " + ",\n  ".join(map(json.dumps, kept)) + "\n ]"
        for table, kept in rows.items()
    ]
    path = FOLDER / f"{migrate.known_versions()[-1]}.json"
    path.write_text("{\n" + ",\n".join(tables) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    keep()
