"""Flows and steps on both databases: what is written comes back, only what is asked for is read, and costs do not grow."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stateous.engine.changes import Changes
from stateous.engine.commands import (
    Checkpoint,
    Claim,
    EndLease,
    Pause,
    Report,
    Respond,
    Resume,
    Start,
)
from stateous.engine.facts import Ask, ClaimAsk
from stateous.engine.family import Family, Flow, FlowStep
from stateous.engine.rules import Rules
from stateous.model.graph import parse_graph
from stateous.store.store import NotCommitted, Store
from tests.databases import Database
from tests.engine.graphs import Json, way
from tests.store.costs import OnPostgres, Recorder, measuring
from tests.store.opened import raw
from tests.store.test_batches import EXACT
from tests.store.test_costs import check, pair_of, task_of
from tests.store.written import AT, WrittenClaims, read, task, timer, token, write

RULES = Rules(
    parse_graph(
        {
            "stateous": 1,
            "workflow": "m",
            "states": {"work": {"emits": ["done"], "retries": 9}},
            "events": {"done": {}},
            "transitions": [way("__start__", "work"), way("work", "work", "done")],
            "schemas": {},
        }
    )
)
CHILDREN = tuple(f"c{number}" for number in range(12))
CHILD_FLOW: Json = {
    "states": {"look": {"emits": ["done"]}},
    "events": {"done": {}},
    "transitions": [way("__start__", "look"), way("look", "__end__", "done")],
}
FAMILY: Json = {
    "stateous": 1,
    "workflow": "m",
    "states": {"few": {"parallel": list(CHILDREN)}},
    "events": {},
    "transitions": [way("__start__", "few"), way("few", "__end__", "joined")],
    "schemas": {},
    "workflows": dict.fromkeys(CHILDREN, CHILD_FLOW),
}
MANY = 1000
SEEDS = (
    """
insert into steps (task, name, seq, kind, status, result, attempt, revision, opened_at, completed_at)
with recursive n(n) as (select 1 union all select n + 1 from n where n < 1000)
select :task, 'step-' || n, n + 1, 'step', 'done', '"a receipt of this step"', 1, n + 1,
       '2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.000000Z' from n
