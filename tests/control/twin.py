"""A store beside a world in memory: both do the same, and are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from stateous.engine.answers import Grant, Granted, Told
from stateous.engine.batch import Batch
from stateous.engine.claiming import ClaimBatch
from stateous.engine.commands import (
    AwaitChild,
    Checkpoint,
    Claim,
    Command,
    EndLease,
    EndLocks,
    ExpireItems,
    FireTimer,
    Items,
    Message,
    Messages,
    Note,
    Release,
    Report,
    Respond,
    SetMemory,
)
from stateous.engine.family import Entry, Item
from stateous.model.refusals import Refusal
from stateous.store.store import ItemsAsked, Store
from tests.databases import Clock
from tests.engine.world import World

Own = TypeVar("Own", bound=Command)


class Twin:
    """A store that follows the world step by step; its task ids are told apart by what the ledger says."""

    def __init__(self, store: Store, world: World, clock: Clock) -> None:
        self.store = store
        self.world = world
        self.clock = clock
        self.task_ids: dict[int, int] = {}
        self.compared: dict[str, int] = {}

    async def do(self, commands: Sequence[Command]) -> None:
        """Decide commands in one batch, in the world and in the store: both answer alike."""
        batch = Batch(self.world.rules, [self._own(command) for command in commands])
        await self.store.batch_decide(batch)
        assert not batch.faults
        theirs = self.world.do_together(list(commands))
        for command, mine, other in zip(commands, batch.answers, theirs, strict=True):
            _compare_answers(command, mine, other)

    async def tell(self, messages: Messages) -> None:
        """Decide messages in both: each is answered alike."""
        own = Messages(
            task=self._own_task(messages.task),
            said=tuple(self._own(message) for message in messages.said),
        )
        batch = Batch(self.world.rules, [own])
        await self.store.batch_decide(batch)
        assert not batch.faults
        (mine,), theirs = batch.answers, self.world.tell(messages)
        assert isinstance(mine, Told)
        for message, result, other in zip(messages.said, mine.results, theirs.results, strict=True):
            _compare_answers(message, result, other)

    async def claim(self, claim: Claim) -> None:
        """Claim in both: the grants are the same, but for the numbers of tasks."""
        batch = ClaimBatch(self.world.rules, [claim])
        await self.store.claims_decide(batch)
        assert not batch.faults
        mine, other = batch.answers[0], self.world.claim_together([claim])[0]
        assert isinstance(mine, Granted)
        assert list(map(_without_numbers, mine.grants)) == list(map(_without_numbers, other))

    def pass_time(self, seconds: float) -> None:
        """Let time pass in both."""
        self.world.pass_time(seconds)
        self.clock.forward(seconds=seconds)
        assert self.clock() == self.world.now

    async def tick(self) -> None:
        """Do what the clock does, in both."""
        self.world.tick()
        now = self.clock()
        for task, *_ in await self.store.leases_over(now, limit=100):
            batch = Batch(self.world.rules, [EndLease(task)])
            await self.store.batch_decide(batch)
        for timer, token, *_ in await self.store.timers_due(now, limit=100):
            batch = Batch(self.world.rules, [FireTimer(timer, token)])
            await self.store.batch_decide(batch)
        for task, *_ in await self.store.locks_over(now, limit=100):
            await self.store.batch_decide(Batch(self.world.rules, [EndLocks(task)]))
        due = await self.store.items_due(now, limit=100)
        if due:
            await self.store.batch_decide(Batch(self.world.rules, [ExpireItems(tuple(due))]))

    async def compare_news(self) -> None:
        """Every new ledger entry is the world's, but for the numbers of tasks."""
        for token, entries in self.world.ledger.items():
            known = self.compared.get(token, 0)
            if known == len(entries):
                continue
            mine = await self.store.history_read(token, after=known)
            assert mine is not None
            assert len(mine) == len(entries) - known, token
            for own, other in zip(mine, entries[known:], strict=True):
                self._compare_entry(own, other)
            self.compared[token] = len(entries)

    async def compare(self) -> None:
        """Every token is the world's, listings too, and no ledger has more than the world's."""
        for token, entries in self.world.ledger.items():
            mine = await self.store.history_read(token)
            assert mine is not None
            assert len(mine) == len(entries)
            found = await self.store.token_read(token)
            assert found is not None
            theirs = self.world.tokens[token]
            own = msgspec.structs.replace(found, task=None, child_task=None)
            assert own == msgspec.structs.replace(theirs, task=None, child_task=None)
            if theirs.child_task is not None:
                assert found.child_task == self.task_ids[theirs.child_task]
            assert (found.task is None) == (theirs.task is None)
        await self.compare_items()
        listed = await self.store.tokens_list(status=None, parent=None, limit=1000)
        assert [token.token for token in listed] == [
            token.token
            for token in sorted(
                sorted(self.world.tokens.values(), key=lambda token: token.token),
                key=lambda token: token.entered_at,
                reverse=True,
            )
        ]

    async def compare_items(self) -> None:
        """Every item is the world's, and so is all that became of it, but for the numbers of tasks."""
        listed = await self.store.items_list(ItemsAsked(limit=1000))
        assert list(map(_as_kept, listed)) == [
            _as_kept(item) for _, item in sorted(self.world.items.items())
        ]
        for key in self.world.items:
            told = await self.store.item_history(key)
            theirs = [change for change in self.world.item_changes if change.key == key]
            assert list(map(_as_told, told)) == list(map(_as_told, theirs))

    def _compare_entry(self, own: Entry, other: Entry) -> None:
        assert (own.seq, own.at, own.kind) == (other.seq, other.at, other.kind)
        if "task" in other.data:
            mine = self.task_ids.setdefault(other.data["task"], own.data["task"])
            assert own.data["task"] == mine
        written = msgspec.to_builtins({**other.data, "task": None}, str_keys=True)
        assert msgspec.to_builtins({**own.data, "task": None}) == written

    def _own(self, command: Own) -> Own:
        match command:
            case (
                Report()
                | Checkpoint()
                | AwaitChild()
                | Respond()
                | Note()
                | SetMemory()
                | Release()
                | EndLease()
                | Items()
                | EndLocks()
            ):
                return msgspec.structs.replace(command, task=self._own_task(command.task))
            case _:
                return command

    def _own_task(self, task: int) -> int:
        return self.task_ids.get(task, task + 10**9)


def _as_kept(item: Item) -> Item:
    return msgspec.structs.replace(item, task=None)


def _as_told(item: Item) -> Item:
    return msgspec.structs.replace(item, task=None, locked_until=None, expires_at=None)


def _without_numbers(grant: Grant) -> Grant:
    """The grant without the numbers of its task: each side has its own."""
    flow = None if grant.flow is None else msgspec.structs.replace(grant.flow, task=0)
    steps = tuple(msgspec.structs.replace(step, task=0) for step in grant.steps)
    return msgspec.structs.replace(grant, task=0, flow=flow, steps=steps)


def _compare_answers(command: Command, mine: object, other: object) -> None:
    assert type(mine) is type(other), (command, mine, other)
    if isinstance(other, Refusal):
        assert isinstance(mine, Refusal)
        assert mine.code == other.code, command
        if isinstance(command, Message) and command.id is not None:
            assert mine.sentence == other.sentence or "task" in mine.sentence
