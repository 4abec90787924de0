"""Children that end as they start, and other graphs that go round in circles: a decision always ends."""

from __future__ import annotations

import pytest

from stateous.engine.answers import Started
from stateous.engine.rules import MOST_JOINS
from stateous.model.names import MOST_CHILDREN
from stateous.model.refusals import InvalidContext
from tests.engine.graphs import Json, Way, ending_at_once, flow, main, working
from tests.engine.world import World

HERE: Way = ("__start__", "p")
AGAIN: Way = ("p", "p", "joined")


def started(states: Json, ways: list[Way], **children: Json) -> World:
    """A world in which a token `T` was started."""
    world = World(main(states, ways, children=children))
    assert isinstance(world.start("T"), Started)
    world.check_invariants()
    return world


@pytest.mark.parametrize("target", ["__end__", "t"])
def test_a_child_that_meets_a_join_of_any_as_it_starts_ends_the_list(target: str) -> None:
    states: Json = {"p": {"parallel": ["work", "once", "more"], "join": "any"}, "t": {"emits": []}}
    ways: list[Way] = [HERE, ("p", target, "joined")]
    world = started(states, ways, work=working(), once=ending_at_once(), more=working())
    branches = [data["workflow"] for kind, data in world.entries("T") if kind == "branch_started"]
    assert branches == ["work", "once"]
    assert world.tokens["T.p.1.work"].status == "cancelled"
    assert "T.p.1.more" not in world.tokens
    assert world.tokens["T"].status == ("completed" if target == "__end__" else "active")


def test_the_list_ends_too_when_the_parent_is_moved_to_the_same_state() -> None:
    states: Json = {"p": {"parallel": ["once", "work"], "join": "any"}}
    ways: list[Way] = [
        HERE,
        ("p", "p", "joined", "count('joined') < 3"),
        ("p", "__end__", "joined"),
    ]
    world = started(states, ways, once=ending_at_once(), work=working())
    assert world.tokens["T"].status == "completed"
    assert world.tokens["T"].visits == {"p": 3}
    assert not any(token.endswith("work") for token in world.tokens)


def test_a_join_of_all_whose_children_all_end_as_they_start_is_met_by_the_last() -> None:
    states: Json = {"p": {"parallel": ["a", "b", "c"]}}
    once = ending_at_once()
    world = started(states, [HERE, ("p", "__end__", "joined")], a=once, b=once, c=once)
    assert world.kinds("T")[2:] == [
        "entered",
        "branch_started",
        "branch_started",
        "branch_started",
        "event_accepted",
        "completed",
    ]


def test_a_branch_that_ended_at_start_names_no_state_and_no_payload() -> None:
    states: Json = {"p": {"parallel": ["c"]}, "t": {"emits": []}}
    ways: list[Way] = [HERE, ("p", "t", "joined", "branches.all(final == '__start__')")]
    world = started(states, ways, c=ending_at_once())
    brought = world.tokens["T"].entered_by
    assert brought is not None
    assert brought.payload == {
        "branches": [
            {
                "workflow": "c",
                "token": "T.p.1.c",
                "status": "completed",
                "final": "__start__",
                "payload": None,
            }
        ]
    }


def test_a_child_that_fails_as_it_starts_counts_as_ended() -> None:
    inner = flow({"in": {"parallel": ["once"]}}, [("__start__", "in")])
    states: Json = {"p": {"parallel": ["inner"]}, "t": {"emits": []}}
    ways: list[Way] = [HERE, ("p", "t", "joined", "branches.all(status == 'failed')")]
    world = started(states, ways, inner=inner, once=ending_at_once())
    assert world.tokens["T"].state == "t"


def test_a_cycle_of_joins_that_no_work_holds_up_fails_the_token() -> None:
    world = started({"p": {"parallel": ["once"]}}, [HERE, AGAIN], once=ending_at_once())
    assert world.tokens["T"].status == "failed"
    assert world.tokens["T"].visit == MOST_JOINS + 1
    assert "does not come to rest" in world.entries("T")[-1][1]["reason"]


def test_a_cycle_through_two_states_fails_the_token_too() -> None:
    states: Json = {"p": {"parallel": ["once"]}, "q": {"parallel": ["once"]}}
    ways: list[Way] = [HERE, ("p", "q", "joined"), ("q", "p", "joined")]
    world = started(states, ways, once=ending_at_once())
    assert world.tokens["T"].status == "failed"


