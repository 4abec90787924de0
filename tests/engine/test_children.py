"""Children of routines (docs/flows.md): begun once, awaited without a worker, and ended together with their step."""

from __future__ import annotations

from typing import Any

import pytest

from stateous.engine.answers import Checkpointed, Moved
from stateous.engine.commands import AwaitChild, Cancel, Checkpoint, Fire, Pause, Release, Resume
from stateous.model.refusals import (
    ChildIdTaken,
    ChildNotDeclared,
    InvalidContext,
    InvalidTokenId,
    StaleRevision,
    StepDoneAlready,
    StepOpen,
    TaskNotHeld,
)
from tests.engine.graphs import Json, Way, flow, main
from tests.engine.saying import fails, waits
from tests.engine.world import World

SCHEMAS: Json = {
    "Audit": {
        "type": "object",
        "properties": {"order": {"type": "string"}, "depth": {"type": "integer", "default": 1}},
        "required": ["order"],
    }
}
AUDIT = flow(
    {"look": {"emits": ["fine"], "retries": 0}},
    [("__start__", "look"), ("look", "__end__", "fine")],
    events=["fine", "stop"],
    context="Audit",
)
WAYS: list[Way] = [
    ("__start__", "ship"),
    ("ship", "__end__", "shipped"),
    ("ship", "ship", "anew"),
]
CHILD = "T.ship.1.audit"


def shop(*, ways: list[Way] | None = None, audit: Json = AUDIT, **more: Any) -> World:
    """A token `T` whose routine is at work in `ship`, which may run audits."""
    graph = main(
        {"ship": {"emits": ["shipped"], "retries": 1, "children": ["audit"], **more}, "rest": {"emits": []}},
        WAYS if ways is None else ways,
        events=["shipped", "anew"],
        schemas=SCHEMAS,
        children={"audit": audit, "other": AUDIT},
    )  # fmt: skip
    world = World(graph)
    world.start("T", card="4711")
    world.work("ship")
    return world


def begin(world: World, name: str = "audit", **fields: Any) -> Any:
    task = world.tokens["T"].task or 0
    known = world.flows.get(task)
    asked: dict[str, Any] = {
        "task": task,
        "attempt": world.tasks[task].attempt,
        "revision": 0 if known is None else known.revision,
        "workflow": "audit",
        "input": {"order": "T"},
    }
    return world.do(AwaitChild(name=name, **{**asked, **fields}))


def begun(world: World, **fields: Any) -> int:
    """The task of the parent, which waits for its child."""
    assert isinstance(begin(world, **fields), Checkpointed)
    task = world.tokens["T"].task or 0
    waits(world, task, awaiting=("audit",))
    return task


def end(world: World, event: str = "fine") -> None:
    world.report(world.work("audit/look").task, event)


# -- beginning ----------------------------------------------------------------------------------------


def test_a_child_is_begun_together_with_its_step() -> None:
    world = shop()
    before = len(world.ledger["T"])
    assert begin(world) == Checkpointed(1, child=CHILD)
    assert world.entries("T", after=before) == [
        ("child_awaited", {"task": 1, "step": "audit", "workflow": "audit", "token": CHILD})
    ]
    assert world.entries(CHILD)[0] == (
        "started",
        {"context": {"order": "T", "depth": 1}, "parent": "T"},
    )
    child = world.tokens[CHILD]
    assert (child.parent, child.root, child.workflow) == ("T", "T", "audit")
    step = world.steps[1, "audit"]
    assert (step.kind, step.status, step.child) == ("child", "open", CHILD)
    world.check_invariants()


