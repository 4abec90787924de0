"""Each test has a control plane of its own that serves the graph of its file, or the one it is parametrised with."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import uvicorn

from stateous.control import ticking
from tests.cards.served import Served, serving
from tests.databases import Clock, Database, new_database

EMPTY = """
alter table stateous.ledger disable trigger user;
delete from stateous.ledger;
alter table stateous.ledger enable trigger user;
delete from stateous.tokens;
delete from stateous.tasks;
delete from stateous.timers;
delete from stateous.held;
delete from stateous.memory;
delete from stateous.claims;
delete from stateous.flows;
delete from stateous.steps;
delete from stateous.items;
delete from stateous.item_changes;
"""


@pytest.fixture(scope="session")
def kept_postgres(tmp_path_factory: pytest.TempPathFactory) -> Generator[Database]:
    with new_database("postgres", tmp_path_factory.mktemp("kept")) as made:
        yield made


@pytest.fixture
def postgres(kept_postgres: Database) -> Database:
    """One database for all of these tests, emptied: to copy one takes longer than most of them."""
    with psycopg.connect(kept_postgres.url, autocommit=True) as connection:
        connection.execute(EMPTY)
    return kept_postgres


@pytest.fixture
def database(dialect: str, request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Database]:
    if dialect == "postgres":
        yield request.getfixturevalue("postgres")
        return
    with new_database(dialect, tmp_path) as made:
        yield made


@pytest.fixture
def graph(request: pytest.FixtureRequest) -> dict[str, Any]:
    found: Any = request.node
    return found.module.GRAPH


@pytest.fixture
def only_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of the control plane looks when a test says so, and at no other time."""
    monkeypatch.setattr(ticking, "TICK_EVERY", 3600.0)


@pytest.fixture(autouse=True)
def quick_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server stops without uvicorn's rest of 0.1 s, longer than most of these tests: nobody is connected."""

    async def shutdown(server: uvicorn.Server, sockets: list[socket.socket]) -> None:
        for listening in (*server.servers, *sockets):
            listening.close()

    monkeypatch.setattr(uvicorn.Server, "shutdown", shutdown)


@pytest.fixture
async def served(
    database: Database, clock: Clock, graph: dict[str, Any], only_by_hand: None
) -> AsyncGenerator[Served]:
    async with serving(database, clock, graph) as opened:
        yield opened
