"""The same commands give the same answers and the same ledger in memory, on SQLite and on Postgres."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from stateous.engine.commands import (
    Cancel,
    Claim,
    Command,
    Fire,
    Message,
    Messages,
    Note,
    Pause,
    Release,
    Report,
    Resume,
    SetMemory,
    Start,
)
from stateous.engine.family import Schedule
from stateous.engine.lifecycles import LIVE_TOKEN, WORKED_TASK
from tests.control.twin import Twin
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
        case 10:
            return Release(task=task, supervisor="box", attempt=dice.choice([None, 1]))
        case 11:
            return Note(task=task, text="half way", attempt=dice.choice([None, 1]), id=_id(dice))
        case 12:
            value = dice.choice([None, {"deep": [1.0, 2**65, None]}, "x"])
            return SetMemory(task=task, key=dice.choice("ab"), value=value, id=_id(dice))
        case _:
            return _any_report(dice, world, task)


def _id(dice: random.Random) -> str | None:
    return dice.choice([None, None, f"m-{dice.randrange(9)}"])


def _any_report(dice: random.Random, world: World, task: int) -> Report:
    found = world.tasks.get(task)
    token = world.tokens.get(found.token) if found else None
    emits = world.rules.state(token.workflow, token.state).emits if token else ()
    event = dice.choice([*emits, *emits, *emits, "submitted", "nonsense"])
    changes = dice.choice([None, {}, {"title": "other", "m": None}])
    kind = dice.choice(["event", "event", "event", "waiting", "failed"])
    if kind == "failed":
        attempt = dice.choice([None, 1, 2])
        return Report(task=task, kind="failed", error="broken", attempt=attempt, id=_id(dice))
    return Report(
        task=task,
        kind="waiting" if kind == "waiting" else "event",
        event=event,
        payload=_payload(dice),
        supervisor="box" if kind == "waiting" else None,
        attempt=dice.choice([None, None, 1]),
        context=changes,
        schedules=(Schedule("leave", None, "30m"),) if dice.random() < 0.3 else (),
        id=_id(dice),
    )


def any_messages(dice: random.Random, world: World) -> Messages:
    """What a routine says of a task, with a report now and then before the end."""
    worked = [task.id for task in world.tasks.values() if task.status in WORKED_TASK]
    task = dice.choice(worked) if worked and dice.random() < 0.95 else 1
    said: list[Message] = [
        Note(task=task, text="half way", id=_id(dice)),
        SetMemory(task=task, key="a", value=dice.choice([None, 2**65]), id=_id(dice)),
        _any_report(dice, world, task),
    ]
    dice.shuffle(said)
    return Messages(task=task, said=tuple(said))


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
    twin.pass_time(dice.choice([0, 1, 60, 3600]))
    roll = dice.random()
    if roll < 0.15:
        await twin.tick()
    elif roll < 0.45:
        asked = tuple(dice.sample(QUEUES, 5))
        request = dice.choice([None, "r1", "r2"])
        queues = tuple(world.graph.queue_of(state) for state in asked)
        most = dice.choice([1, 3])
        await twin.claim(Claim(supervisor="box", states=queues, request=request, max=most))
    elif roll < 0.6:
        await twin.tell(any_messages(dice, world))
    else:
        await twin.do([any_command(dice, world)])
