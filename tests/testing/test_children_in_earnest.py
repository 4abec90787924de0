"""A rehearsal of routines that run children writes the histories that a real supervisor and control plane write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stateous import ChildIdTaken, Context, StateRef
from stateous.client import AsyncClient
from stateous.testing import Rehearsal, run_routine
from stateous.testing.trials import SUPERVISOR, routine_for
from tests.client.planes import serving
from tests.databases import new_database
from tests.engine.graphs import Json, ending_at_once, flow, main
from tests.supervisor.running import submitted, supervising
from tests.testing.test_as_in_earnest import told

AUDIT = flow(
    {"look": {"emits": ["submitted"]}},
    [("__start__", "look"), ("look", "__end__", "submitted")],
    events=["submitted"],
    context="Audit",
)
SENDS = flow(
    {"send": {"emits": ["submitted"], "children": ["audit"]}},
    [("__start__", "send"), ("send", "__end__", "submitted")],
    events=["submitted"],
)
GRAPH = main(
    {
        "draft": {"emits": ["submitted"], "children": ["audit", "quick", "sends"]},
        "stuck": {"emits": []},
    },
    [("__start__", "draft"), ("draft", "__end__", "submitted"), ("draft", "stuck", "error")],
    events=["submitted"],
    schemas={
        "Audit": {
            "type": "object",
            "properties": {"of": {"type": "string"}, "depth": {"type": "integer", "default": 1}},
            "required": ["of"],
        }
    },
    children={"audit": AUDIT, "quick": ending_at_once(), "sends": SENDS, "other": AUDIT},
)
DRAFT = StateRef("draft", emits=("submitted",))
GOOD: Json = {"of": "good"}
BAD: Json = {"of": "bad"}


def look(ctx: Context) -> object:
    if ctx["of"] == "bad":
        raise ValueError("no books")
    ctx["depth"] += 1
    return submitted


def send(ctx: Context) -> object:
    return submitted if ctx.child("audit", "audit", GOOD).context["depth"] == 2 else None


def one(ctx: Context) -> object:
    ctx["found"] = ctx.child("audit", "audit", GOOD).context["depth"]
    return submitted


def several(ctx: Context) -> object:
    for number in range(3):
        ctx[f"found {number}"] = ctx.child(f"audit-{number}", "audit", GOOD).token
        ctx.step(f"step {number}", ctx.token.upper)
    return submitted


def deep(ctx: Context) -> object:
    ctx["found"] = ctx.child("sends", "sends").status
    return submitted


def bad(ctx: Context) -> object:
    ctx.child("audit", "audit", BAD)
    raise AssertionError("it is not run on")


def asks(ctx: Context) -> object:
    result = ctx.child("audit", "audit", BAD, fail_on_failure=False)
    ctx["found"] = [result.status, result.reason, result.final]
    return submitted


def takes_one_twice(ctx: Context) -> object:
    ctx.child("first", "audit", GOOD, id=f"{ctx.token}-1")
    try:
        ctx.child("second", "audit", GOOD, id=f"{ctx.token}-1")
    except ChildIdTaken as problem:
        ctx["found"] = str(problem)
    return submitted


def goes_on(ctx: Context) -> object:
    try:
        ctx.child("audit", "audit", GOOD)
    except BaseException:  # noqa: BLE001 - as a bare except
        return submitted


ENDS: dict[str, Callable[[Context], object]] = {
    "one": one,
    "several": several,
    "deep": deep,
    "bad": bad,
    "asks": asks,
    "takes-one-twice": takes_one_twice,
    "goes-on": goes_on,
    "quick": lambda ctx: submitted if ctx.child("q", "quick", {"a": 1}).context else None,
    "not-declared": lambda ctx: ctx.child("audit", "other", GOOD),
    "not-known": lambda ctx: ctx.child("audit", "nothing", GOOD),
    "does-not-fit": lambda ctx: ctx.child("audit", "audit", {"of": 1}),
    "named-oddly": lambda ctx: ctx.child("to a@b", "audit", GOOD),
    "named-as-the-token": lambda ctx: ctx.child("audit", "audit", GOOD, id=ctx.token),
    "no-object": lambda ctx: ctx.child("audit", "audit", 7),
}


def draft(ctx: Context) -> object:
    """Ends as the token's name says."""
    return ENDS[ctx.token](ctx)


TOKENS = [end for end in ENDS if end != "goes-on"]
"""Not one whose child may be claimed, or not, before it is cancelled."""


async def test_each_end_leaves_the_same_histories(tmp_path: Path) -> None:
    functions: dict[str, Any] = {"draft": draft, "audit/look": look, "sends/send": send}
    world = Rehearsal(GRAPH, stubs=functions)
    for token in TOKENS:
        world.start(token)
    await world.run_async()
    histories = {token.token: told(token.history) for token in world.tokens}
    attempts = sum(kind == "task_claimed" for each in histories.values() for kind, _ in each)
    assert len(histories) > len(ENDS)
    with new_database("sqlite", tmp_path) as database:
        async with serving(database, graph=GRAPH) as url, AsyncClient(url) as client:
            for token in TOKENS:
                await client.start(token)
            routines = {
                state: routine_for(function, StateRef(state, emits=("submitted",)))
                for state, function in functions.items()
            }
            async with supervising(url, tmp_path, routines, name=SUPERVISOR, tasks=16) as box:
                for _ in range(attempts):
                    await box.says(": reported ")
            for token in world.tokens:
                assert told(await client.history(token.token)) == histories[token.token]
                shown = await client.get(token.token)
                assert (shown.status, shown.context) == (token.status, token.context)


ALONE: dict[str, Json] = {
    "one": {"audit": {**GOOD, "depth": 2}},
    "several": {f"audit-{number}": None for number in range(3)},
    "bad": {"audit": ValueError("no books")},
    "takes-one-twice": {"first": None},
    "quick": {"q": None},
}


@pytest.mark.parametrize("workflow", [None, GRAPH])
@pytest.mark.parametrize("end", [end for end in ENDS if end not in {"deep", "asks"}])
def test_a_routine_by_itself_ends_as_it_does_in_the_workflow(end: str, workflow: Any) -> None:
    if workflow is None and end in {"not-declared", "not-known", "does-not-fit"}:
        return  # who knows no workflow takes what can be sent
    world = Rehearsal(GRAPH, stubs={"draft": ENDS[end], "audit/look": look})
    token = world.start(end)
    world.run()
    more = {} if workflow is None else {"workflow": workflow}
    children = ALONE.get(end, {})
    done = run_routine(ENDS[end], state=DRAFT, token=end, children=children, **more)
    failures = [entry.data["error"] for entry in token.history if entry.kind == "task_failed"]
    if end == "bad":
        assert failures[0].startswith(f"the child '{end}.draft.1.audit' failed: 'look' failed")
        assert done.error == f"the child '{end}.draft.1.audit' failed: no books"
    else:
        assert failures == ([] if done.error is None else [done.error])
        assert done.context == token.context
    assert (done.event is None) == (token.status != "completed")
