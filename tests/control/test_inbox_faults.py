"""A row that cannot be done is refused in the end, and only that one; trouble with the database refuses none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import cast

import pytest

from stateous.control import inbox as emptying
from stateous.control import lane as laning
from stateous.control.inbox import Inbox
from stateous.control.lane import TokenLane
from stateous.engine.batch import Batch
from stateous.engine.commands import FromInbox, Unreadable
from stateous.model.refusals import DatabaseBusy
from stateous.store.store import InboxRow, NotCommitted, OutcomeUnknown, Store
from tests.control.scripted import ScriptedStore

POISON = 3


class RowsInMemory(ScriptedStore):
    """Its inbox starts five tokens. A batch that would do the third one meets `fault`."""

    def __init__(self) -> None:
        super().__init__()
        self.fault: Callable[[], Exception] | None = None
        self.looks = 0
        self.world.inbox.update({row: f"T{row}" for row in range(1, 6)})

    async def clock_try(self) -> bool:
        return True

    async def inbox_look(
        self, *, passed: Collection[str] = (), limit: int, size: int
    ) -> list[InboxRow]:
        self.looks += 1
        return [
            InboxRow(row, "start", token.lower(), 20, token, None, '{"title": "Chair"}', None)
            for row, token in sorted(self.world.inbox.items())
            if token.lower() not in passed
        ][:limit]

    async def batch_decide(self, batch: Batch, *, wait_for: float | None = None) -> None:
        if self.fault is not None and any(
            isinstance(command, FromInbox)
            and command.row == POISON
            and not isinstance(command.asked, Unreadable)
            for command in batch.commands
        ):
            raise self.fault()
        await super().batch_decide(batch, wait_for=wait_for)

    def became(self) -> dict[int, str]:
        """The code of each settled row, `applied` for those that have none."""
        return {row: it.code or "applied" for row, it in sorted(self.world.settled.items())}


@pytest.fixture
def store() -> RowsInMemory:
    return RowsInMemory()


@pytest.fixture
def inbox(store: RowsInMemory) -> Inbox:
    theirs = cast("Store", store)
    lane = TokenLane(theirs, store.world.rules, rest_for=lambda _: 0.001, ready=store.told.append)
    return Inbox(theirs, lane)


OTHERS = {1: "applied", 2: "applied", 4: "applied", 5: "applied"}
ALL = {**OTHERS, POISON: "unexpected"}


async def test_a_row_that_the_database_refuses_is_refused_at_once(
    store: RowsInMemory, inbox: Inbox
) -> None:
    store.fault = lambda: NotCommitted("a bad value", alone=True)
    assert await inbox.empty()
    assert store.became() == ALL
    assert store.world.settled[POISON].error == laning.REFUSED


async def test_a_row_on_which_the_control_plane_fails_is_refused_after_some_tries(
    store: RowsInMemory, inbox: Inbox
) -> None:
    store.fault = lambda: RuntimeError("a bug")
    assert not await inbox.empty()
    assert store.became() == {}
    # From now on each goes alone, and none has another one's fault.
    assert not await inbox.empty()
    assert store.became() == OTHERS
    assert not await inbox.empty()
    assert await inbox.empty()
    assert store.became() == ALL


async def test_an_outcome_that_cannot_be_told_refuses_nothing(
    store: RowsInMemory, inbox: Inbox
) -> None:
    store.fault = lambda: OutcomeUnknown("the connection was lost at a commit")
    for _ in range(6):
        assert not await inbox.empty()
    assert POISON not in store.became()
    store.fault = None
    assert await inbox.empty()
    assert store.became() == dict.fromkeys(range(1, 6), "applied")


async def test_a_database_that_is_away_refuses_nothing(
    store: RowsInMemory, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(laning, "DEADLINE_FOR", 0.05)
    store.fault = lambda: NotCommitted("the server is away", alone=False)
    for _ in range(4):
        assert not await inbox.empty()
    assert POISON not in store.became()
    store.fault = None
    assert await inbox.empty()
    assert store.became() == dict.fromkeys(range(1, 6), "applied")


async def test_what_was_left_is_tried_again_soon_whatever_went_wrong(
    store: RowsInMemory, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emptying, "TRIED_AGAIN_AFTER", 0.001)
    looks = [RuntimeError("a bug"), DatabaseBusy("the database did not answer a read")]
    look = store.inbox_look

    async def fails_twice(*, passed: Collection[str], limit: int, size: int) -> list[InboxRow]:
        if looks:
            raise looks.pop()
        return await look(passed=passed, limit=limit, size=size)

    monkeypatch.setattr(store, "inbox_look", fails_twice)
    store.fault = lambda: RuntimeError("a bug")
    running = asyncio.create_task(inbox.run())
    async with asyncio.timeout(10):
        while store.became() != ALL:  # noqa: ASYNC110 - everything else is in memory, too
            await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait([running])
