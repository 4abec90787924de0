"""`stateous db` and `serve --no-migrate` as a deployment calls them: what they print, and how they end."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from stateous.store.migrate import known_versions, version_titles
from tests.databases import Database
from tests.e2e.planes import Computer
from tests.e2e.processes import Shell
from tests.store.opened import raw
from tests.upgrade.past import make_version

NEWEST = known_versions()[-1]
NO_TABLES = (
    "error: this database has no tables of Stateous: run stateous db upgrade, which makes them\n"
)


class Db:
    """`stateous db` on one database."""

    def __init__(self, folder: Path, url: str, *more: str) -> None:
        self._shell = Shell(folder)
        self._where = ("--db", url, *more)

    def run(self, command: str) -> tuple[int, str, str]:
        """Exit code, and what was said on stdout and on stderr."""
        done = self._shell.run("db", command, *self._where)
        return done.returncode, done.stdout, done.stderr


@pytest.fixture
def empty(dialect: str, request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    """A database in which Stateous has nothing yet; on Postgres in the schema `orders`."""
    if dialect == "sqlite":
        return Database(dialect, f"sqlite:///{tmp_path}/new.db")
    return request.getfixturevalue("postgres")


def db(database: Database, folder: Path) -> Db:
    return Db(folder, database.url, "--schema", "orders")


def test_from_nothing_to_the_newest_version(empty: Database, tmp_path: Path) -> None:
    asked = db(empty, tmp_path)
    assert asked.run("current") == (0, f"no tables (the newest is {NEWEST})\n", "")
    assert asked.run("check") == (1, "", NO_TABLES)
    if empty.dialect == "sqlite":
        assert not (tmp_path / "new.db").exists()
    assert asked.run("upgrade") == (0, f"made the tables, version {NEWEST}\n", "")
    assert asked.run("check") == (0, f"up to date: version {NEWEST}\n", "")
    assert asked.run("upgrade") == (0, f"up to date already: version {NEWEST}\n", "")
    assert asked.run("current") == (0, f"{NEWEST} (the newest)\n", "")


def test_from_the_first_version_to_the_newest(empty: Database, tmp_path: Path) -> None:
    make_version(empty, "0001", schema="orders")
    asked = db(empty, tmp_path)
    assert asked.run("current") == (0, f"0001 (the newest is {NEWEST})\n", "")
    code, said, error = asked.run("check")
    assert (code, said) == (1, "")
    assert error == (
        "error: the tables of this database have version 0001, and this Stateous works with "
        f"{NEWEST}: run stateous db upgrade\n"
    )
    code, said, _ = asked.run("history")
    assert said.splitlines()[:2] == [
        "* 0001  The first schema",
        "  0002  Who asks for work, and the views for people",
    ]
    assert len(said.splitlines()) == len(known_versions())
    assert asked.run("upgrade") == (0, f"upgraded from version 0001 to {NEWEST}\n", "")
    assert asked.run("history")[1].splitlines()[-1].startswith(f"* {NEWEST}  ")


def test_each_version_says_what_it_brought() -> None:
    for title in version_titles().values():
        assert title
        assert '"""' not in title
        assert not title.endswith(".")


def test_who_serves_keeps_an_upgrade_away(dialect: str, database: Database, tmp_path: Path) -> None:
    asked = Db(tmp_path, database.url)
    older = known_versions()[-2]
    with Computer(tmp_path, database.url).serving("--no-migrate") as control:
        version = "update stateous_version set version_num = '{}'"
        asyncio.run(raw(database, version.format(older)))
        code, said, error = asked.run("upgrade")
        assert (code, said) == (1, "")
        assert error.startswith("error: another control plane serves this database: ")
        assert len(error.splitlines()) == 1
        asyncio.run(raw(database, version.format(NEWEST)))
        # What is up to date is no matter of who serves.
        assert asked.run("upgrade") == (0, f"up to date already: version {NEWEST}\n", "")
        assert asked.run("check")[0] == 0
        assert control.start("ORDER-1").status == 201


def test_serve_that_is_not_to_migrate_says_what_to_run(empty: Database, tmp_path: Path) -> None:
    computer = Computer(tmp_path, empty.url)
    assert computer.refused("--no-migrate", "--schema", "orders") == NO_TABLES.strip()
    if empty.dialect == "sqlite":
        assert not (tmp_path / "new.db").exists()
    assert db(empty, tmp_path).run("upgrade")[0] == 0
    with computer.serving("--no-migrate", "--schema", "orders") as control:
        assert control.start("ORDER-1").status == 201


@pytest.mark.parametrize("command", ["check", "upgrade"])
@pytest.mark.parametrize(
    ("url", "schema", "said"),
    [
        ("postgresql://me:hush@127.0.0.1:1/db", "x", "error: cannot open the database: "),
        ("mysql://me:hush@127.0.0.1:1/db", "x", "error: cannot open 'mysql://me:***@"),
        ("postgresql://me:hush@127.0.0.1/db", "a-b", "error: 'a-b' cannot be a schema"),
        ("sqlite:///no/such/folder.db", "x", "error: "),
        ("sqlite:///letter.db", "x", "error: cannot open letter.db: file is not a database"),
    ],
)
def test_a_database_that_cannot_be_opened_is_one_line(
    command: str, url: str, schema: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "letter.db").write_text("this is no database, it is a letter to a friend" * 99)
    code, out, error = Db(tmp_path, url, "--schema", schema).run(command)
    assert (code, out) == (1, "")
    assert error.startswith(said)
    assert len(error.splitlines()) == 1
    assert "hush" not in error
