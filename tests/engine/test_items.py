"""Business items as the engine decides them: each call on each status, as the life cycle has it, and what it costs."""

from __future__ import annotations

from typing import Any

import pytest

from stateous.engine.answers import ItemsTold
from stateous.engine.commands import (
    Cancel,
    ExpireItems,
    ItemAsked,
    Items,
    Release,
    Report,
    ResetItem,
)
from stateous.engine.lifecycles import DONE_ITEM, ITEM
from stateous.model.refusals import ItemBusy, ItemMoveNotAllowed, ItemNotFound, Refusal
from tests.engine.graphs import parallel, way
from tests.engine.world import World

GRAPH: dict[str, Any] = {
    "stateous": 1,
    "workflow": "m",
    "states": {
        "work": {
            "emits": ["done"],
            "retries": 3,
            "state_log": {"options": {"retention": "90d", "lock": "1h"}},
        }
    },
    "events": {"done": {}},
    "transitions": [way("__start__", "work"), way("work", "__end__", "done")],
    "schemas": {},
}
KEY = (4, "work", "", "i")
CALLS: dict[str, tuple[Any, Any]] = {
    "acquire": ("acquire", "processing"),
    "processed": ("set", "processed"),
    "failed": ("set", "failed"),
    "skipped": ("set", "skipped"),
    "release": ("release", "failed"),
    "upsert": ("upsert", "processed"),
}


@pytest.fixture
def world() -> World:
    """Two tokens, each with a task that is claimed: 1 and 2."""
    world = World(GRAPH)
    world.start("A")
    world.start("B")
    world.claim("work", supervisor="box", most=2)
    return world


def do(world: World, task: int, name: str, *, attempt: int = 1, data: str | None = None) -> Any:
    call, status = CALLS[name]
    item = ItemAsked("", "i", status, data)
    command = Items(task=task, attempt=attempt, call=call, scope=4, place="work", items=(item,))
    answer = world.do(command)
    return answer.items[0] if isinstance(answer, ItemsTold) else answer


def make(world: World, status: str) -> None:
    """The item is in this status by what task 1 did."""
    match status:
        case "processing":
            do(world, 1, "acquire")
        case "processed":
            do(world, 1, "upsert")
        case "failed":
            do(world, 1, "acquire")
            do(world, 1, "failed")
        case "skipped":
            do(world, 1, "skipped")
        case "expired":
            do(world, 1, "upsert")
            world.do(ExpireItems((KEY,), now=True))
        case _:
            assert status == "none"
    assert status == (world.items[KEY].status if KEY in world.items else "none")


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("status", [each for each in ITEM if each != "superseded"])
def test_another_task_does_what_the_life_cycle_allows_and_nothing_else(
    world: World, status: str, name: str
) -> None:
    make(world, status)
    before = world.moment()
    answer = do(world, 2, name)
    becomes = CALLS[name][1]
    if name == "acquire" and status in DONE_ITEM | {"processing"}:
        assert answer.outcome == ("busy" if status == "processing" else "done")
        assert world.moment() == before
    elif status == "processing":
        assert isinstance(answer, ItemBusy)
        assert world.moment() == before
    elif (status, name) == ("skipped", "skipped"):
        assert answer.status == "skipped"
        assert world.moment() == before
    elif (status, name) == ("processed", "upsert"):
        assert [each.status for each in world.item_changes][-2:] == ["superseded", "processed"]
    elif becomes in ITEM[status] and not (name == "processed" and status != "processing"):
        assert not isinstance(answer, Refusal)
        assert world.items[KEY].status == becomes
        assert world.items[KEY].task == 2
    else:
        assert isinstance(answer, ItemMoveNotAllowed)
        assert f"is {status}, and cannot become {becomes}" in answer.sentence
        assert world.moment() == before


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_comes_again_is_answered_as_the_first_was_and_changes_nothing(
    world: World, name: str
) -> None:
    if name in {"processed", "failed", "release"}:
        do(world, 1, "acquire")
    first = do(world, 1, name, data="1" if name in {"processed", "upsert"} else None)
    before = world.rows()
    again = do(world, 1, name, data="1" if name in {"processed", "upsert"} else None)
    assert again == first
    assert world.moment() == before


