"""The same commands give the same answers and the same ledger in memory, on SQLite and on Postgres."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stateous.engine.answers import Answer, Grant, Granted, Skipped
from stateous.engine.batch import Batch
from stateous.engine.claiming import ClaimBatch
from stateous.engine.commands import (
    Cancel,
    Claim,
    Command,
    EndLease,
    Fire,
    FireTimer,
    Note,
    Pause,
    Report,
    Resume,
    SetMemory,
    Start,
)
from stateous.engine.family import Entry, Schedule
from stateous.engine.lifecycles import LIVE_TOKEN, WORKED_TASK
from stateous.model.refusals import Refusal
from stateous.store.store import Store
from tests.databases import Clock, new_database
from tests.engine.graphs import ORDERS, parallel
from tests.engine.world import World

STEPS = 150
GRAPHS = {
    "orders": ORDERS,
    "all": parallel(join="all", nested=True),
    "any": parallel(join="any"),
}
QUEUES = ("draft", "review", "work", "ship", "security/look", "style/look")
TOKENS = tuple(f"{letter}.{n}_" for letter in "AbC" for n in range(6))


class Twin:
    """A store that follows the world step by step; its task ids are told apart by what the ledger says."""

    def __init__(self, store: Store, world: World, clock: Clock) -> None:
        self.store = store
        self.world = world
        self.clock = clock
        self.task_ids: dict[int, int] = {}
        self.compared: dict[str, int] = {}

    async def do(self, command: Command) -> Answer | Refusal:
        batch = Batch(self.world.rules, [self._own(command)])
        await self.store.batch_decide(batch)
        assert not batch.faults
        answer = batch.answers[0]
        assert not isinstance(answer, Skipped)
        return answer

    async def claim(self, claim: Claim) -> tuple[Grant, ...]:
        batch = ClaimBatch(self.world.rules, [claim])
        await self.store.claims_decide(batch)
        assert not batch.faults
        answer = batch.answers[0]
        assert isinstance(answer, Granted)
        return answer.grants

    async def tick(self) -> None:
        now = self.clock()
        for task in await self.store.leases_over(now, limit=100):
            batch = Batch(self.world.rules, [EndLease(task)])
            await self.store.batch_decide(batch)
        for timer, token in await self.store.timers_due(now, limit=100):
            batch = Batch(self.world.rules, [FireTimer(timer, token)])
            await self.store.batch_decide(batch)

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
            assert msgspec.structs.replace(found, task=None) == msgspec.structs.replace(
                theirs, task=None
            )
            assert (found.task is None) == (theirs.task is None)
        listed = await self.store.tokens_list(status=None, parent=None, limit=1000)
        assert [token.token for token in listed] == [
            token.token
            for token in sorted(
                sorted(self.world.tokens.values(), key=lambda token: token.token),
                key=lambda token: token.entered_at,
                reverse=True,
            )
        ]

    def _compare_entry(self, own: Entry, other: Entry) -> None:
        assert (own.seq, own.at, own.kind) == (other.seq, other.at, other.kind)
        if "task" in other.data:
            mine = self.task_ids.setdefault(other.data["task"], own.data["task"])
            assert own.data["task"] == mine
        written = msgspec.to_builtins({**other.data, "task": None}, str_keys=True)
        assert msgspec.to_builtins({**own.data, "task": None}) == written

    def _own(self, command: Command) -> Command:
        match command:
            case Report() | Note() | SetMemory() | EndLease():
                own = self.task_ids.get(command.task, command.task + 10**9)
                return msgspec.structs.replace(command, task=own)
            case _:
                return command


def any_command(dice: random.Random, world: World) -> Command:
    """A command that has a good chance to do something."""
    live = [token.token for token in world.tokens.values() if token.status in LIVE_TOKEN]
    token = dice.choice(live or list(TOKENS)) if dice.random() < 0.9 else dice.choice(TOKENS)
    worked = [task.id for task in world.tasks.values() if task.status in WORKED_TASK]
    task = dice.choice(worked) if worked and dice.random() < 0.95 else 1
    match dice.randrange(20):
        case 0 | 1 | 2 | 3:
            return Start(dice.choice(TOKENS), {"title": "é\u2028", "n": 2**80, "f": 1e16, "z": 1.0})
        case 4 | 5 | 6:
            flow = world.rules.flow(
                world.tokens[token].workflow if token in world.tokens else world.graph.workflow
            )
            event = dice.choice([*flow.events, *flow.events, *flow.events, "nonsense", "error"])
            return Fire(token, event, _payload(dice), dice.choice([None, None, "k1", "k2"]))
        case 7:
            return Pause(token)
        case 8 | 9:
            return Resume(token)
        case 10 if dice.random() < 0.3:
            return Cancel(token)
        case 11:
            return Note(task=task, text="half way", attempt=dice.choice([None, 1]))
        case 12:
            value = dice.choice([None, {"deep": [1.0, 2**65, None]}, "x"])
            return SetMemory(task=task, key=dice.choice("ab"), value=value)
        case _:
            return _any_report(dice, world, task)


def _any_report(dice: random.Random, world: World, task: int) -> Report:
    found = world.tasks.get(task)
    token = world.tokens.get(found.token) if found else None
    emits = world.rules.state(token.workflow, token.state).emits if token else ()
    event = dice.choice([*emits, *emits, *emits, "submitted", "nonsense"])
    changes = dice.choice([None, {}, {"title": "other", "m": None}])
    kind = dice.choice(["event", "event", "event", "waiting", "failed"])
    if kind == "failed":
        return Report(task=task, kind="failed", error="broken", attempt=dice.choice([None, 1, 2]))
    return Report(
        task=task,
        kind="waiting" if kind == "waiting" else "event",
        event=event,
        payload=_payload(dice),
        supervisor="box" if kind == "waiting" else None,
        attempt=dice.choice([None, None, 1]),
        context=changes,
        schedules=(Schedule("leave", None, "30m"),) if dice.random() < 0.3 else (),
    )


def _payload(dice: random.Random) -> dict[str, Any] | None:
    approved = {"approved": dice.random() < 0.5}
    return dice.choice([None, approved, approved, {"approved": 1.5, "x": 2**70}])


@pytest.mark.parametrize("graph", list(GRAPHS))
@pytest.mark.parametrize("seed", range(3))
async def test_the_same_commands_give_the_same_ledger(
    graph: str, seed: int, dialect: str, tmp_path: Path
) -> None:
    world = World(GRAPHS[graph])
    clock = Clock()
    world.now = clock()
    dice = random.Random(f"{graph} {seed}")
    with new_database(dialect, tmp_path) as database:
        store = database.store(clock)
        await store.open()
        try:
            twin = Twin(store, world, clock)
            for _ in range(STEPS):
                await _one_step(dice, world, twin)
                await twin.compare_news()
            await twin.compare()
        finally:
            await store.close()


async def _one_step(dice: random.Random, world: World, twin: Twin) -> None:
    seconds = dice.choice([0, 1, 60, 3600])
    world.pass_time(seconds)
    twin.clock.now += timedelta(seconds=seconds)
    assert twin.clock() == world.now
    roll = dice.random()
    if roll < 0.15:
        world.tick()
        await twin.tick()
    elif roll < 0.45:
        asked = tuple(dice.sample(QUEUES, 5))
        request = dice.choice([None, "r1", "r2"])
        most = dice.choice([1, 3])
        granted = world.claim(*asked, request=request, most=most)
        claim = Claim(supervisor="box", states=asked, request=request, max=most)
        twins = await twin.claim(claim)
        assert [msgspec.structs.replace(g, task=0) for g in granted] == [
            msgspec.structs.replace(g, task=0) for g in twins
        ]
    else:
        command = any_command(dice, world)
        theirs, mine = world.do(command), await twin.do(command)
        assert type(mine) is type(theirs), (command, mine, theirs)
        if isinstance(theirs, Refusal):
            assert isinstance(mine, Refusal)
            assert mine.code == theirs.code