def test_a_repeat_and_a_later_attempt_get_the_same_child() -> None:
    world = shop()
    begin(world)
    kept = world.rows()
    assert begin(world, revision=0) == Checkpointed(1, child=CHILD)
    assert begin(world, revision=1) == Checkpointed(1, child=CHILD)
    assert begin(world, revision=1, input={"order": "T"}, id=CHILD) == Checkpointed(1, child=CHILD)
    assert world.moment() == kept
    fails(world, 1)
    world.work("ship")
    assert begin(world) == Checkpointed(1, child=CHILD)
    assert isinstance(begin(world, revision=0), StaleRevision)
    assert isinstance(begin(world, revision=2), StaleRevision)


@pytest.mark.parametrize(
    "fields", [{"workflow": "other"}, {"input": {"order": "U"}}, {"input": {}}, {"id": "A-1"}]
)
def test_a_step_has_one_child_for_ever(fields: Json) -> None:
    world = shop(children=["audit", "other"])
    begin(world)
    kept = world.rows()
    answer = begin(world, **fields)
    assert isinstance(answer, ChildIdTaken)
    assert f"'{CHILD}'" in answer.sentence
    assert world.moment() == kept


def test_equal_inputs_are_those_that_json_calls_equal() -> None:
    world = shop()
    begin(world, input={"order": "T", "more": {"a": 1, "b": [2**70]}})
    assert isinstance(
        begin(world, input={"more": {"b": [2**70], "a": 1}, "order": "T"}), Checkpointed
    )
    for other in (1.0, True, "1", None):
        asked = {"order": "T", "more": {"a": other, "b": [2**70]}}
        assert isinstance(begin(world, input=asked), ChildIdTaken), other


def test_an_id_belongs_to_the_step_that_took_it_first() -> None:
    world = shop()
    world.start("U")
    kept = world.rows()
    for taken in ("U", "u", "T"):
        assert isinstance(begin(world, id=taken), ChildIdTaken), taken
    assert world.moment() == kept
    begun(world, id="A-1")
    end(world)
    world.work("ship")
    assert isinstance(begin(world, "second", id="A-1"), ChildIdTaken)
    assert isinstance(begin(world, "second", id="a-1"), ChildIdTaken)
    world.fire("T", "anew")
    world.claim("ship", most=2)
    assert isinstance(begin(world, id="A-1"), ChildIdTaken), "that of another visit"
    assert begin(world) == Checkpointed(1, child="T.ship.2.audit")


def test_what_cannot_be_begun_is_refused_and_leaves_nothing() -> None:
    world = shop()
    kept = world.rows()
    wrong: list[tuple[Json, type[Any], str]] = [
        ({"workflow": "other"}, ChildNotDeclared, "'other'"),
        ({"workflow": "nothing"}, ChildNotDeclared, "'nothing'"),
        ({"workflow": "m"}, ChildNotDeclared, "'m'"),
        ({"input": {}}, InvalidContext, "order"),
        ({"input": {"order": 1}}, InvalidContext, "order"),
        ({"id": "a b"}, InvalidTokenId, "'a b'"),
        ({"id": "x" * 129}, InvalidTokenId, "128"),
        ({"id": ""}, InvalidTokenId, "''"),
        ({"name": "to a@b"}, InvalidTokenId, "give it an id"),
        ({"name": "x" * 128}, InvalidTokenId, "give it an id"),
        ({"supervisor": "other"}, TaskNotHeld, "other"),
    ]
    for fields, refusal, said in wrong:
        answer = begin(world, **fields)
        assert isinstance(answer, refusal), fields
        assert said in answer.sentence
        assert world.moment() == kept


def test_a_state_with_a_name_that_no_id_has_can_name_its_child() -> None:
    world = shop()
    assert begin(world, "to a@b", id="A-1") == Checkpointed(1, child="A-1")


def test_one_thing_is_open_at_a_time() -> None:
    world = shop()
    begin(world)
    assert isinstance(begin(world, "second"), StepOpen)
    step = Checkpoint(task=1, attempt=1, revision=1, name="s", kind="step", status="done")
    assert isinstance(world.do(step), StepOpen)


