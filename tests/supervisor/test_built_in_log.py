"""The state log that the control plane keeps does what is promised of every handler, on both databases."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import timedelta
from itertools import count
from typing import Any

import pytest

from stateous import ItemCall, StateLogContext
from stateous.client import AsyncClient, calls
from stateous.control.compose import open_plane
from stateous.model.graph import parse_graph
from stateous.model.items import LARGEST_DATA
from stateous.testing import StateLogTrial, state_log_checks
from stateous_supervisor.built_in_log import BuiltInLog
from stateous_supervisor.log_answers import context_of
from tests.api.serving import served
from tests.databases import Clock, Database

CHECKS = {check.__name__: check for check in state_log_checks()}
LOG = {"options": {"lock": "60s", "retention": "120s"}}

GRAPH: dict[str, Any] = {
    "stateous": 1,
    "workflow": "invoices",
    "states": {
        "hall": {"emits": []},
        "elsewhere": {"emits": [], "state_log": LOG},
        **{name: {"emits": [], "state_log": LOG} for name in CHECKS},
    },
    "events": {f"to_{name}": {} for name in ("elsewhere", *CHECKS)},
    "transitions": [
        {"from": "__start__", "to": "hall"},
        *({"from": "hall", "to": each, "on": f"to_{each}"} for each in ("elsewhere", *CHECKS)),
    ],
    "schemas": {},
}
"""Each check has a state of its own, so that all of them fit into one control plane."""


class AtAControlPlane(StateLogTrial):
    """Each task is one of a token of its own."""

    lock_for, kept_for = 60, 120
    numbers = count(1)

    def __init__(self, client: AsyncClient, clock: Clock, *, state: str) -> None:
        super().__init__(BuiltInLog(client.send))
        self._client = client
        self._clock = clock
        self._state = state

    async def worker(self) -> StateLogContext:
        return await self._in(self._state)

    async def elsewhere(self) -> StateLogContext:
        return await self._in("elsewhere")

    async def later(self, context: StateLogContext) -> StateLogContext:
        task, attempt = context.task, context.attempt
        opened = await self._client.checkpoint(
            task, "person", "response", attempt=attempt, revision=0
        )
        assert opened.correlation is not None
        await self._client.report(task, awaiting=["person"], attempt=attempt, supervisor="trial")
        await self._client.respond(opened.correlation)
        return await self._claimed(self._state)

    async def wait(self, seconds: float) -> None:
        self._clock.forward(seconds=seconds)

    async def _in(self, state: str) -> StateLogContext:
        token = f"TOKEN-{next(self.numbers)}"
        await self._client.start(token)
        await self._client.fire(token, f"to_{state}")
        return await self._claimed(state)

    async def _claimed(self, state: str) -> StateLogContext:
        claim = calls.claim("trial", [state], f"request-{next(self.numbers)}", most=1)
        (grant,) = await self._client.send(claim)
        return context_of(grant, supervisor="trial")


@pytest.fixture
async def clock() -> Clock:
    return Clock()


@pytest.fixture
async def client(database: Database, clock: Clock) -> AsyncGenerator[AsyncClient]:
    graph = parse_graph(GRAPH)
    plane = await open_plane(graph=graph, db=database.url, lease_for=timedelta(days=1), clock=clock)
    try:
        async with (
            served(plane) as caller,
            AsyncClient(f"http://{caller.host}:{caller.port}") as made,
        ):
            yield made
    finally:
        await plane.stop()


async def test_it_keeps_to_the_checks(client: AsyncClient, clock: Clock) -> None:
    assert len(CHECKS) > 15
    for name, check in CHECKS.items():
        try:
            await check(AtAControlPlane(client, clock, state=name))
        except Exception as problem:
            problem.add_note(f"in the check {name}")
            raise


async def test_more_data_than_an_answer_has_room_for_comes_in_several(
    client: AsyncClient, clock: Clock
) -> None:
    names = [f"I{number:02}" for number in range(18)]
    large = "x" * (LARGEST_DATA - 2)
    trial = AtAControlPlane(client, clock, state="hall")
    context, log = await trial.elsewhere(), trial.handler
    items = [ItemCall(context=context, item=name, data=large) for name in names]
    for at in range(0, len(items), 3):
        await log.upsert(items[at : at + 3])
    found = await log.get([*items, ItemCall(context=context, item="none")])
    assert [each and (each.item, each.data == large) for each in found] == [
        *((name, True) for name in names),
        None,
    ]
    told = await log.acquire(items)
    assert [each.data_left_out for each in told] == [False] * 15 + [True] * 3
    asked: dict[str, Any] = {"entity": None, "status": None}
    listed = await log.list(context, limit=17, after=None, **asked)
    assert [(each.item, each.data == large) for each in listed] == [
        (name, True) for name in names[:17]
    ]
    rest = await log.list(context, limit=17, after=("", names[16]), **asked)
    assert [each.item for each in rest] == names[17:]
