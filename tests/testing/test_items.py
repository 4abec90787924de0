"""State logs in the testing kit: of one routine, of a workflow, of a handler that is far, and after crashes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from stateous import Acquired, Event, ItemRecord, Skipped, StateRef, on_state
from stateous.model.graph import parse_graph
from stateous.model.items import NO_REASON
from stateous.testing import CannotTest, Rehearsal, run_routine, run_routine_async
from stateous.testing.one_task import START_OF_TIME
from tests.testing.dispatching import GRAPH

REDIS = {"handler": "redis", "options": {"host": "far"}}


class sent(Event):  # noqa: N801 - as a contract names it
    name = "sent"


class passed_over(Event):  # noqa: N801
    name = "passed_over"


DISPATCH = StateRef("dispatch", emits=("sent", "passed_over"), state_log="built-in")


@on_state(DISPATCH)
def dispatch(ctx: Any) -> Any:
    with ctx.items.once("INV-1", "invoice") as item:
        item.result = ctx.token
    return sent if item.acquired else passed_over


@on_state(DISPATCH)
async def dispatch_async(ctx: Any) -> Any:
    done = await ctx.items.run("INV-1", "invoice", lambda: ctx.token)
    return passed_over if isinstance(done, Skipped) else sent


def known(**fields: Any) -> ItemRecord:
    return msgspec.structs.replace(ItemRecord(item="INV-1", entity="invoice"), **fields)


def kept(items: list[ItemRecord]) -> list[tuple[Any, ...]]:
    return [(each.item, each.entity, each.status, each.data, each.reason) for each in items]


def with_redis() -> Any:
    states = {**GRAPH["states"], "dispatch": {**GRAPH["states"]["dispatch"], "state_log": REDIS}}
    return parse_graph({**GRAPH, "states": states})


@pytest.mark.parametrize("routine", [dispatch, dispatch_async])
@pytest.mark.parametrize("given", [{}, {"workflow": GRAPH}, {"workflow": with_redis()}])
def test_what_a_routine_does_with_an_item_is_kept(routine: Any, given: Any) -> None:
    done = run_routine(routine, **given)
    assert done.error is None
    assert done.event == sent()
    assert kept(done.items) == [("INV-1", "invoice", "processed", "TOKEN-1", None)]
    again = run_routine(routine, items=done.items, token="TOKEN-2", **given)
    assert again.event == passed_over()
    assert kept(again.items) == kept(done.items)


@pytest.mark.parametrize("given", [{}, {"workflow": GRAPH}, {"workflow": with_redis()}])
def test_a_routine_meets_the_items_that_it_is_given(given: Any) -> None:
    told: dict[str, Acquired] = {}

    def looks(ctx: Any) -> Any:
        for name in "ABCD":
            told[name] = ctx.items.acquire(name, detail=True)
        ctx.items.set("C", data={"n": 1})
        return sent

    until = START_OF_TIME + timedelta(minutes=5)
    items = [
        ItemRecord(item="A", data=7),
        ItemRecord(item="B", status="processing", locked_until=until),
        ItemRecord(item="C", status="failed", reason="no paper"),
    ]
    done = run_routine(looks, state=DISPATCH, items=items, **given)
    assert done.error is None
    assert told == {
        "A": Acquired(outcome="done", status="processed", data=7),
        "B": Acquired(outcome="busy", until=until),
        "C": Acquired(outcome="acquired", reason="no paper"),
        "D": Acquired(outcome="acquired"),
    }
    assert kept(done.items) == [
        ("A", "", "processed", 7, None),
        ("B", "", "processing", None, None),
        ("C", "", "processed", {"n": 1}, None),
        ("D", "", "failed", None, "the attempt ended"),  # it was left open
    ]


@pytest.mark.parametrize("given", [{}, {"workflow": GRAPH}])
def test_what_failed_without_a_word_has_the_reason_that_a_control_plane_gives(given: Any) -> None:
    def fails(ctx: Any) -> Any:
        ctx.items.acquire(["A", "B"])
        ctx.items.release_as_failed("A")
        ctx.items.set("B", status="failed")
        return sent

    done = run_routine(fails, state=DISPATCH, **given)
    assert done.error is None
    assert [each.reason for each in done.items] == [NO_REASON] * 2


async def test_on_a_loop_it_is_the_same() -> None:
    done = await run_routine_async(dispatch_async)
    assert kept(done.items) == [("INV-1", "invoice", "processed", "TOKEN-1", None)]
    assert (await run_routine_async(dispatch)).event == sent()


def test_a_state_without_a_log_keeps_nothing() -> None:
    state = StateRef("dispatch", emits=("sent", "passed_over"))
    done = run_routine(dispatch, state=state)
    assert (done.event, done.items) == (sent(), [])
    with pytest.raises(CannotTest, match="the state 'thank' has no state log"):
        run_routine(print, state="thank", workflow=GRAPH, items=[known()])
    with pytest.raises(CannotTest, match="items are given as records"):
        run_routine(dispatch, items=["INV-1"])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]


def test_a_response_within_a_block_keeps_the_lock() -> None:
    def asks(ctx: Any) -> Any:
        with ctx.items.once("INV-1") as item:
            assert item.acquired
            item.result = ctx.respond("person", print)
        return sent

    each: list[Any] = [{}, {"workflow": GRAPH}]
    for given in each:
        waiting = run_routine(asks, state=DISPATCH, **given)
        assert (waiting.awaits, waiting.items[0].status) == ("person", "processing")
        done = run_routine(asks, state=DISPATCH, responses={"person": 7}, **given)
        assert kept(done.items) == [("INV-1", "", "processed", 7, None)]


# -- a workflow ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("graph", [GRAPH, with_redis()])
@pytest.mark.parametrize("routine", [dispatch, dispatch_async])
def test_of_two_tokens_one_does_the_work(graph: Any, routine: Any) -> None:
    world = Rehearsal(graph, routines=[routine])
    one, two = world.start("A"), world.start("B")
    world.run()
    assert (one.state, two.state) == ("archive", "thank")
    assert kept(world.items) == [("INV-1", "invoice", "processed", "A", None)]


def test_a_worker_that_is_killed_before_its_report_has_done_the_work() -> None:
    world = Rehearsal(GRAPH, routines=[dispatch], lease_for="30s")
    token = world.start("A")
    world.crash_after("dispatch")
    world.run()
    assert token.state == "thank"  # the second attempt passed it over
    assert kept(world.items) == [("INV-1", "invoice", "processed", "A", None)]
    told = [entry.kind for entry in token.history if entry.kind.startswith("item_")]
    assert told == ["item_acquired", "item_processed"]


def test_a_worker_that_is_killed_with_a_lock_leaves_it_to_the_next_attempt() -> None:
    calls: list[int] = []

    @on_state(DISPATCH)
    def steps(ctx: Any) -> Any:
        with ctx.items.once("INV-1") as item:
            if item.acquired:
                ctx.step("send", lambda: calls.append(ctx.attempt))
        return sent if item.acquired else passed_over

    world = Rehearsal(GRAPH, routines=[steps])
    token = world.start("A")
    world.crash_after("dispatch", step="send")
    world.run()
    assert token.state == "archive"
    assert calls == [1]
    assert kept(world.items) == [("INV-1", "", "processed", None, None)]


def test_items_are_forgotten_when_their_time_is_over() -> None:
    world = Rehearsal(GRAPH, routines=[dispatch])
    world.start("A")
    world.run()
    world.advance("121s")
    assert kept(world.items) == [("INV-1", "invoice", "expired", None, None)]
    token = world.start("B")
    world.run()
    assert token.state == "archive"
