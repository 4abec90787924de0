"""The databases that tests run on: an SQLite file, or a Postgres database of a test's own; and a clock by hand."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import msgspec

from stateous.store.migrate import known_versions
from stateous.store.store import Store
from stateous.store.urls import open_store
from tests.postgres import Server, alone_in, server_in

SHARED_VARIABLE = "STATEOUS_TESTS_SHARE"
DIALECTS = ("sqlite", "postgres")


class Database(msgspec.Struct, frozen=True):
    """An empty database with Stateous's tables in the schema `stateous`."""

    dialect: str
    url: str

    def store(self, clock: Clock, *, schema: str = "stateous") -> Store:
        """A store of this database that is not open yet."""
        return open_store(self.url, schema=schema, clock=clock)


class Clock:
    """A clock that only moves when it is told to."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **duration: float) -> datetime:
        """Move on by this timedelta."""
        self.now += timedelta(**duration)
        return self.now


def shared_folder() -> Path:
    """The folder that all processes of this test run share."""
    return Path(os.environ[SHARED_VARIABLE])


def postgres_server() -> Server:
    """The one server of this test run."""
    return server_in(shared_folder())


@contextmanager
def new_database(dialect: str, folder: Path) -> Generator[Database, None, None]:
    """A database for one test: a copy of one that was made once. `folder` is the test's own."""
    if dialect == "sqlite":
        path = folder / "stateous.db"
        shutil.copyfile(_sqlite_template(), path)
        yield Database(dialect, f"sqlite:///{path}")
        return
    server = postgres_server()
    name = f"stateous_test_{uuid4().hex[:12]}"
    url = server.copy_database(name, template=_postgres_template(server))
    try:
        yield Database(dialect, url)
    finally:
        server.drop_database(name)


def _sqlite_template() -> Path:
    path = shared_folder() / "template.db"
    with alone_in(shared_folder()):
        if not path.exists():
            making = shared_folder() / "making.db"
            _make_tables(f"sqlite:///{making}")
            making.rename(path)
    return path


def _postgres_template(server: Server) -> str:
    # A server that outlives the run may keep the template of an older schema, hence the version.
    name = f"stateous_template_{known_versions()[-1]}_{shared_folder().name[-8:].lower()}"
    noted = shared_folder() / "template"
    with alone_in(shared_folder()):
        if not noted.exists():
            server.make_database(name)
            _make_tables(server.url_of(name))
            noted.write_text(name)
    return name


def _make_tables(url: str) -> None:
    """Make the tables as opening a store does, in a process without an event loop of its own."""
    import asyncio
    from threading import Thread

    async def make() -> None:
        store = open_store(url, clock=Clock())
        await store.open()
        await store.close()

    failed: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(make())
        except BaseException as error:  # noqa: BLE001 - it is raised again where it belongs
            failed.append(error)

    # A fixture may run inside a loop, where `asyncio.run` cannot; a thread has none.
    thread = Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