def test_a_child_counts_among_those_that_are_started_at_once() -> None:
    kids = {f"k{n}": AUDIT for n in range(1000)}
    deep = flow(
        {"all": {"parallel": list(kids), "join": "all", "inputs": ["order"]}},
        [("__start__", "all"), ("all", "__end__", "joined")],
    )
    graph = main(
        {"ship": {"emits": [], "children": ["deep"]}},
        [("__start__", "ship")],
        schemas=SCHEMAS,
        children={"deep": deep, **kids},
    )
    world = World(graph)
    world.start("T")
    world.work("ship")
    answer = begin(world, workflow="deep")
    assert isinstance(answer, InvalidContext)
    assert "more than 1000 child tokens" in answer.sentence


def test_routines_that_run_ever_deeper_children_come_to_an_end() -> None:
    """A family is steered level by level: no graph file may make one that cannot be cancelled any more."""
    again = {**AUDIT, "states": {"look": {"emits": ["fine"], "children": ["audit"]}}}
    world, level, task = shop(audit=again), 0, 1
    while isinstance(
        answer := begin(world, "a", task=task, attempt=1, revision=0, id=f"K{level}"), Checkpointed
    ):
        waits(world, task, awaiting=("a",))
        task, level = world.work("audit/look").task, level + 1
    assert isinstance(answer, InvalidContext)
    assert answer.sentence.endswith("it would lie more than 100 tokens deep")
    assert level == 100
    for steered in (Pause("T"), Resume("T"), Cancel("T")):
        assert isinstance(world.do(steered), Moved)
    assert {token.status for token in world.tokens.values()} == {"cancelled"}


# -- ending -------------------------------------------------------------------------------------------


def test_the_end_of_a_child_completes_the_step_and_queues_the_parent() -> None:
    world = shop()
    task = begun(world)
    before = len(world.ledger["T"])
    end(world)
    assert world.entries("T", after=before) == [
        ("step_done", {"task": task, "step": "audit"}),
        ("task_resumed", {"task": task}),
    ]
    grant = world.work("ship")
    (step,) = grant.steps
    assert step.result == {
        "workflow": "audit",
        "token": CHILD,
        "status": "completed",
        "final": "look",
        "payload": None,
        "context": {"order": "T", "depth": 1},
        "reason": None,
    }
    assert grant.attempt == 2
    assert world.tasks[task].failures == 0
    assert isinstance(begin(world), StepDoneAlready)
    world.check_invariants()


def test_a_child_that_ends_before_the_parent_waits_does_not_leave_it_waiting() -> None:
    world = shop()
    begin(world)
    end(world)
    assert world.kinds("T")[-1] == "step_done"
    assert isinstance(waits(world, 1, awaiting=("audit",)), Moved)
    assert world.kinds("T")[-2:] == ["task_waiting", "task_resumed"]


def test_a_child_that_ends_as_it_starts_is_done_at_once() -> None:
    quick = flow({"look": {"emits": []}}, [("__start__", "__end__")])
    world = shop(audit=quick)
    begin(world)
    assert world.kinds("T")[-2:] == ["child_awaited", "step_done"]
    waits(world, 1, awaiting=("audit",))
    assert world.work("ship").steps[0].status == "done"
    assert begin(world, revision=0, attempt=1).code == "attempt_over"
    world.check_invariants()


def test_a_child_whose_asker_is_gone_wakes_who_waits_for_something_else() -> None:
    world = shop()
    begin(world)
    world.do(Release(task=1, supervisor="box"))
    world.work("ship")
    waits(world, 1)
    end(world)
    assert world.kinds("T")[-1] == "task_resumed"