""",
    "update flows set revision = 1001 where task = :task",
)


def flow(task: int = 1, **fields: Any) -> Flow:
    given: dict[str, Any] = {
        "task": task,
        "token": "T",
        "schema_version": 1,
        "revision": 3,
        "input": {},
        "last_message": None,
        "message_at": None,
        "created_at": AT,
        "updated_at": AT,
        "step_count": 2,
        "size": 2**40,
    }
    return Flow(**{**given, **fields})


def step(name: str, **fields: Any) -> FlowStep:
    given: dict[str, Any] = {
        "task": 1,
        "name": name,
        "seq": 1,
        "kind": "step",
        "status": "done",
        "result": None,
        "correlation": None,
        "answered": None,
        "message": None,
        "child": None,
        "on_lost": None,
        "attempt": 1,
        "revision": 1,
        "opened_at": AT,
        "completed_at": AT if fields.get("status", "done") == "done" else None,
    }
    return FlowStep(**{**given, **fields})


def opened(name: str, correlation: str, **fields: Any) -> FlowStep:
    more = {"status": "open", "kind": "response", "on_lost": "keep", "correlation": correlation}
    return step(name, **{**more, **fields})


async def written(store: Store, *steps: FlowStep, **fields: Any) -> None:
    changes = Changes(
        new_tokens=[token("T", task=1)],
        new_tasks=[task(1, "T", status="queued")],
        flows=[flow(**fields)],
        steps=list(steps),
    )
    await write(store, changes)


async def family(store: Store, *names: str) -> Family:
    return (await read(store, Ask(task=1, steps=names))).families["T"]


async def test_every_field_of_a_flow_and_of_its_steps_comes_back(store: Store) -> None:
    steps = [
        step("a", result=EXACT, message="gedruckt 💚", attempt=7, revision=2),
        opened("b", "c1", seq=2, revision=3, answered="c0", message="half"),
        step("c", seq=3, revision=3, status="faulted", kind="response", on_lost="fail"),
    ]
    fields: dict[str, Any] = {
        "input": EXACT,
        "last_message": "so far",
        "message_at": AT,
        "revision": 2**62,
    }
    await written(store, *steps, **fields)
    found = await family(store, "a", "c", "missing")
    assert found.flows == {1: flow(**fields)}
    assert found.steps == {
        (1, "a"): steps[0],
        (1, "b"): steps[1],
        (1, "c"): steps[2],
        (1, "missing"): None,
    }


@pytest.mark.parametrize("result", [None, 0, False, "", [], {}, 1.0, 2**70])
async def test_any_json_is_a_result(store: Store, result: object) -> None:
    await written(store, step("a", result=result))
    found = (await family(store, "a")).steps[1, "a"]
    assert found is not None
    assert (found.status, repr(found.result)) == ("done", repr(result))


async def test_only_asked_steps_are_read_and_the_open_one(store: Store) -> None:
    done = [step(f"s{n}", seq=n + 1, revision=n + 1) for n in range(5)]
    await written(store, *done, opened("o", "c", seq=6, revision=6))
    assert set((await family(store)).steps) == {(1, "o")}
    assert set((await family(store, "s3", "o")).steps) == {(1, "s3"), (1, "o")}
    assert (await read(store, Ask(task=1))).families["T"].flows == {}


async def test_a_task_without_a_flow_has_none(store: Store) -> None:
    await write(store, Changes(new_tokens=[token("T", task=1)], new_tasks=[task(1, "T")]))
    found = await family(store, "a")
    assert (found.flows, found.steps) == ({1: None}, {(1, "a"): None})


async def test_what_is_written_again_is_changed(store: Store) -> None:
    await written(store, opened("o", "c"))
    done = step("o", kind="response", result=1, answered="c", on_lost="keep")
    later = flow(revision=4, last_message="x", message_at=AT)
    await write(store, Changes(flows=[later], steps=[done]))
    found = await family(store, "o")
    assert (found.flows[1], found.steps[1, "o"]) == (later, done)


async def test_a_flow_in_another_form_is_not_written_over(store: Store) -> None:
    await written(store, step("a"), schema_version=2)
    with pytest.raises(NotCommitted):
        await write(store, Changes(flows=[flow(revision=9)], steps=[step("a", result=1)]))
    found = await family(store, "a")
    assert found.flows == {1: flow(schema_version=2)}
    assert found.steps[1, "a"] == step("a")


async def test_a_response_is_found_by_what_it_is_known_by_and_was_known_by(store: Store) -> None:
    await written(store, opened("o", "now", answered="before"), step("a"))
    assert await store.response_find("now") == (1, "o")
    assert await store.response_find("before") == (1, "o")
    for unknown in ("no", "", "NOW", "n\0w", "\ud800"):
        assert await store.response_find(unknown) is None


async def test_a_claim_reads_all_steps_in_their_order(store: Store) -> None:
    steps = [step(name, seq=n, revision=n) for n, name in enumerate("zbax", start=1)]
    await written(store, *reversed(steps))
    batch = WrittenClaims(ClaimAsk(supervisor=None, queues=("draft",), max=1))
    await store.claims_decide(batch)
    assert batch.facts.flows == {1: (flow(), tuple(steps))}


async def test_the_steps_that_a_task_waits_for_and_a_deadline_come_back(store: Store) -> None:
    waiting = task(1, "T", status="waiting", awaiting=("a", "ü"))
    deadline = timer(2, "T", kind="deadline", event="deadline", step="a", payload={"timeout": "2h"})
    await write(store, Changes(new_tokens=[token("T", task=1)], new_tasks=[task(1, "T")]))
    await write(store, Changes(tasks=[waiting], new_timers=[deadline]))
    found = (await read(store, Ask(token="T"))).families["T"]
    assert found.tasks == {1: waiting}
    assert found.timers == {2: deadline}
    await write(
        store, Changes(tasks=[msgspec.structs.replace(waiting, status="queued", awaiting=None)])
    )
    assert (await read(store, Ask(task=1))).families["T"].tasks[1].awaiting is None


async def test_a_thousand_steps_cost_a_step_and_a_response_nothing(database: Database) -> None:
    """Of a checkpoint, two rows are written of flows and steps, however many there are."""
    async with measuring(database, RULES) as measure:
        for name in ("young", "old"):
            await measure.decide(Start(name, {}))
            await measure.decide(Claim(supervisor="box", states=("work",)))
            await measure.decide(checkpoint(await task_of(measure, name), 0, "first"))
        task = await task_of(measure, "old")
        for seed in SEEDS:
            await raw(database, seed.replace(":task", str(task)))
        await pair_of(measure, database, "young", "old")
        if database.dialect == "postgres":
            await raw(database, "vacuum (analyze) flows, steps")
        revisions = {"young": 1, "old": MANY + 1}
        for kind in ("step", "response"):
            costs = [
                await measure.costs(
                    checkpoint(await task_of(measure, name), revision, "next", kind=kind)
                )
                for name, revision in revisions.items()
            ]
            check(kind, *costs)
        for name, revision in revisions.items():
            number = await task_of(measure, name)
            await measure.decide(checkpoint(number, revision, "ask", kind="response", by=name))
            await measure.decide(
                Report(task=number, kind="waiting", supervisor="box", awaiting=("ask",))
            )
        responses = [
            Respond(
                task=await task_of(measure, name), step="ask", correlation=name, status="completed"
            )
            for name in revisions
        ]
        check("respond", *[await measure.costs(response) for response in responses])


async def test_a_resume_asks_once_for_the_flows_of_a_family(
    postgres: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with measuring(postgres, Rules(parse_graph(FAMILY))) as measure:
        await measure.decide(Start("T", {}))
        for child in CHILDREN:
            await measure.decide(Claim(supervisor="box", states=(f"{child}/look",)))
            number = await task_of(measure, f"T.few.1.{child}")
            await measure.decide(checkpoint(number, 0, "ask", kind="response", by=child))
            await measure.decide(
                Report(task=number, kind="waiting", supervisor="box", awaiting=("ask",))
            )
        await measure.decide(Pause("T"))
        first = await task_of(measure, "T.few.1.c0")
        await measure.decide(Respond(task=first, step="ask", correlation="c0", status="completed"))
        monkeypatch.setattr(Recorder, "sent", [])
        await measure.decide(Resume("T"))
        sent = [OnPostgres.NAMES.get(text) for text, _ in Recorder.sent or ()]
    assert sent.count("flows_find") == 1


async def test_a_task_without_a_flow_costs_no_row_of_flows(database: Database) -> None:
    async with measuring(database, RULES) as measure:
        await measure.decide(Start("T", {}))
        claim = Claim(supervisor="box", states=("work",))
        costs = [await measure.costs(claim)]
        await measure.decide(claim)
        number = await task_of(measure, "T")
        reports = (
            Report(task=number, kind="event", event="done"),
            Report(task=number, kind="failed", error="no ink"),
            Report(task=number, kind="waiting", supervisor="box"),
        )
        costs.extend([await measure.costs(report) for report in reports])
        measure.clock.forward(minutes=3)
        costs.append(await measure.costs(EndLease(number)))
        for each in costs:
            assert not {"flows_find", "flows_save", "steps_save"} & each.keys()
            for cost in each.values():
                assert not cost.rows["flows"] + cost.rows["steps"]


def checkpoint(
    task: int, revision: int, name: str, *, kind: Any = "step", by: str = "c"
) -> Checkpoint:
    return Checkpoint(
        task=task,
        attempt=1,
        revision=revision,
        name=name,
        kind=kind,
        status="done" if kind == "step" else "open",
        correlation="" if kind == "step" else by,
    )
