"""`stateous token show` prints the steps of the routine that a token is in."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from stateous.cli.main import command
from stateous.client import AsyncClient, calls
from stateous.client.answers import Grant
from tests.client.planes import serving
from tests.client.servers import TOKEN, ScriptedServer, answer, refusal
from tests.databases import Database


@pytest.fixture
async def url(database: Database) -> AsyncGenerator[str]:
    async with serving(database) as served:
        yield served


@pytest.fixture
async def client(url: str) -> AsyncGenerator[AsyncClient]:
    async with AsyncClient(url) as made:
        yield made


async def shown(capsys: pytest.CaptureFixture[str], url: str, token: str = "T") -> str:
    """What the command prints, with each time as `T`."""
    code = await asyncio.to_thread(command, ["token", "show", token, "--url", url])
    said = capsys.readouterr()
    assert (code, said.err) == (0, "")
    return re.sub(r"\b\d\d:\d\d:\d\d\b", "T", said.out)


async def claimed(client: AsyncClient, request: str) -> Grant:
    (grant,) = await client.send(calls.claim("box", ["draft", "review"], request))
    return grant


async def test_a_token_is_shown_with_its_steps(
    url: str, client: AsyncClient, capsys: pytest.CaptureFixture[str]
) -> None:
    await client.start("T")
    assert await shown(capsys, url) == "T: draft, active\n"
    grant = await claimed(client, "r1")
    on: dict[str, Any] = {"attempt": grant.attempt, "supervisor": "box"}
    await client.checkpoint(grant.task, "charge", revision=0, result=7, **on)
    await client.checkpoint(
        grant.task, "print\nit", revision=1, faulted=True, message="no\tpaper", **on
    )
    opened = await client.checkpoint(grant.task, "label", "response", revision=2, **on)
    assert opened.correlation is not None
    steps = "T: draft, active\n  T  step charge: done\n  T  step print\\nit: faulted (no\\tpaper)\n"
    assert await shown(capsys, url) == f"{steps}  T  response label: open\n"

    await client.respond(opened.correlation, status="progress", message="with the printer")
    assert await shown(capsys, url) == f"{steps}  T  response label: open (with the printer)\n"
    await client.respond(opened.correlation, 7)
    assert (await shown(capsys, url)).endswith("  T  response label: done (with the printer)\n")
    assert "step" not in await shown_list(capsys, url)

    await client.report(grant.task, "submitted", **on)
    assert await shown(capsys, url) == "T: review, active\n"
    grant = await claimed(client, "r2")
    await client.checkpoint(grant.task, "charge", revision=0, attempt=1, message="twice")
    await client.report(grant.task, "reviewed", {"approved": True}, attempt=1, supervisor="box")
    assert await shown(capsys, url) == "T: review, completed\n  T  step charge: done (twice)\n"


async def test_steps_are_shown_when_the_task_was_given_back_since(
    url: str, client: AsyncClient, capsys: pytest.CaptureFixture[str]
) -> None:
    await client.start("T")
    grant = await claimed(client, "r1")
    await client.checkpoint(grant.task, "charge", revision=0, attempt=1)
    await client.send(calls.release("box", tasks=[grant.task]))
    assert await shown(capsys, url) == "T: draft, active\n  T  step charge: done\n"
    await claimed(client, "r2")
    await client.checkpoint(grant.task, "print", revision=1, attempt=2)
    assert (await shown(capsys, url)).endswith("  T  step charge: done\n  T  step print: done\n")


async def shown_list(capsys: pytest.CaptureFixture[str], url: str) -> str:
    assert await asyncio.to_thread(command, ["token", "show", "--url", url]) == 0
    return capsys.readouterr().out


async def test_a_control_plane_that_knows_no_flows_shows_the_token(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ScriptedServer(answer(200, TOKEN), refusal(404, "not_found")) as server:
        assert await shown(capsys, server.url, "A") == "A: draft, active\n"
