"""A start (docs/http.md, docs/ledger.md): what a start writes, what it answers, and what it refuses without a trace."""

from __future__ import annotations

from datetime import timedelta

import pytest

from stateous.engine.answers import Started
from stateous.engine.commands import Start
from stateous.model.refusals import InvalidContext, InvalidTokenId
from tests.engine.graphs import ORDERS, Json, ending_at_once, main, parallel, working
from tests.engine.world import World


def test_a_start_is_written_event_by_event() -> None:
    world = World(ORDERS)
    world.start("ORDER-1", title="Ink")
    context: Json = {"title": "Ink", "size": 1, "tags": []}
    assert world.entries("ORDER-1") == [
        ("started", {"context": context}),
        ("event_accepted", {"event": "__started__", "payload": None, "state": "__start__"}),
        ("entered", {"state": "draft", "visit": 1}),
        ("task_queued", {"task": 1, "state": "draft"}),
    ]


def test_the_answer_is_the_new_token_and_says_that_it_is_new() -> None:
    world = World(ORDERS)
    answer = world.start("ORDER-1", title="Ink")
    assert isinstance(answer, Started)
    assert answer.created
    token = answer.token
    assert (token.token, token.state, token.visit, token.status) == (
        "ORDER-1",
        "draft",
        1,
        "active",
    )
    assert token.parent is None
    assert token.entered_at == world.now


def test_the_timeout_of_the_first_state_is_set_behind_its_task() -> None:
    states: Json = {"wait": {"emits": [], "timeout": "6h"}}
    world = World(main(states, [("__start__", "wait")]))
    world.start("T")
    assert world.entries("T")[-2:] == [
        ("task_queued", {"task": 1, "state": "wait"}),
        ("timer_set", {"event": "timeout", "due_at": world.now + timedelta(hours=6)}),
    ]


def test_a_token_that_exists_is_answered_as_it_is_and_its_context_is_not_looked_at() -> None:
    world = World(ORDERS)
    world.start("ORDER-1", title="Ink")
    before = world.rows()
    answer = world.start("ORDER-1", title=7)
    assert isinstance(answer, Started)
    assert not answer.created
    assert answer.token.context["title"] == "Ink"
    assert world.rows() == before


def test_an_ended_token_is_answered_too() -> None:
    world = World(ORDERS)
    world.start("ORDER-1", title="Ink")
    world.tokens["ORDER-1"].status = "cancelled"
    answer = world.start("ORDER-1", title="Ink")
    assert isinstance(answer, Started)
    assert not answer.created


def test_the_id_of_a_child_is_answered_with_the_child() -> None:
    world = World(parallel())
    world.start("C", title="x")
    world.report(world.work("work").task, "ready")
    answer = world.start("C.reviews.1.style")
    assert isinstance(answer, Started)
    assert not answer.created
    assert answer.token.parent == "C"


def test_an_id_that_differs_only_in_case_is_refused_whatever_the_context() -> None:
    world = World(ORDERS)
    world.start("ORDER-1", title="Ink")
    before = world.rows()
    assert isinstance(world.start("order-1", title=7), InvalidTokenId)
    assert world.rows() == before


@pytest.mark.parametrize(
    "name", ["", "-a", ".a", "_a", "a b", "a/b", "a\n", "\n", "é", "aé", "a" * 129, "٣"]
)
def test_an_id_that_breaks_the_pattern_is_refused_whatever_the_context(name: str) -> None:
    world = World(ORDERS)
    assert isinstance(world.start(name, title=7), InvalidTokenId)
    assert not world.tokens


@pytest.mark.parametrize("name", ["a", "7", "A.b_c-d", "a" * 128, "__".join("ab")])
def test_an_id_that_keeps_the_pattern_is_taken(name: str) -> None:
    world = World(ORDERS)
    assert isinstance(world.start(name, title="Ink"), Started)


def test_of_two_starts_of_one_id_in_one_batch_the_first_makes_it() -> None:
    world = World(ORDERS)
    starts = [Start("ORDER-1", {"title": str(number)}) for number in range(5)]
    answers = world.do_together([*starts, Start("order-1", {"title": "x"})])
    made = [answer.created for answer in answers if isinstance(answer, Started)]
    assert made == [True, False, False, False, False]
    assert isinstance(answers[-1], InvalidTokenId)
    assert world.tokens["ORDER-1"].context["title"] == "0"


def test_defaults_fill_what_is_absent_at_the_top_and_nothing_else() -> None:
    schema: Json = {
        "type": "object",
        "properties": {
            "size": {"default": 1},
            "note": {"default": "none"},
            "inner": {"type": "object", "properties": {"deep": {"default": 1}}},
        },
    }
    graph = main({"s": {"emits": []}}, [("__start__", "s")], context="M", schemas={"M": schema})
    world = World(graph)
    world.start("T", note=None, inner={}, other=1)
    filled: Json = {"size": 1, "note": None, "inner": {}, "other": 1}
    assert world.tokens["T"].context == filled
    assert world.entries("T")[0] == ("started", {"context": filled})


def test_each_token_has_a_default_of_its_own() -> None:
    world = World(ORDERS)
    world.start("A", title="x")
    world.start("B", title="x")
    assert world.tokens["A"].context["tags"] is not world.tokens["B"].context["tags"]


