"""Behind a pooler: one that lends sessions out is refused and nothing is left on them; one that keeps them is served through."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from stateous.engine.changes import Changes
from stateous.store.postgres import poolers
from stateous.store.postgres.poolers import LENDS, TOO_FEW
from stateous.store.store import CannotOpen
from stateous.store.urls import open_store
from tests.databases import Clock, Database
from tests.store.lending import Pooler
from tests.store.opened import opened
from tests.store.written import token, write

PGBOUNCER = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
LONG = 20.0

Pools = Callable[[Database], AbstractAsyncContextManager[str]]
"""The URL of a pooler before a database."""


@asynccontextmanager
async def lends_the_first(database: Database) -> AsyncGenerator[str]:
    async with Pooler(database.url).listening() as pooler:
        yield pooler.url


@asynccontextmanager
async def lends_the_last(database: Database) -> AsyncGenerator[str]:
    async with Pooler(database.url, lazy=True).listening() as pooler:
        yield pooler.url


@asynccontextmanager
async def keeps(database: Database) -> AsyncGenerator[str]:
    async with Pooler(database.url, keeps=True).listening() as pooler:
        yield pooler.url


def pgbouncer(mode: str, *settings: str, idle: int, size: int = 20) -> Any:
    """PgBouncer itself; it is tried wherever it is installed."""

    @asynccontextmanager
    async def pooling(database: Database) -> AsyncGenerator[str]:
        async with running_pgbouncer(database, mode, size, settings) as url:
            yield url

    missing = pytest.mark.skipif(PGBOUNCER is None, reason="PgBouncer is not installed")
    name = "-".join(("pgbouncer", mode, *settings, str(size)))
    return pytest.param(pooling, idle, marks=missing, id=name)


@asynccontextmanager
async def running_pgbouncer(
    database: Database, mode: str, size: int, settings: tuple[str, ...]
) -> AsyncGenerator[str]:
    info = conninfo_to_dict(database.url)
    server = " ".join(f"{key}={info[key]}" for key in ("host", "port", "dbname", "user"))
    url = f"postgresql://postgres@/{info['dbname']}?host="
    folder = Path(tempfile.mkdtemp(prefix="stateous-pgbouncer-"))
    user = "nobody" if os.geteuid() == 0 else None
    lines = [
        "[databases]",
        f"{info['dbname']} = {server} pool_mode={mode} pool_size={size}",
        "[pgbouncer]",
        f"unix_socket_dir = {folder}",
        "auth_type = any",
        *settings,
    ]
    (folder / "ini").write_text("\n".join(lines))
    if user is not None:
        shutil.chown(folder, user, pwd.getpwnam(user).pw_gid)
    command = [str(PGBOUNCER), "-q", str(folder / "ini")]
    with subprocess.Popen(command, user=user) as process:  # noqa: ASYNC220 - it is started at once
        try:
            url += f"{folder}&port=6432"
            async with asyncio.timeout(LONG):
                # The socket is a file before it listens.
                while not listens(folder / ".s.PGSQL.6432"):  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0.01)
            yield url
        finally:
            process.terminate()
    shutil.rmtree(folder)


def listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


async def warm(url: str, count: int) -> None:
    """Let the pooler have this many idle sessions."""
    async with AsyncExitStack() as stack:
        connections = [
            await stack.enter_async_context(await psycopg.AsyncConnection.connect(url))
            for _ in range(count)
        ]
        for connection in connections:
            await connection.execute("select 1", prepare=False)


@pytest.mark.parametrize(
    ("pools", "idle"),
    [
        pytest.param(lends_the_first, 0, id="one-session"),
        pytest.param(lends_the_first, 7, id="the-first"),
        pytest.param(lends_the_last, 7, id="the-last"),
        pgbouncer("transaction", idle=0, size=1),
        pgbouncer("transaction", idle=7),
        pgbouncer("transaction", "server_round_robin = 1", idle=7),
        pgbouncer("statement", idle=0),
    ],
)
async def test_behind_a_pooler_that_lends_sessions_out_nobody_serves(
    postgres: Database, clock: Clock, pools: Pools, idle: int
) -> None:
    async with pools(postgres) as url:
        await warm(url, idle)
        with pytest.raises(CannotOpen) as caught:
            await open_store(url, clock=clock).open()
        assert str(caught.value) == LENDS
        # Whoever gets these sessions next finds nothing of ours.
        connection = await psycopg.AsyncConnection.connect(url, autocommit=True)
        async with connection:
            cursor = await connection.execute(
                # Other tests have locks in other databases of this server.
                "select (select count(*) from pg_locks l join pg_database d on d.oid = l.database "
                "where l.locktype = 'advisory' and d.datname = current_database()), "
                "current_setting('search_path'), current_setting('statement_timeout')",
                prepare=False,
            )
            assert await cursor.fetchone() == (0, '"$user", public', "0")


@pytest.mark.parametrize(
    ("pools", "idle"),
    [
        pytest.param(keeps, 0, id="keeps"),
        pgbouncer("session", idle=0),
        pgbouncer("session", "server_round_robin = 1", idle=7),
    ],
)
async def test_a_pooler_that_keeps_sessions_is_served_through(
    postgres: Database, clock: Clock, pools: Pools, idle: int
) -> None:
    async with pools(postgres) as url:
        await warm(url, idle)
        async with opened(open_store(url, clock=clock)) as store:
            await write(store, Changes(new_tokens=[token("T")]))
            assert await store.token_read("T") == token("T")
            with pytest.raises(CannotOpen, match="another control plane serves this database"):
                await postgres.store(clock).open()


@pytest.mark.parametrize(("pools", "idle"), [pgbouncer("session", idle=0, size=1)])
async def test_a_pooler_that_gives_too_few_sessions_is_not_waited_for(
    *,
    postgres: Database,
    clock: Clock,
    pools: Pools,
    idle: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(poolers, "GIVES_WITHIN", 0.2)
    async with pools(postgres) as url:
        await warm(url, idle)
        with pytest.raises(CannotOpen) as caught:
            await open_store(url, clock=clock).open()
        assert str(caught.value) == TOO_FEW
