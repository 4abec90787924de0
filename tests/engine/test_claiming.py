"""Claims (docs/http.md): which task is given, what a grant tells, and what a repeated request gets."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from stateous.engine.answers import Granted
from stateous.engine.claiming import ClaimBatch
from stateous.engine.commands import Claim, Pause, Resume, SetMemory
from stateous.engine.facts import Facts
from stateous.engine.family import Remembered
from tests.engine.graphs import Json, gate, main, parallel
from tests.engine.saying import fails, waits
from tests.engine.world import World

LEASE = 120


def queue(*tokens: str, retries: int = 3) -> World:
    """A world whose tokens wait for work in `s`."""
    states: Json = {"s": {"emits": ["go"], "retries": retries}, "t": {"emits": []}}
    ways: list[Any] = [("__start__", "s"), ("s", "t", "go"), ("t", "s", "go")]
    world = World(main(states, ways, events=["go"]))
    for token in tokens:
        world.start(token, name=token)
    return world


def test_a_claim_gives_a_task_with_all_that_its_routine_needs() -> None:
    world = queue("A")
    world.pass_time(5)
    (grant,) = world.claim("s", supervisor="build-box-1")
    assert (grant.task, grant.token, grant.state, grant.visit) == (1, "A", "s", 1)
    assert grant.attempt == 1
    assert grant.context == {"name": "A"}
    assert grant.memory == {}
    assert (grant.entered_by.name, grant.entered_by.payload) == ("__started__", None)
    assert world.entries("A")[-1] == (
        "task_claimed",
        {"task": 1, "supervisor": "build-box-1", "attempt": 1},
    )
    task = world.tasks[1]
    assert (task.status, task.claimed_by, task.attempt) == ("claimed", "build-box-1", 1)
    assert task.lease_until == world.now + timedelta(seconds=LEASE)
    world.check_invariants()


def test_the_lowest_task_of_the_asked_states_is_chosen() -> None:
    world = queue("B", "A", "C")
    world.fire("B", "go")
    assert world.work("s", "t").token == "A"
    assert world.work("t", "s").token == "C"
    assert world.work("s", "t").token == "B"
    assert not world.claim("s", "t")


def test_a_claim_of_no_states_or_unknown_ones_gets_nothing() -> None:
    world = queue("A")
    before = world.rows()
    assert not world.claim()
    assert not world.claim("unknown", "c/s", "m/s", "s/", " s")
    assert world.rows() == before


def test_the_main_workflows_states_have_no_prefix_but_may_be_asked_with_a_bare_slash() -> None:
    world = queue("A")
    assert not world.claim("m/s")
    (grant,) = world.claim("/s")
    assert grant.state == "s"


def test_a_childs_state_is_asked_and_given_with_the_name_of_its_workflow() -> None:
    world = World(parallel())
    world.start("C", title="x")
    world.report(world.work("work").task, "ready")
    (grant,) = world.claim("security/look")
    assert (grant.token, grant.state) == ("C.reviews.1.security", "security/look")
    assert world.entries(grant.token)[-1][1] == {
        "task": grant.task,
        "supervisor": "box",
        "attempt": 1,
    }


def test_a_task_is_not_given_while_its_token_is_paused() -> None:
    world = queue("A", "B")
    world.do(Pause("A"))
    assert world.work("s").token == "B"
    assert not world.claim("s")
    world.do(Resume("A"))
    assert world.work("s").token == "A"


def test_claimed_waiting_and_ended_tasks_are_not_given() -> None:
    world = queue("A", "B", "C")
    world.work("s")
    waits(world, world.work("s").task)
    world.report(world.work("s").task, "go")
    assert not world.claim("s", most=9)


def test_an_attempt_grows_with_each_claim() -> None:
    world = queue("A")
    for attempt in (1, 2, 3):
        grant = world.work("s")
        assert (grant.task, grant.attempt) == (1, attempt)
        fails(world, grant.task)


def test_a_grant_names_the_event_that_brought_the_token_and_its_payload() -> None:
    world = gate(("s", "s", "go"), events={"go": {"payload": "Review"}})
    world.fire("T", "go", {"approved": True})
    entered_by = world.work("s").entered_by
    assert (entered_by.name, entered_by.payload) == ("go", {"approved": True})


def test_a_grant_brings_the_memory_of_its_token_and_state_of_earlier_visits_too() -> None:
    world = queue("A", "B")
    task = world.work("s").task
    for key, value in (("n", 1), ("deep", {"a": [None]}), ("gone", 1), ("gone", None)):
        world.do(SetMemory(task=task, key=key, value=value))
    world.fire("A", "go")
    assert world.claim("t")[0].memory == {}
    world.fire("A", "go")
    grants = {grant.token: grant.memory for grant in world.claim("s", most=2)}
    assert grants == {"A": {"n": 1, "deep": {"a": [None]}}, "B": {}}


def test_a_claim_may_take_several_tasks() -> None:
    world = queue("A", "B", "C")
    assert [grant.token for grant in world.claim("s", most=2)] == ["A", "B"]
    assert [grant.token for grant in world.claim("s", most=2)] == ["C"]
    world.check_invariants()


def test_claims_of_one_batch_never_get_the_same_task() -> None:
    world = queue("A", "B", "C")
    claims = [
        Claim(supervisor=f"box-{number}", states=("s",), max=most)
        for number, most in enumerate((1, 2, 2))
    ]
    given = [[grant.token for grant in grants] for grants in world.claim_together(claims)]
    assert given == [["A"], ["B", "C"], []]
    world.check_invariants()


def test_a_claim_gives_two_tasks_of_one_family() -> None:
    world = World(parallel())
    world.start("C", title="x")
    world.report(world.work("work").task, "ready")
    grants = world.claim("security/look", "style/look", most=5)
    assert [grant.state for grant in grants] == ["security/look", "style/look"]
    world.check_invariants()


# -- repeated requests --------------------------------------------------------------------------------


def test_a_repeated_request_gets_the_same_grant_and_a_new_lease_without_an_entry() -> None:
    world = queue("A", "B")
    first = world.claim("s", request="r1")
    entries = world.entries("A")
    world.pass_time(100)
    world.do(SetMemory(task=1, key="k", value=1))
    (again,) = world.claim("t", request="r1")
    assert again.memory == {"k": 1}
    assert (again.task, again.attempt, again.context) == (1, 1, first[0].context)
    assert world.tasks[1].lease_until == world.now + timedelta(seconds=LEASE)
    assert [kind for kind, _ in world.entries("A")[len(entries) :]] == ["memory_set"]
    assert world.tasks[2].status == "queued"
    world.check_invariants()


def test_a_repeat_gives_todays_context() -> None:
    world = queue("A")
    world.claim("s", request="r1")
    world.tokens["A"].context = {"name": "changed"}
    assert world.claim("s", request="r1")[0].context == {"name": "changed"}


def test_a_repeat_on_a_paused_token_gets_its_grant() -> None:
    world = queue("A")
    world.claim("s", request="r1")
    world.do(Pause("A"))
    assert [grant.task for grant in world.claim("s", request="r1")] == [1]
    world.check_invariants()


def test_a_lease_that_ends_exactly_now_still_gives_the_same_grant() -> None:
    world = queue("A", "B")
    world.claim("s", request="r1")
    world.pass_time(LEASE)
    assert [grant.task for grant in world.claim("s", request="r1")] == [1]
    world.pass_time(LEASE + 0.000001)
    (grant,) = world.claim("s", request="r1")
    assert grant.token == "B"


def test_a_repeat_after_the_task_was_ended_is_a_new_claim() -> None:
    world = queue("A", "B")
    world.report(world.claim("s", request="r1")[0].task, "go")
    assert [grant.token for grant in world.claim("s", request="r1")] == ["B"]


def test_a_repeat_after_the_task_began_to_wait_is_a_new_claim() -> None:
    world = queue("A", "B")
    waits(world, world.claim("s", request="r1")[0].task)
    assert [grant.token for grant in world.claim("s", request="r1")] == ["B"]


def test_a_repeat_after_the_attempt_failed_is_a_new_attempt() -> None:
    world = queue("A")
    fails(world, world.claim("s", request="r1")[0].task)
    (grant,) = world.claim("s", request="r1")
    assert (grant.task, grant.attempt) == (1, 2)


def test_a_repeat_does_not_give_a_newer_attempt_that_the_supervisor_got_otherwise() -> None:
    world = queue("A", "B")
    fails(world, world.claim("s", request="r1")[0].task)
    assert world.work("s").attempt == 2
    assert [grant.token for grant in world.claim("s", request="r1")] == ["B"]


def test_a_repeat_when_another_supervisor_has_the_next_attempt_is_a_new_claim() -> None:
    world = queue("A")
    fails(world, world.claim("s", request="r1")[0].task)
    world.claim("s", supervisor="other")
    assert not world.claim("s", request="r1")


def test_only_the_last_request_of_a_supervisor_is_remembered() -> None:
    world = queue("A", "B", "C")
    world.claim("s", request="r1")
    world.claim("s", request="r2")
    assert [grant.token for grant in world.claim("s", request="r1")] == ["C"]


def test_an_empty_answer_is_remembered_in_place_of_an_earlier_grant() -> None:
    world = queue("A")
    world.claim("s", request="r1")
    assert not world.claim("t", request="r2")
    assert not world.claim("s", request="r1")
    assert world.tasks[1].attempt == 1


def test_a_request_that_got_nothing_is_a_new_claim_when_it_is_repeated() -> None:
    world = queue()
    assert not world.claim("s", request="r1")
    world.start("A")
    assert [grant.token for grant in world.claim("s", request="r1")] == ["A"]
    assert [grant.token for grant in world.claim("s", request="r1")] == ["A"]


def test_idle_claims_with_a_request_write_nothing() -> None:
    world = queue()
    for number in range(3):
        world.claim("s", request=f"r{number}")
    assert not world.remembered


def test_a_claim_without_a_request_does_not_forget_the_last_one() -> None:
    world = queue("A", "B")
    world.claim("s", request="r1")
    world.claim("s")
    assert [grant.token for grant in world.claim("s", request="r1")] == ["A"]


def test_requests_of_two_supervisors_are_apart() -> None:
    world = queue("A", "B")
    world.claim("s", request="r1", supervisor="one")
    assert [g.token for g in world.claim("s", request="r1", supervisor="two")] == ["B"]
    assert [g.token for g in world.claim("s", request="r1", supervisor="one")] == ["A"]


def test_a_repeat_of_several_gives_those_that_are_still_held() -> None:
    world = queue("A", "B", "C", "D")
    grants = world.claim("s", request="r1", most=3)
    world.report(grants[1].task, "go")
    again = world.claim("s", request="r1", most=3)
    assert [grant.token for grant in again] == ["A", "C"]


def test_the_same_request_twice_in_one_batch_gets_the_same_grant() -> None:
    world = queue("A", "B")
    claim = Claim(supervisor="box", states=("s",), request="r1")
    first, second = world.claim_together([claim, claim])
    assert [grant.task for grant in first] == [grant.task for grant in second] == [1]
    assert world.kinds("A").count("task_claimed") == 1


def test_a_remembered_task_that_is_gone_from_the_database_is_a_new_claim() -> None:
    world = queue("A")
    world.remembered["box"] = Remembered("box", "r1", ((99, 1),))
    assert [grant.token for grant in world.claim("s", request="r1")] == ["A"]


def test_what_is_ready_is_looked_at_again_before_it_is_given() -> None:
    world = queue("A", "B", "C")
    batch = ClaimBatch(world.rules, [Claim(supervisor="box", states=("s",), max=3)])
    facts = Facts()
    world.read_claims(facts, batch.asks)
    facts.families["A"].tokens["A"].status = "paused"
    facts.families["B"].tasks[2].status = "cancelled"
    batch.decide(facts, world.now)
    (answer,) = batch.answers
    assert isinstance(answer, Granted)
    assert [grant.token for grant in answer.grants] == ["C"]
