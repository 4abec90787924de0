"""What the views count and explain is what a plain reading of the same world comes to."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise

from stateous.engine.changes import Changes
from stateous.engine.family import Entry, Task, Timer, Token
from stateous.engine.lifecycles import LIVE_TOKEN
from stateous.store.store import Seen
from tests.databases import Clock, Database
from tests.engine.world import World
from tests.store import written
from tests.store.opened import opened
from tests.store.walked import SEEDS, Row, from_seed, viewed, walked, write_world

ENDS = ("completed", "failed", "cancelled")

SEEN = [
    Seen(name="three", states=("s0", "c0/s0"), ago=0),
    Seen(name="four", states=("s0",), ago=5),
    Seen(name="gone", states=("s1", "c1/s0"), ago=3600),
    # The random claims come from `one` and `two`; who holds a task is there, however long it was silent.
    Seen(name="one", states=("s2",), ago=3600),
]


async def test_the_views_of_walks_are_right(postgres: Database, clock: Clock) -> None:
    """One database for all of them: to make one takes longer than all that is asked of it."""
    async with opened(postgres.store(clock)) as store:
        for seed in SEEDS:
            # Anew for each, because it takes time, and who was silent for a minute is not there any more.
            await store.supervisors_see(SEEN)
            with from_seed(seed) as world:
                await write_world(postgres, store, world)
                await check_board(postgres, world)
                await check_paths(postgres, world)
                await check_dwell(postgres, world)
                await check_attempts(postgres, world)
                await check_supervisors(postgres, world)
                await check_waiting(postgres, world)


async def check_board(postgres: Database, world: World) -> None:
    entered: defaultdict[tuple[str, str, str], list[datetime]] = defaultdict(list)
    for token in world.tokens.values():
        entered[token.workflow, token.state, token.status].append(token.entered_at)
    assert {
        (row["workflow"], row["state"], row["status"]): (row["tokens"], row["oldest_at"])
        for row in await viewed(postgres, "select * from board")
    } == {where: (len(times), min(times)) for where, times in entered.items()}


def moves(world: World) -> Iterator[tuple[tuple[str, str, str, str], datetime]]:
    """Each move of each token: workflow, from, event, to; and when."""
    for name, entries in world.ledger.items():
        workflow = world.tokens[name].workflow
        for number, entry in enumerate(entries):
            if entry.kind == "event_accepted":
                came = next(e for e in entries[number:] if e.kind in ("entered", "completed"))
                to = came.data["state"] if came.kind == "entered" else "__end__"
                yield (workflow, entry.data["state"], entry.data["event"], to), entry.at


async def check_paths(postgres: Database, world: World) -> None:
    times: defaultdict[tuple[str, str, str, str], list[datetime]] = defaultdict(list)
    for move, at in moves(world):
        times[move].append(at)
    assert {
        (row["workflow"], row["from_state"], row["event"], row["to_state"]): (
            row["count"],
            row["last_at"],
        )
        for row in await viewed(postgres, "select * from paths")
    } == {move: (len(every), max(every)) for move, every in times.items()}


def visits(world: World) -> Iterator[tuple[str, str, timedelta]]:
    """Workflow and state of each visit that is over, and how long it took."""
    for name, entries in world.ledger.items():
        marks = [entry for entry in entries if entry.kind in ("entered", *ENDS)]
        for came, left in pairwise(marks):
            yield world.tokens[name].workflow, came.data["state"], left.at - came.at


def percentile(values: list[timedelta], part: float) -> timedelta:
    place = (len(values) - 1) * part
    below = int(place)
    above = min(below + 1, len(values) - 1)
    return values[below] + (values[above] - values[below]) * (place - below)


async def check_dwell(postgres: Database, world: World) -> None:
    took: defaultdict[tuple[str, str], list[timedelta]] = defaultdict(list)
    for workflow, state, time in visits(world):
        took[workflow, state].append(time)
    found = await viewed(postgres, "select * from dwell")
    assert {(row["workflow"], row["state"]) for row in found} == took.keys()
    for row in found:
        times = sorted(took[row["workflow"], row["state"]])
        assert row["count"] == len(times)
        assert row["max"] == times[-1]
        for name, part in (("p50", 0.5), ("p95", 0.95)):
            assert abs(row[name] - percentile(times, part)) <= timedelta(milliseconds=1)


def failures(world: World) -> Iterator[Row]:
    for name, entries in world.ledger.items():
        claims: dict[int, Entry] = {}
        for number, entry in enumerate(entries):
            if entry.kind == "task_claimed":
                claims[entry.data["task"]] = entry
            if entry.kind == "task_failed":
                task = world.tasks[entry.data["task"]]
                claim = claims[task.id].data
                follows = entries[number + 1].kind if number + 1 < len(entries) else None
                yield {
                    "token": name,
                    "seq": entry.seq,
                    "at": entry.at,
                    "workflow": world.tokens[name].workflow,
                    "state": task.state,
                    "visit": task.visit,
                    "task": task.id,
                    "attempt": claim["attempt"],
                    "supervisor": claim["supervisor"],
                    "error": entry.data["error"],
                    "retried": follows == "task_retrying",
                }


async def check_attempts(postgres: Database, world: World) -> None:
    found = await viewed(postgres, "select * from attempts")
    expected = list(failures(world))
    assert {(row["token"], row["seq"]): row for row in found} == {
        (row["token"], row["seq"]): row for row in expected
    }


def held_by(world: World) -> Counter[str | None]:
    return Counter(task.claimed_by for task in world.tasks.values() if task.status == "claimed")


async def check_supervisors(postgres: Database, world: World) -> None:
    held = held_by(world)
    states = {seen.name: list(seen.states or ()) for seen in SEEN}
    here = {"three", "four"}
    assert {
        row["name"]: (row["states"], row["tasks_held"], row["is_live"])
        for row in await viewed(postgres, "select * from supervisors")
    } == {
        name: (states.get(name or ""), held[name], name in here or held[name] > 0)
        for name in {*states, *held}
    }


def serving(world: World) -> Counter[str]:
    """How many live supervisors serve each queue."""
    held = held_by(world)
    live = [seen for seen in SEEN if seen.ago < 60 or held[seen.name]]
    return Counter(queue for seen in live for queue in seen.states or ())


def said(at: datetime | None) -> str:
    assert at is not None
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def last_at(world: World, token: Token, kind: str) -> datetime:
    return next(entry.at for entry in reversed(world.ledger[token.token]) if entry.kind == kind)


def next_timer(world: World, token: Token) -> Timer | None:
    pending = [
        timer
        for timer in world.timers.values()
        if (timer.token, timer.status) == (token.token, "pending")
    ]
    return min(pending, key=lambda timer: (timer.due_at, timer.id), default=None)


def reason(world: World, token: Token) -> tuple[str, str, datetime | None]:
    """Why the token waits: a word, a sentence, since when."""
    task = None if token.task is None else world.tasks[token.task]
    timer = next_timer(world, token)
    if token.status == "paused":
        held = [one for one in world.held.get(token.root, []) if one.token == token.token]
        why = f"paused since {said(token.paused_at)}; events held: {len(held)}"
        return "paused", why, token.paused_at
    if token.children_open and (task is None or task.status == "waiting"):
        since = token.entered_at if task is None else last_at(world, token, "task_waiting")
        why = f"children that still run: {token.children_open}"
        return "children", awaits(world, task, since) or why, since
    if task is None:
        if timer is None:
            return "event", "only an event moves it", token.entered_at
        return "timer", f"timer {timer.event} is due at {said(timer.due_at)}", token.entered_at
    if task.status == "queued":
        count = serving(world)[task.queue]
        queued = f"task {task.id} is queued for {task.queue}"
        if not count:
            return "unserved", f"{queued}, and no live supervisor serves it", task.queued_at
        return "queued", f"{queued}; live supervisors that serve it: {count}", task.queued_at
    if task.status == "claimed":
        why = f"task {task.id} is claimed by {task.claimed_by} until {said(task.lease_until)}"
        return "claimed", why, last_at(world, token, "task_claimed")
    since = last_at(world, token, "task_waiting")
    if timer is not None and timer.kind == "timer":
        return "timer", f"timer {timer.event} is due at {said(timer.due_at)}", since
    why = f"task {task.id} waits for someone outside since {said(since)}"
    return "outside", awaits(world, task, since) or why, since


def awaits(world: World, task: Task | None, since: datetime | None) -> str | None:
    """The steps that it awaits, None: it awaits none."""
    if task is None or task.awaiting is None:
        return None
    steps = [world.steps[task.id, name] for name in dict.fromkeys(task.awaiting)]
    named = [f'the {s.kind} "{s.name}"' for s in sorted(steps, key=lambda s: s.seq)]
    return f"task {task.id} awaits {', '.join(named)} since {said(since)}"


async def check_waiting(postgres: Database, world: World) -> None:
    expected: dict[str, Row] = {}
    for token in world.tokens.values():
        if token.status not in LIVE_TOKEN:
            continue
        word, why, since = reason(world, token)
        task = None if token.task is None else world.tasks[token.task]
        timer = next_timer(world, token)
        expected[token.token] = {
            "token": token.token,
            "workflow": token.workflow,
            "state": token.state,
            "visit": token.visit,
            "reason": word,
            "why": why,
            "since_at": since,
            "task": task and task.id,
            "attempt": task and task.attempt,
            "failures": task and task.failures,
            "supervisor": task and task.claimed_by,
            "leased_until": task and task.lease_until,
            "next_timer": timer and timer.event,
            "due_at": timer and timer.due_at,
            "children": token.children_open,
            "parent": token.parent,
            "root": token.root,
        }
    found = await viewed(postgres, "select * from waiting")
    assert {row["token"]: row for row in found} == expected
    assert len(found) == len(expected)


def test_the_walks_show_each_reason() -> None:
    worlds = [walked(seed) for seed in SEEDS]
    reasons = [
        reason(world, token)
        for world in worlds
        for token in world.tokens.values()
        if token.status in LIVE_TOKEN
    ]
    words = {word for word, _, _ in reasons}
    assert words >= {"paused", "children", "unserved", "queued", "claimed", "outside", "timer"}
    assert any(list(failures(world)) for world in worlds)


async def test_a_token_without_a_task_waits_for_its_timer_or_for_an_event(
    postgres: Database, clock: Clock
) -> None:
    """No walk leaves one so: a join that was not met, and a state that a join should have left."""
    async with opened(postgres.store(clock)) as store:
        await written.write(
            store,
            Changes(
                new_tokens=[written.token("T"), written.token("U")],
                new_timers=[written.timer(1, "T"), written.timer(2, "U", status="cancelled")],
            ),
        )
    found = await viewed(postgres, "select token, reason, why from waiting order by token")
    assert [tuple(row.values()) for row in found] == [
        ("T", "timer", "timer timeout is due at 2026-01-02 04:04:05 UTC"),
        ("U", "event", "only an event moves it"),
    ]
