"""A rehearsal writes the history that a real supervisor and a real control plane write, whatever a routine does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stateous import Context, Event
from stateous.client import AsyncClient
from stateous.testing import Rehearsal, run_routine
from stateous.testing.trials import SUPERVISOR, routine_for
from tests.client.planes import GRAPH, serving
from tests.databases import new_database
from tests.supervisor.running import STATES, nudged, reviewed, submitted, supervising


def writes(ctx: Context) -> object:
    ctx.note("  begun  ")
    ctx.note("a NUL \0 and half of a pair \ud800")
    ctx.memory["page"] = {"n": 2**70}
    ctx["title"] = f"{ctx['title']}!"
    return reviewed(approved=False) if ctx.state == "review" else submitted


def raises(ctx: Context) -> object:
    ctx["title"] = "half"
    ctx.memory["got to"] = ctx.attempt
    raise RuntimeError("no paper") from KeyError("paper")


def leaves(_: Context) -> object:
    raise SystemExit(3)


def waits(ctx: Context) -> object:
    ctx.schedule(nudged, after="2h")
    ctx["title"] = None
    ctx["title"] = "waits"


def breaks_the_context(ctx: Context) -> object:
    ctx["title"] = 7
    return None


def breaks_a_limit(ctx: Context) -> object:
    ctx["title"] = "x" * 2**20
    return None


def schedules_nothing_known(ctx: Context) -> object:
    ctx.schedule(type("odd", (Event,), {"name": "odd"}), after="1h")
    return None


def notes_too_much(ctx: Context) -> object:
    ctx.note("x" * 501)
    return None


def forgets(ctx: Context) -> object:
    ctx.memory["a"] = 1
    del ctx.memory["a"]
    ctx.memory["b"] = None
    return None


def remembers_what_nobody_keeps(ctx: Context) -> object:
    ctx.memory["kept"] = "a"
    ctx.memory["lost"] = "a\0"
    return None


ENDS: dict[str, Callable[[Context], object]] = {
    "writes": writes,
    "raises": raises,
    "leaves": leaves,
    "waits": waits,
    "breaks-the-context": breaks_the_context,
    "breaks-a-limit": breaks_a_limit,
    "schedules-nothing-known": schedules_nothing_known,
    "notes-too-much": notes_too_much,
    "forgets": forgets,
    "remembers-what-nobody-keeps": remembers_what_nobody_keeps,
    "says-a-word": lambda _: "reviewed",
    "emits-what-it-cannot": lambda _: nudged(),
    "a-class-without-payload": lambda _: reviewed,
    "breaks-the-payload": lambda _: reviewed({"approved": 1}),
    "no-json": lambda _: reviewed({"approved": {1}}),
    "approves": lambda _: reviewed(approved=True),
    "sends-it-back": lambda _: reviewed(approved=False),
}


def draft(ctx: Context) -> object:
    """Ends as the token's name says; of those that are about the review it is done at its first visit."""
    place, _, end = ctx.token.partition(".")
    if place == "review":
        return submitted if ctx.visit == 1 else None
    return ENDS[end](ctx)


async def review(ctx: Context) -> object:
    place, _, end = ctx.token.partition(".")
    return ENDS[end](ctx) if place == "review" else None


TOKENS = [f"{place}.{end}" for place in ("draft", "review") for end in ENDS]


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
async def test_each_end_leaves_the_same_history(tmp_path: Path) -> None:
    world = Rehearsal(GRAPH, stubs={"draft": draft, "review": review})
    rehearsed = [world.start(token, {"title": "x"}) for token in TOKENS]
    await world.run_async()
    histories = {token.token: told(token.history) for token in rehearsed}
    attempts = sum(kind == "task_claimed" for told in histories.values() for kind, _ in told)
    assert attempts > 2 * len(TOKENS) - 10
    with new_database("sqlite", tmp_path) as database:
        async with serving(database) as url, AsyncClient(url) as client:
            for token in TOKENS:
                await client.start(token, {"title": "x"})
            routines = {
                "draft": routine_for(draft, STATES["draft"]),
                "review": routine_for(review, STATES["review"]),
            }
            # Under the kit's name: a report that is too large says how large it is, with the name in it.
            async with supervising(url, tmp_path, routines, name=SUPERVISOR, tasks=16) as box:
                for _ in range(attempts):
                    await box.says(": reported ")
            for token in rehearsed:
                assert told(await client.history(token.token)) == histories[token.token]
                shown = await client.get(token.token)
                assert (shown.state, shown.status, shown.visit) == (
                    token.state,
                    token.status,
                    token.visit,
                )
                assert shown.context == token.context


@pytest.mark.parametrize("end", ENDS)
def test_a_routine_by_itself_ends_as_it_does_in_the_workflow(end: str) -> None:
    world = Rehearsal(GRAPH, stubs={"draft": [submitted, None], "review": ENDS[end]})
    token = world.start("T", {"title": "x"})
    world.run()
    history = told(token.history)
    done = run_routine(ENDS[end], state=STATES["review"], context={"title": "x"}, workflow=GRAPH)
    failures = [data["error"] for kind, data in history if kind == "task_failed"]
    assert failures == ([] if done.error is None else [done.error])
    assert done.notes == token.notes
    assert done.waits == (token.waits and token.state == "review")
    assert (done.event is None) == ("task_done" not in [kind for kind, _ in history[7:]])
    assert done.context == token.context


def told(entries: list[Any]) -> list[tuple[str, Any]]:
    """Kind and data of each entry, without what is told apart by place and time."""
    odd = {"supervisor": None, "task": None, "due_at": None}
    return [
        (entry.kind, {key: odd.get(key, value) for key, value in entry.data.items()})
        for entry in entries
    ]