def test_an_attempt_that_was_granted_before_the_child_ended_comes_to_its_end() -> None:
    """It does not know yet, and there is nothing wrong with it: no attempt may fail of that."""
    world = shop(retries=0)
    begin(world)
    world.do(Release(task=1, supervisor="box"))
    world.work("ship")
    end(world)
    assert isinstance(begin(world, revision=0), StaleRevision)
    assert isinstance(begin(world, revision=1, input={"order": "U"}), ChildIdTaken)
    kept = world.rows()
    assert begin(world, revision=1) == Checkpointed(1, child=CHILD)
    assert world.moment() == kept
    waits(world, 1, awaiting=("audit",))
    assert [step.status for step in world.work("ship").steps] == ["done"]
    assert isinstance(begin(world, revision=2), StepDoneAlready)
    next_one = Checkpoint(task=1, attempt=3, revision=2, name="s", kind="step", status="done")
    world.do(next_one)
    assert isinstance(begin(world, revision=1), StaleRevision)
    world.check_invariants()


def test_a_failed_child_fails_its_parent_for_good() -> None:
    world = shop()
    task = begun(world)
    before = len(world.ledger["T"])
    fails(world, world.work("audit/look").task)
    why = f"the child '{CHILD}' failed: 'look' failed, and has no transition on 'error': no ink"
    error = f"'ship' failed, and has no transition on 'error': {why}"
    assert world.entries("T", after=before) == [
        ("step_faulted", {"task": task, "step": "audit", "message": why}),
        ("flow_failed", {"task": task, "error": why}),
        ("task_failed", {"task": task, "error": why}),
        ("failed", {"reason": error}),
    ]
    world.check_invariants()


def test_a_failed_child_raises_error_whoever_holds_the_task() -> None:
    world = shop(ways=[*WAYS, ("ship", "rest", "error")])
    begin(world)
    fails(world, world.work("audit/look").task)
    assert world.tokens["T"].state == "rest"
    assert world.tasks[1].status == "failed"
    assert isinstance(waits(world, 1, awaiting=("audit",)), TaskNotHeld)
    world.check_invariants()


def test_a_parent_that_asks_to_be_told_gets_the_failure_as_a_result() -> None:
    world = shop()
    begun(world, fail_on_failure=False)
    fails(world, world.work("audit/look").task)
    (step,) = world.work("ship").steps
    assert step.status == "done"
    assert step.result["status"] == "failed"
    assert step.result["reason"] == "'look' failed, and has no transition on 'error': no ink"


def test_a_child_meets_no_join() -> None:
    """It belongs to no branch of a parent that happens to be parallel above it."""
    inner = flow(
        {"ship": {"emits": ["shipped"], "children": ["audit"]}},
        [("__start__", "ship"), ("ship", "__end__", "shipped")],
        events=["shipped"],
    )
    graph = main(
        {"both": {"parallel": ["inner"], "join": "any"}},
        [("__start__", "both"), ("both", "__end__", "joined")],
        schemas=SCHEMAS,
        children={"inner": inner, "audit": AUDIT},
    )
    world = World(graph)
    world.start("P")
    grant = world.work("inner/ship")
    world.do(AwaitChild(task=grant.task, attempt=1, revision=0, name="a", workflow="audit", input={"order": "P"}))  # fmt: skip
    waits(world, grant.task, awaiting=("a",))
    end(world)
    assert "joined" not in world.tokens["P"].counts
    world.report(world.work("inner/ship").task, "shipped")
    assert world.tokens["P"].status == "completed"
    world.check_invariants()


# -- leaving, pause and cancel ------------------------------------------------------------------------


def test_leaving_the_state_cancels_the_child() -> None:
    world = shop()
    begun(world)
    world.fire("T", "anew")
    assert world.entries(CHILD)[-1] == (
        "cancelled",
        {"reason": "the parent left 'ship' on 'anew'"},
    )
    assert world.kinds("T").count("step_done") == 0
    world.check_invariants()


def test_cancelling_the_parent_cancels_the_child() -> None:
    world = shop()
    begun(world)
    world.do(Cancel("T"))
    assert world.tokens[CHILD].status == "cancelled"
    assert isinstance(world.do(Cancel(CHILD)), Exception)
    world.check_invariants()


