"""docs/psql.md says what is true: each query runs as it stands, and answers what stands below it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Generator
from pathlib import Path

import psycopg
import pytest
from psycopg import pq, sql
from psycopg.pq.abc import PGresult

from stateous.store.postgres.views import view_names
from tests.databases import Clock, Database, new_database
from tests.store.opened import opened, raw
from tests.store.story import SEEN, Morning
from tests.store.test_views_made import PROMISED, Connection, a_role
from tests.store.walked import write_world

pytestmark = pytest.mark.postgres

PAGE = Path(__file__).parents[2] / "docs/psql.md"
TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLE = re.compile(
    r"^```sql\n(?P<query>.*?)^```\n(?:\n```\n(?P<answer>.*?)^```\n)?", re.MULTILINE | re.DOTALL
)
SECTIONS = re.split(r"^##+ ", TEXT, flags=re.MULTILINE)[1:]
QUESTIONS = [section for section in SECTIONS if section[:1].isdigit()]
RIGHT_ALIGNED = {20, 21, 23, 700, 701, 1700}


def aligned(result: PGresult) -> str:
    """A result as psql prints it."""
    names = [(result.fname(column) or b"").decode() for column in range(result.nfields)]
    rows = [
        [(result.get_value(row, column) or b"").decode() for column in range(result.nfields)]
        for row in range(result.ntuples)
    ]
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    right = [result.ftype(column) in RIGHT_ALIGNED for column in range(result.nfields)]
    centred = [
        " " * ((width - len(name)) // 2) + name + " " * ((width - len(name) + 1) // 2)
        for name, width in zip(names, widths, strict=True)
    ]
    lines = [
        " " + " | ".join(centred),
        "-" + "-+-".join("-" * width for width in widths) + "-",
    ]
    for row in rows:
        cells = [
            value.rjust(width) if is_right else value.ljust(width)
            for value, width, is_right in zip(row, widths, right, strict=True)
        ]
        lines.append(" " + " | ".join(cells))
    counted = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
    return "\n".join(line.rstrip() for line in [*lines, f"({counted})"]) + "\n"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Generator[Database]:
    """A database with the morning of orders, which no test changes."""
    with new_database("postgres", tmp_path_factory.mktemp("story")) as made:
        asyncio.run(tell(made))
        yield made


async def tell(database: Database) -> None:
    async with opened(database.store(Clock())) as store:
        await write_world(database, store, Morning())
        await store.supervisors_see(SEEN)
    # Whoever is there stays there, however long the tests take.
    later = "update supervisors set last_seen_at = now() + interval '1 day' where name like 'box-%'"
    await raw(database, later)


def answered(connection: Connection, query: str) -> str:
    result = connection.pgconn.exec_(query.encode())
    assert result.status == pq.ExecStatus.TUPLES_OK, result.error_message.decode()
    return aligned(result)


def session(database: Database) -> Connection:
    """A session that begins as the page says."""
    connection = psycopg.connect(database.url, autocommit=True)
    (first, *_) = EXAMPLE.finditer(TEXT)
    connection.execute(first["query"].encode())
    return connection


def test_there_are_fifteen_questions() -> None:
    assert [section.split(".")[0] for section in QUESTIONS] == [str(n) for n in range(1, 16)]
    for section in QUESTIONS:
        assert section.splitlines()[0].endswith("?")


@pytest.mark.parametrize(
    "section",
    [*QUESTIONS, *(s for s in SECTIONS if s.startswith("The fields"))],
    ids=lambda s: s.split("\n")[0],
)
def test_a_query_answers_what_stands_below_it(section: str, asked: Database) -> None:
    (example,) = EXAMPLE.finditer(section)
    with session(asked) as connection:
        assert answered(connection, example["query"]) == example["answer"]


def test_every_view_is_in_the_table() -> None:
    for name in view_names():
        assert f"| `{name}` |" in TEXT


@pytest.mark.parametrize("name", sorted(PROMISED))
def test_every_view_answers_a_question(name: str) -> None:
    assert any(re.search(rf"\bfrom\s+{name}\b", section) for section in QUESTIONS)


def test_each_reason_is_explained(asked: Database) -> None:
    with session(asked) as connection:
        found = connection.execute("select distinct reason from waiting").fetchall()
    assert len(found) >= 7
    for (reason,) in found:
        assert f"`{reason}`" in TEXT


def test_who_was_granted_as_the_page_says_reads_the_views_alone(asked: Database) -> None:
    (section,) = (section for section in SECTIONS if section.startswith("Who may read"))
    (example,) = EXAMPLE.finditer(section)
    with a_role() as role, session(asked) as connection:
        text = example["query"].replace("create role readers;", "")
        connection.execute(text.replace("readers", role.as_string()).encode())
        connection.execute("create view stateous_views.later as select 1 as one")
        connection.execute(sql.SQL("set role {}").format(role))
        for view in (*view_names(), "later"):
            connection.execute(sql.SQL("select * from {}").format(sql.Identifier(view)))
        for table in ("tokens", "ledger", "memory", "supervisors"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(
                    sql.SQL("select * from stateous.{}").format(sql.Identifier(table))
                )
        connection.execute("reset role")
        connection.execute("drop view stateous_views.later")
        connection.execute(sql.SQL("drop owned by {}").format(role))
