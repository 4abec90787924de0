"""What a control plane does that finds another graph on record than the one it is to serve (docs/graph-file.md)."""

from __future__ import annotations

from typing import Any

import pytest

from stateous.control.compose import open_plane
from stateous.model.graph import parse_graph
from stateous.store.store import CannotOpen
from tests.cards.entries import retrying, task_failed, timer_fired, timer_set
from tests.cards.graphs import sdlc
from tests.cards.served import Served, serving
from tests.databases import Clock, Database


def with_another_state() -> dict[str, Any]:
    graph = sdlc(more=({"from": "triage", "to": "archive", "on": "sorted", "when": "false"},))
    graph["states"]["archive"] = {"emits": []}
    return graph


def with_other_times() -> dict[str, Any]:
    """The same structure: `coding` is tried again now, and every state has another timeout."""
    graph = sdlc()
    graph["states"]["triage"]["timeout"] = "1d"
    graph["states"]["coding"].update(timeout="1h", retries=2)
    del graph["states"]["testing"]["timeout"]
    graph["workflows"]["security"]["states"]["scan"]["retries"] = 5
    return graph


async def checksum(served: Served) -> str:
    health = (await served.api.get("/health")).json
    assert health["workflow"] == "sdlc"
    return health["checksum"]


@pytest.mark.parametrize("status", ["active", "paused"])
async def test_a_new_structure_is_refused_while_tokens_live(
    database: Database, clock: Clock, only_by_hand: None, status: str
) -> None:
    async with serving(database, clock, sdlc()) as served:
        await served.start("T")
        await served.start("ENDED")
        await served.steer("ENDED", "cancel")
        if status == "paused":
            await served.steer("T", "pause")
        before = await checksum(served)
    new = parse_graph(with_another_state())
    with pytest.raises(CannotOpen, match="another structure than the one on record"):
        await open_plane(graph=new, db=database.url, clock=clock)
    # Nothing changed: the old graph is on record, and goes on.
    async with serving(database, clock, sdlc()) as served:
        assert await checksum(served) == before
        assert await served.status("T") == status
        assert [kind for kind, _ in await served.news("T")][4:] == [
            "timer_set",
            *["paused"] * (status == "paused"),
        ]
        if status == "paused":
            await served.steer("T", "resume")
        assert (await served.fire("T", "coded"))["state"] == "testing"


async def test_a_new_structure_is_served_when_all_tokens_have_ended(
    database: Database, clock: Clock, only_by_hand: None
) -> None:
    async with serving(database, clock, sdlc()) as served:
        for token in ("COMPLETED", "FAILED", "CANCELLED"):
            await served.start(token)
        await served.fire("COMPLETED", "coded")
        await served.fire("COMPLETED", "checked", {"approved": True})
        await served.fire("FAILED", "torn", {"approved": True, "note": "both"})
        await served.steer("CANCELLED", "cancel")
        before = await checksum(served)
    async with serving(database, clock, with_another_state()) as served:
        assert await checksum(served) == parse_graph(with_another_state()).checksum != before
        assert (await served.api.get("/workflow")).json == with_another_state()
        for token in ("COMPLETED", "FAILED", "CANCELLED"):
            assert await served.status(token) == token.lower()
        await served.start("T")
    # And is on record now: the old one is new.
    with pytest.raises(CannotOpen):
        await open_plane(graph=parse_graph(sdlc()), db=database.url, clock=clock)


async def test_other_timeouts_and_retries_are_served_while_tokens_live(
    database: Database, clock: Clock, only_by_hand: None
) -> None:
    async with serving(database, clock, sdlc()) as served:
        await served.start("T")
        task = (await served.claim())["task"]
        before = await checksum(served)
        await served.steer("T", "pause")
        await served.steer("T", "resume")
    async with serving(database, clock, with_other_times()) as served:
        # The structure is the same, the graph another.
        assert await checksum(served) == parse_graph(with_other_times()).checksum != before
        await served.read_up("T")
        # The retries of now count for the task of before, whose lease and supervisor are what they were.
        assert await served.beat(task) == []
        await served.report(task, "failed", error="boom")
        assert await served.news("T") == [task_failed(task, "boom"), retrying(task, 2)]
        # A timeout that was set goes on as it was; a new one is as the graph says.
        await served.pass_by(hours=5, minutes=59)
        assert await served.news("T") == []
        await served.start("U")
        assert (await served.news("U"))[-1] == timer_set("timeout", served.at(hours=1))
        await served.pass_by(minutes=1)
        assert (await served.news("T"))[0] == timer_fired("timeout")
        assert await served.news("U") == []
        await served.fire("U", "coded")
        assert (await served.news("U"))[-1][0] == "task_queued"


async def test_the_same_graph_is_served_again(
    database: Database, clock: Clock, only_by_hand: None
) -> None:
    async with serving(database, clock, sdlc()) as served:
        token = await served.start("T")
        grant = await served.claim(request="r")
        before = await checksum(served)
    async with serving(database, clock, sdlc()) as served:
        assert await checksum(served) == before
        assert await served.token("T") == token
        assert await served.claim(request="r") == grant