def test_another_result_than_the_first_is_refused_or_takes_its_place(world: World) -> None:
    do(world, 1, "acquire")
    do(world, 1, "processed", data="1")
    assert isinstance(do(world, 1, "processed", data="2"), ItemMoveNotAllowed)
    assert do(world, 1, "upsert", data="2").status == "processed"
    told = [(each.status, each.data) for each in world.item_changes]
    assert told == [
        ("processing", None),
        ("processed", "1"),
        ("superseded", None),
        ("processed", "2"),
    ]


def test_a_later_attempt_completes_what_a_waiting_one_has_kept(world: World) -> None:
    do(world, 1, "acquire")
    world.do(Report(task=1, kind="waiting", supervisor="box", attempt=1))
    world.do(Report(task=1, kind="failed", error="no ink"))
    assert world.items[KEY].status == "failed", "who fails from outside ends the wait"
    world.claim("work", supervisor="box")
    do(world, 1, "acquire", attempt=2)
    world.pass_time(3601)
    assert do(world, 1, "processed", attempt=2).status == "processed", "nobody took it meanwhile"


def test_an_operator_ends_a_lock_and_forgets_what_is_known(world: World) -> None:
    assert isinstance(world.do(ResetItem(KEY)), ItemNotFound)
    assert isinstance(world.do(ExpireItems((KEY,), now=True)), ItemNotFound)
    do(world, 1, "acquire")
    assert isinstance(world.do(ExpireItems((KEY,), now=True)), ItemMoveNotAllowed)
    world.do(ResetItem(KEY))
    assert (world.items[KEY].status, world.items[KEY].reason) == ("failed", "reset by an operator")
    assert isinstance(world.do(ResetItem(KEY)), ItemMoveNotAllowed)
    do(world, 2, "upsert", data="1")
    world.do(ExpireItems((KEY,), now=True))
    assert (world.items[KEY].status, world.items[KEY].data) == ("expired", None)
    assert do(world, 1, "acquire").outcome == "acquired"


def test_the_end_of_an_attempt_asks_for_items_only_if_it_has_some(world: World) -> None:
    needs = world.needs
    world.do(Report(task=2, kind="failed", error="no ink"))
    assert world.needs == needs
    do(world, 1, "acquire")
    assert world.tasks[1].has_items
    world.do(Release(task=1, supervisor="box"))
    assert world.needs == needs + 1
    assert not world.tasks[1].has_items
    world.claim("work", supervisor="box")
    world.do(Report(task=1, kind="event", event="done"))
    assert world.needs == needs + 1


def test_all_that_is_cancelled_at_once_asks_once_for_its_items() -> None:
    graph = parallel()
    for name in ("security", "style"):
        workflow = graph["workflows"][name]
        look = {**workflow["states"]["look"], "state_log": {"scope": "tenant"}}
        graph["workflows"][name] = {**workflow, "states": {"look": look}}
    world = World(graph)
    world.start("P")
    world.claim("work", supervisor="box")
    world.do(Report(task=1, kind="event", event="ready"))
    world.claim("security/look", "style/look", supervisor="box", most=2)
    tasks = [task.id for task in world.tasks.values() if task.status == "claimed"]
    for task in tasks:
        item = ItemAsked("", f"i{task}", "processing")
        place = world.rules.tenant
        world.do(Items(task=task, attempt=1, call="acquire", scope=1, place=place, items=(item,)))
    needs = world.needs
    world.do(Cancel("P"))
    assert [item.status for item in world.items.values()] == ["failed", "failed"]
    assert world.needs - needs == 2, "the children, then what all of them have locked"