@pytest.mark.parametrize("context", [{}, {"title": 7}, {"title": "x", "size": "big"}])
def test_a_context_that_breaks_its_model_is_refused_and_leaves_nothing(
    context: Json,
) -> None:
    world = World(ORDERS)
    assert isinstance(world.start("ORDER-1", **context), InvalidContext)
    assert not world.tokens
    assert not world.ledger


def test_without_a_model_any_object_is_a_context() -> None:
    world = World(main({"s": {"emits": []}}, [("__start__", "s")]))
    odd: Json = {"": None, "big": 10**400, "deep": [[{"a": 1.0}]]}
    world.start("T", **odd)
    assert world.tokens["T"].context == odd


@pytest.mark.parametrize(
    ("size", "state"), [(1, "small"), (9, "large"), (5, "first"), (None, "first")]
)
def test_start_takes_the_guard_that_holds_else_the_first_transition_without_one(
    size: int | None, state: str
) -> None:
    ways = [
        ("__start__", "first"),
        ("__start__", "second"),
        ("__start__", "small", None, "ctx['size'] != null and ctx['size'] < 3"),
        ("__start__", "large", None, "ctx['size'] > 7"),
    ]
    names = ("first", "second", "small", "large")
    world = World(main({name: {"emits": []} for name in names}, ways))
    world.start("T", size=size)
    assert world.tokens["T"].state == state


def test_start_is_refused_when_no_guard_holds() -> None:
    world = World(main({"s": {"emits": []}}, [("__start__", "s", None, "ctx['go']")]))
    assert isinstance(world.start("T"), InvalidContext)
    assert not world.tokens


def test_start_is_refused_when_two_guards_hold_though_a_third_way_has_none() -> None:
    ways = [
        ("__start__", "s", None, "ctx['a']"),
        ("__start__", "s", None, "ctx['b']"),
        ("__start__", "s"),
    ]
    world = World(main({"s": {"emits": []}}, ways))
    assert isinstance(world.start("T", a=1, b=1), InvalidContext)
    assert not world.tokens


def test_the_guards_of_start_read_the_defaults() -> None:
    schema: Json = {"type": "object", "properties": {"go": {"default": True}}}
    ways = [("__start__", "s", None, "ctx['go']")]
    world = World(main({"s": {"emits": []}}, ways, context="M", schemas={"M": schema}))
    assert isinstance(world.start("T"), Started)


def test_a_token_that_ends_as_it_starts_stays_at_start() -> None:
    world = World(main({}, [("__start__", "__end__")]))
    world.start("T")
    token = world.tokens["T"]
    assert (token.state, token.visit, token.status) == ("__start__", 0, "completed")
    assert world.kinds("T") == ["started", "event_accepted", "completed"]
    assert world.entries("T")[-1] == ("completed", {})


def test_a_parallel_first_state_starts_its_children_in_place_of_a_task() -> None:
    states: Json = {"both": {"parallel": ["a", "b"], "timeout": "1h"}}
    world = World(main(states, [("__start__", "both")], children={"a": working(), "b": working()}))
    world.start("T")
    assert world.kinds("T")[2:] == ["entered", "timer_set", "branch_started", "branch_started"]
    assert world.tokens["T"].task is None


@pytest.mark.parametrize(
    "child",
    [
        {**working(), "context": "Needs"},
        working(start=("__start__", "do", None, "ctx['never']")),
    ],
    ids=["its context breaks its model", "its own START takes no way"],
)
def test_a_start_whose_child_cannot_start_is_refused_and_leaves_nothing(
    child: Json,
) -> None:
    states: Json = {"both": {"parallel": ["fine", "child"]}}
    schemas: Json = {"Needs": {"type": "object", "required": ["title"]}}
    children = {"fine": working(), "child": child}
    world = World(main(states, [("__start__", "both")], schemas=schemas, children=children))
    assert isinstance(world.start("T", title="x"), InvalidContext)
    assert not world.tokens


def test_a_start_whose_childs_id_would_be_too_long_is_refused() -> None:
    world = World(main({"p": {"parallel": ["c"]}}, [("__start__", "p")], children={"c": working()}))
    assert len(".p.1.c") == 6
    assert isinstance(world.start("a" * 123), InvalidContext)
    assert isinstance(world.start("a" * 122), Started)


def test_a_start_whose_childs_id_is_taken_in_another_case_is_refused() -> None:
    world = World(main({"p": {"parallel": ["c"]}}, [("__start__", "p")], children={"c": working()}))
    world.start("t.P.1.C")
    before = world.rows()
    assert isinstance(world.start("T"), InvalidContext)
    assert world.rows() == before


def test_a_child_that_ends_as_it_starts_completes_its_parents_join_at_once() -> None:
    ways = [("__start__", "p"), ("p", "__end__", "joined")]
    world = World(main({"p": {"parallel": ["c"]}}, ways, children={"c": ending_at_once()}))
    world.start("T")
    assert world.tokens["T"].status == "completed"
    assert world.kinds("T")[2:] == ["entered", "branch_started", "event_accepted", "completed"]
    world.check_invariants()
