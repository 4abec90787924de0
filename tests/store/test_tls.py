"""TLS as libpq has it: said in the URL or in the environment, for each of the connections, and no password in what is refused."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from stateous.engine.changes import Changes
from stateous.store.news import Listener
from stateous.store.store import CannotOpen
from stateous.store.urls import open_store
from tests.databases import Clock, Database
from tests.store.fronts import certificate, tls_before
from tests.store.opened import opened
from tests.store.written import token, write

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="openssl makes certificates"
)


class Deaf:
    """Hears nothing but that somebody listens."""

    def __init__(self) -> None:
        self.listens = asyncio.Event()

    def anything(self) -> None:
        self.listens.set()

    def tasks_queued(self, ready: object) -> None: ...

    def timer_set(self, due: object) -> None: ...

    def inbox_filled(self) -> None: ...

    def supervisors_gone(self, supervisors: object) -> None: ...


@pytest.mark.parametrize("said_by", ["the URL", "the environment"])
async def test_every_connection_is_made_as_the_url_or_the_environment_says(
    postgres: Database,
    clock: Clock,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    said_by: str,
) -> None:
    ours = certificate(tmp_path, "ours")
    async with tls_before(postgres.url, ours) as (door, ciphers):
        url = door
        if said_by == "the URL":
            url = f"{door}?sslmode=verify-full&sslrootcert={ours}"
        else:
            monkeypatch.setenv("PGSSLMODE", "verify-full")
            monkeypatch.setenv("PGSSLROOTCERT", str(ours))
        async with opened(open_store(url, clock=clock)) as store:
            await write(store, Changes(new_tokens=[token("T")]))
            assert await store.token_read("T") == token("T")
            listener: Listener = (deaf := Deaf())
            store.listen(listener)
            async with asyncio.timeout(20):
                await deaf.listens.wait()
        # The hold, a batch, a read, and who listens.
        assert len(ciphers) == 4


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("?sslmode=verify-full&sslrootcert={theirs}", "certificate verify failed"),
        ("?sslmode=verify-ca&sslrootcert={nowhere}", 'root certificate file ".*" does not exist'),
        ("?sslmode=disable", "server closed the connection unexpectedly"),
        ("?sslmode=sometimes", 'invalid sslmode value: "sometimes"'),
    ],
)
async def test_who_is_not_trusted_is_not_served_through(
    postgres: Database, clock: Clock, tmp_path: Path, how: str, why: str
) -> None:
    theirs = certificate(tmp_path, "theirs")
    async with tls_before(postgres.url, certificate(tmp_path, "ours")) as (door, _):
        url = door + how.format(theirs=theirs, nowhere=tmp_path / "nowhere.crt")
        with pytest.raises(CannotOpen, match=why) as caught:
            await open_store(url, clock=clock).open()
    assert "\n" not in str(caught.value)
    assert "hush" not in str(caught.value)


async def test_a_server_without_tls_is_not_served_when_it_is_required(
    postgres: Database, clock: Clock
) -> None:
    with pytest.raises(CannotOpen, match="server does not support SSL, but SSL was required"):
        await open_store(f"{postgres.url}?sslmode=require", clock=clock).open()