def test_an_attempt_that_fails_keeps_the_child_and_the_last_one_takes_it_along() -> None:
    world = shop()
    begin(world)
    fails(world, 1)
    assert world.tokens[CHILD].status == "active"
    world.work("ship")
    fails(world, 1)
    assert world.tokens[CHILD].status == "cancelled"


def test_a_paused_child_keeps_the_parent_waiting_and_the_resume_lets_both_go_on() -> None:
    world = shop()
    task = begun(world)
    grant = world.work("audit/look")
    world.do(Pause("T"))
    assert world.tokens[CHILD].status == "paused"
    world.report(grant.task, "fine")
    assert world.tasks[task].status == "waiting"
    world.check_invariants()
    before = len(world.ledger["T"])
    world.do(Resume("T"))
    assert world.kinds("T", after=before) == ["resumed", "step_done", "task_resumed"]
    assert world.tokens[CHILD].status == "completed"
    world.check_invariants()


def test_a_child_that_is_begun_in_a_pause_stands_still_until_the_resume() -> None:
    world = shop()
    world.do(Pause("T"))
    begun(world)
    assert world.kinds(CHILD)[-2:] == ["task_queued", "paused"]
    assert world.claim("audit/look") == ()
    world.check_invariants()
    world.do(Resume("T"))
    end(world)
    assert world.work("ship").steps[0].status == "done"


def test_a_child_that_ends_in_a_pause_is_written_down_and_wakes_nobody() -> None:
    quick = flow({"look": {"emits": []}}, [("__start__", "__end__")])
    world = shop(audit=quick)
    world.do(Pause("T"))
    task = begun(world)
    assert world.tasks[task].status == "waiting"
    assert world.steps[task, "audit"].status == "done"
    world.check_invariants()
    world.do(Resume("T"))
    assert world.kinds("T")[-1] == "task_resumed"


def test_a_child_that_fails_in_a_pause_fails_the_parent_at_the_resume() -> None:
    """Its join is refused as it starts."""
    quick = flow({"look": {"emits": []}}, [("__start__", "__end__")])
    bad = flow(
        {"both": {"parallel": ["quick"]}},
        [("__start__", "both"), ("both", "__end__", "joined", "false")],
    )
    graph = main(
        {"ship": {"emits": [], "children": ["bad"]}, "rest": {"emits": []}},
        [("__start__", "ship"), ("ship", "rest", "error")],
        children={"bad": bad, "quick": quick},
    )
    world = World(graph)
    world.start("T")
    world.work("ship")
    world.do(Pause("T"))
    begin(world, workflow="bad")
    assert world.tokens["T"].state == "ship"
    assert world.kinds("T")[-2:] == ["task_failed", "event_deferred"]
    world.check_invariants()
    world.do(Resume("T"))
    assert world.tokens["T"].state == "rest"
    world.check_invariants()


def test_an_outcome_that_a_resume_drops_finds_the_child_that_ended_meanwhile() -> None:
    """The parent's outcome is held, its child ends first at the resume, and then the outcome no longer fits."""
    ways: list[Way] = [*WAYS[:1], ("ship", "__end__", "shipped", "count('shipped') > 9")]
    world = shop(ways=ways)
    begin(world)
    grant = world.work("audit/look")
    world.report(1, "shipped")
    assert world.tasks[1].status == "claimed", "refused while it is active"
    world.do(Pause("T"))
    world.report(grant.task, "fine")
    world.report(1, "shipped")
    world.do(Resume("T"))
    assert world.kinds("T")[-4:] == ["resumed", "step_done", "event_dropped", "task_queued"]
    assert world.work("ship").steps[0].status == "done"
    world.check_invariants()


def test_a_child_is_an_own_token_to_the_world_outside() -> None:
    world = shop()
    begun(world)
    assert isinstance(world.do(Fire(CHILD, "fine")), Moved)
    assert world.kinds("T")[-1] == "task_resumed"