def test_a_cycle_that_ends_by_itself_is_let_through() -> None:
    ways: list[Way] = [
        HERE,
        ("p", "p", "joined", f"count('joined') <= {MOST_JOINS}"),
        ("p", "__end__", "joined"),
    ]
    world = started({"p": {"parallel": ["once"]}}, ways, once=ending_at_once())
    assert world.tokens["T"].status == "completed"
    assert world.tokens["T"].visit == MOST_JOINS + 1


def test_cycles_inside_cycles_end_before_they_multiply() -> None:
    def cycle(child: str) -> Json:
        return flow({"p": {"parallel": [child]}}, [HERE, AGAIN])

    children = {"a": cycle("b"), "b": cycle("c"), "c": cycle("once"), "once": ending_at_once()}
    world = started({"p": {"parallel": ["a"]}}, [HERE, AGAIN], **children)
    assert world.tokens["T"].status == "failed"
    assert len(world.tokens) < 3 * MOST_JOINS


def test_a_cycle_that_an_event_enters_fails_the_token_and_not_the_engine() -> None:
    states: Json = {"s": {"emits": []}, "p": {"parallel": ["once"]}}
    ways: list[Way] = [("__start__", "s"), ("s", "p", "go"), AGAIN]
    world = World(main(states, ways, events=["go"], children={"once": ending_at_once()}))
    world.start("T")
    world.fire("T", "go", key="k")
    assert world.tokens["T"].status == "failed"
    world.check_invariants()


def test_a_workflow_that_runs_itself_without_end_cannot_start() -> None:
    own = flow({"p": {"parallel": ["own"]}}, [HERE])
    world = World(main({"p": {"parallel": ["own"]}}, [HERE], children={"own": own}))
    assert isinstance(world.start("T"), InvalidContext)
    assert not world.tokens


def test_children_that_multiply_are_refused_before_they_fill_the_memory() -> None:
    children: Json = {"x": working(), "y": working()}
    for level in range(10):
        below = [f"a{level - 1}", f"b{level - 1}"] if level else ["x", "y"]
        children[f"a{level}"] = children[f"b{level}"] = flow({"p": {"parallel": below}}, [HERE])
    world = World(main({"p": {"parallel": ["a9", "b9"]}}, [HERE], children=children))
    answer = world.start("T")
    assert isinstance(answer, InvalidContext)
    assert str(MOST_CHILDREN) in answer.sentence


def test_a_state_may_start_many_children_with_few_questions_to_the_store() -> None:
    children = {f"c{number}": working() for number in range(500)}
    world = started({"p": {"parallel": list(children)}}, [HERE], **children)
    assert world.tokens["T"].children_open == 500
    assert world.needs <= 8
    before = world.needs
    for number in range(499):
        world.fire(f"T.p.1.c{number}", "done")
    assert world.needs == before, "no sibling is read before the last child ends"


def test_two_children_that_would_have_one_id_cannot_start() -> None:
    one = flow({"t": {"parallel": ["x"]}}, [("__start__", "t")])
    children = {"w": one, "w.t.1.x": working(), "x": working()}
    world = World(
        main({"s": {"parallel": ["w", "w.t.1.x"]}}, [("__start__", "s")], children=children)
    )
    assert isinstance(world.start("T"), InvalidContext)
    assert not world.tokens
    cased = {"w": working(), "W": working()}
    world = World(main({"s": {"parallel": ["w", "W"]}}, [("__start__", "s")], children=cased))
    assert isinstance(world.start("T"), InvalidContext)


@pytest.mark.parametrize("order", [["w.u.1.x", "w"], ["w", "w.u.1.x"]])
def test_an_id_that_the_same_decision_gives_to_another_child_is_taken(order: list[str]) -> None:
    # `w` leaves its parallel state at once for `u`, whose child would be called like its own sibling.
    one = flow(
        {"t": {"parallel": ["once"]}, "u": {"parallel": ["x"]}},
        [("__start__", "t"), ("t", "u", "joined")],
    )
    children = {"w.u.1.x": working(), "w": one, "x": working(), "once": ending_at_once()}
    world = started({"s": {"parallel": order}}, [("__start__", "s")], **children)
    assert world.tokens["T.s.1.w"].status == "failed"
    assert world.tokens["T.s.1.w.u.1.x"].parent == "T"
    assert world.tokens["T"].status == "active"
