"""Commands by chance: most often such that something moves, else aimed beside it, at the past, or at nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from stateous.engine.commands import (
    AwaitChild,
    Cancel,
    Checkpoint,
    Command,
    EndLease,
    EndLocks,
    ExpireItems,
    Fire,
    FireTimer,
    ItemAsked,
    Items,
    Message,
    Messages,
    Note,
    Pause,
    Release,
    Report,
    ResetItem,
    Respond,
    Resume,
    SetMemory,
    Start,
)
from stateous.engine.family import Schedule, Task
from stateous.engine.items import Place, log_of, place_of
from stateous.engine.lifecycles import LIVE_TOKEN, WORKED_TASK
from stateous.model.state_logs import SCOPES
from tests.engine.chance import Chance, happens, likely, some
from tests.engine.graphs import Json
from tests.engine.world import World

IDS = ("T", "U", "V", "t", "T.s1.1.c1", "-")
EVENTS = ("e0", "e1", "e2")
ODD_EVENTS = (*EVENTS, "e3", "timeout", "joined")
PAYLOADS: tuple[Json | None, ...] = (None, {}, {"n": 1}, {"n": 2}, {"n": "x"})
CONTEXTS: tuple[Json | None, ...] = (None, {}, {"a": 1}, {"a": 3}, {"b": True}, {"b": None, "a": 4})
ODD_CONTEXTS = (*CONTEXTS, {"a": 9})
ITEMS = ("i0", "i1", "i2", "i3")
KEYS = (None, None, "k0", "k1", "k2")
SUPERVISORS = ("one", "two")


def random_command(chance: Chance, world: World) -> Command:
    """One command of any kind."""
    kind = chance.one(range(48))
    if kind == 0 or (kind < 12 and not _live(world)):
        name = likely(chance, [f"N{len(world.tokens)}"], IDS)
        return Start(name, likely(chance, CONTEXTS, ODD_CONTEXTS) or {})
    if kind < 8:
        return _fire(chance, world)
    if kind < 15:
        return random_report(chance, world)
    if kind < 19:
        return _steering(chance, world)
    if kind < 24:
        return _other(chance, world)
    if kind < 36:
        return random_step(chance, world)
    return _family_matter(chance, world) if kind < 38 else random_items(chance, world)


def random_items(chance: Chance, world: World) -> Command:
    """A call of business items by an attempt that mostly may; seldom what the clock or an operator does of one."""
    task, attempt = _working(chance, world)
    scope, place = 4, "nowhere"
    if task in world.tasks:
        found = world.tasks[task]
        log = log_of(world.rules, found.queue)
        if log is not None:
            place = place_of(world.rules, log, Place(found.token, found.queue, found.visit))
            scope = SCOPES[log.scope]
    if happens(chance, 1, 10):
        key = chance.one([*world.items, (scope, place, "", "i0")])
        return chance.one([ExpireItems((key,)), ExpireItems((key,), now=True), ResetItem(key)])
    if happens(chance, 1, 12):
        return EndLocks(task)
    call: Any = chance.one(
        ("acquire", "acquire", "acquire", "set", "set", "set", "release", "upsert")
    )
    mine = [i for i in world.items.values() if i.status == "processing" and i.task == task]
    names = [(entity, name) for entity in ("", "invoice") for name in ITEMS]
    if mine and call in {"set", "release"} and happens(chance, 5, 6):
        names = [(item.entity, item.item) for item in mine]
    return Items(
        task=task,
        attempt=attempt,
        call=call,
        scope=scope,
        place=place,
        items=tuple(_asked(chance, call, *name) for name in some(chance, names, 1, 2)),
        supervisor=None if happens(chance, 5, 6) else chance.one(SUPERVISORS),
    )


def _asked(chance: Chance, call: str, entity: str, name: str) -> ItemAsked:
    named: dict[str, Any] = {"acquire": "processing", "release": "failed", "upsert": "processed"}
    status = named.get(call) or chance.one(("processed", "processed", "failed", "skipped"))
    data = chance.one((None, "1", '{"a":[]}')) if status == "processed" else None
    why = chance.one(("no paper", "no ink")) if status in {"failed", "skipped"} else None
    return ItemAsked(entity, name, status, data, why)


def _working(chance: Chance, world: World) -> tuple[int, int]:
    """A task and an attempt; most often one that a supervisor has, of a state with a state log."""
    held = [
        task.id
        for task in world.tasks.values()
        if task.status == "claimed" and log_of(world.rules, task.queue) is not None
    ]
    if held and happens(chance, 7, 8):
        task = chance.one(held)
        return task, world.tasks[task].attempt
    task, attempt = _task(chance, world)
    return task, attempt or 1


def random_step(chance: Chance, world: World) -> Checkpoint | AwaitChild | Respond:
    """A step of a routine, a child, or a response to one; most often it fits."""
    asked = [step for step in world.steps.values() if step.correlation or step.answered]
    live = set(_live(world))
    opened = [s for s in asked if s.correlation and world.tasks[s.task].token in live]
    if (opened and happens(chance, 3, 4)) or (asked and happens(chance, 1, 6)):
        step = likely(chance, opened, asked)
        known = [each for each in (step.correlation, step.answered) if each]
        return Respond(
            task=step.task,
            step=step.name,
            correlation=likely(chance, known, ["nobody"]),
            status=chance.one(("completed", "completed", "failed", "progress")),  # pyright: ignore[reportArgumentType]
            payload=chance.one((None, 1)),
            message=chance.one((None, "so far")),
        )
    task, attempt = _task(chance, world, able=frozenset({"claimed"}))
    flow = world.flows.get(task)
    now = 0 if flow is None else flow.revision
    revision = likely(chance, [now], [now + 1, max(now - 1, 0)])
    name = chance.one(("a", "b", "c"))
    if happens(chance, 1, 6):
        return _child(chance, world, task, attempt or 1, revision, name)
    kinds = (("step", "done"), ("step", "faulted"), ("response", "open"), ("response", "open"))
    kind, status = chance.one((*kinds, ("response", "faulted")))
    return Checkpoint(
        task=task,
        attempt=attempt or 1,
        revision=revision,
        name=name,
        kind=kind,  # pyright: ignore[reportArgumentType]
        status=status,  # pyright: ignore[reportArgumentType]
        result=chance.one((None, 1)),
        message="no ink" if status == "faulted" else None,
        correlation=f"{task}.{now}" if status == "open" else "",
        timeout=chance.one((None, "1h")) if status == "open" else None,
        on_lost=chance.one(("resume", "fail", "keep")),  # pyright: ignore[reportArgumentType]
    )


def _child(
    chance: Chance, world: World, task: int, attempt: int, revision: int, name: str
) -> AwaitChild:
    """A child of a routine; most often of a workflow that its state declares."""
    found = world.tasks.get(task)
    declared = () if found is None else _declared(world, found)
    return AwaitChild(
        task=task,
        attempt=attempt,
        revision=revision,
        name=name,
        workflow=likely(chance, declared, ["c0", "c3", "m", "nothing"]),
        input=likely(chance, CONTEXTS, ODD_CONTEXTS) or {},
        id=likely(chance, [None, None, f"K{len(world.tokens)}"], ["T", "k3", "K4", "K 5"]),
        fail_on_failure=happens(chance, 1, 2),
    )


def _family_matter(chance: Chance, world: World) -> Command:
    """A routine begins a child, or comes to wait for the one that it has; another step where neither can be."""
    claimed = [task for task in world.tasks.values() if task.status == "claimed"]
    opened = {step.task: step for step in world.steps.values() if step.status == "open"}
    able = [task for task in claimed if task.id not in opened and _declared(world, task)]
    asking = [task for task in claimed if task.id in opened and opened[task.id].kind == "child"]
    if asking and happens(chance, 3, 4):
        task = chance.one(asking)
        names = (opened[task.id].name,)
        return Report(task=task.id, kind="waiting", supervisor=task.claimed_by, awaiting=names)
    if not able:
        return random_step(chance, world)
    task = chance.one(able)
    flow = world.flows.get(task.id)
    revision = 0 if flow is None else flow.revision
    name = f"c{revision}"
    return _child(chance, world, task.id, task.attempt, revision, name)


def _declared(world: World, task: Task) -> Sequence[str]:
    return world.rules.state(world.tokens[task.token].workflow, task.state).children


def random_report(chance: Chance, world: World) -> Report:
    """A report; most often the task is worked on, its attempt is right and its event is emitted."""
    task, attempt = _task(chance, world)
    found = world.tasks.get(task)
    holder = None if found is None else found.claimed_by
    emits: Sequence[str] = ()
    if found is not None:
        emits = world.rules.state(world.tokens[found.token].workflow, found.state).emits
    event = likely(chance, emits, ODD_EVENTS)
    kind = chance.one(("event", "event", "event", "waiting", "waiting", "failed"))
    names = [holder] if kind == "waiting" else [None, holder]
    most = (0, 1, 1, 2) if kind == "waiting" else (0, 0, 1, 2)
    return Report(
        task=task,
        kind=kind,  # pyright: ignore[reportArgumentType]
        event=event,
        payload=_payload(chance, event),
        error=chance.one(("", "no ink")),
        context=likely(chance, CONTEXTS, ODD_CONTEXTS),
        schedules=tuple(_schedule(chance) for _ in range(chance.one(most))),
        attempt=attempt,
        supervisor=likely(chance, names, [None, *SUPERVISORS]),
        id=_id(chance, "r"),
        awaiting=_awaiting(chance, world, task) if kind == "waiting" else (),
        final=kind == "failed" and happens(chance, 1, 4),
    )


def _awaiting(chance: Chance, world: World, task: int) -> tuple[str, ...]:
    """Steps of the task to wait for; mostly some if there are some."""
    names = [name for of, name in world.steps if of == task]
    return () if not names or happens(chance, 1, 3) else (likely(chance, names, ["nothing"]),)


def random_messages(chance: Chance, world: World) -> Messages:
    """A few messages of one task; most often the last one is a report, and now and then one was sent before."""
    some = range(chance.one(range(1, 4)))
    said: list[Message] = [_write(chance, world) for _ in some]
    said.append(random_report(chance, world))
    if happens(chance, 1, 4):
        said.insert(0, said.pop())
    task, attempt = said[0].task, said[0].attempt
    return Messages(
        task=task,
        said=tuple(msgspec.structs.replace(each, task=task, attempt=attempt) for each in said),
    )


def _id(chance: Chance, kind: str) -> str | None:
    """An id that a message of this kind may have had before; mostly none."""
    return f"{kind}{chance.one(range(3))}" if happens(chance, 1, 4) else None


def _write(chance: Chance, world: World) -> Note | SetMemory:
    """A line of progress, or a key of the memory."""
    task, attempt = _task(chance, world)
    if happens(chance, 1, 2):
        return Note(task=task, text="half done", attempt=attempt, id=_id(chance, "n"))
    values: list[Any] = [None, 1, {"a": []}]
    of = world.tasks[task].token if task in world.tasks else ""
    known = [key for token, _, key in world.memory if token == of]
    if known and happens(chance, 1, 2):
        values = [None]
    value, key = chance.one(values), likely(chance, known, ("x", "y"))
    return SetMemory(task=task, key=key, value=value, attempt=attempt, id=_id(chance, "m"))


def _fire(chance: Chance, world: World) -> Command:
    """An event; most often one that leads somewhere from where the token is."""
    name = likely(chance, _live(world) or list(world.tokens), [*world.tokens, "nobody"])
    token = world.tokens.get(name)
    known: list[str] = []
    if token is not None:
        flow = world.rules.flow(token.workflow)
        known = [event for event in EVENTS if flow.routes(token.state, event)]
    event = likely(chance, known, ODD_EVENTS)
    return Fire(name, event, _payload(chance, event), chance.one(KEYS))


def _payload(chance: Chance, event: str) -> Json | None:
    """What the event carries; seldom what it does not take."""
    fitting: Sequence[Json | None] = ({"n": 1}, {"n": 2}) if event == "e1" else (None, {})
    return likely(chance, fitting, PAYLOADS)


def _schedule(chance: Chance) -> Schedule:
    event = likely(chance, EVENTS, ODD_EVENTS)
    return Schedule(event, _payload(chance, event), chance.one(("30m", "1h", "3h")))


def _steering(chance: Chance, world: World) -> Command:
    """Pause, resume or, seldom, cancel."""
    tops = [token for token in _live(world) if world.tokens[token].parent is None]
    name = likely(chance, tops or list(world.tokens), [*world.tokens, "nobody"])
    if happens(chance, 1, 12):
        return Cancel(name)
    is_paused = name in world.tokens and world.tokens[name].status == "paused"
    return Resume(name) if is_paused != happens(chance, 1, 12) else Pause(name)


def _other(chance: Chance, world: World) -> Command:
    """Notes, memory, tasks that are given back, and what the clock may find too late."""
    task, attempt = _task(chance, world)
    match chance.one(range(5)):
        case 0 | 1:
            return _write(chance, world)
        case 2:
            supervisor = chance.one(SUPERVISORS)
            return Release(task=task, supervisor=supervisor, attempt=attempt)
        case 3:
            return EndLease(task)
        case _:
            timer = likely(chance, list(world.timers), [999])
            token = world.timers[timer].token if timer in world.timers else chance.one(IDS)
            return FireTimer(timer, token)


def _task(
    chance: Chance, world: World, *, able: frozenset[str] = WORKED_TASK
) -> tuple[int, int | None]:
    """A task and an attempt of it; most often one that is worked on, and the attempt that counts."""
    worked = [task.id for task in world.tasks.values() if task.status in able]
    task = likely(chance, worked or list(world.tasks), [*world.tasks, 999])
    now = world.tasks[task].attempt if task in world.tasks else 1
    return task, likely(chance, [None, now or 1], [max(now - 1, 1), now + 1])


def _live(world: World) -> list[str]:
    return [token.token for token in world.tokens.values() if token.status in LIVE_TOKEN]
