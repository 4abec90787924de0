"""The view `waiting` names what a routine awaits: a response, or a child."""

from __future__ import annotations

from typing import Any

from stateous.engine.changes import Changes
from stateous.engine.family import FlowStep, Task
from tests.databases import Clock, Database
from tests.store import written
from tests.store.opened import opened
from tests.store.test_flows import opened as opened_response
from tests.store.test_flows import step
from tests.store.walked import viewed


def waits(id: int, *names: str) -> Task:
    return written.task(id, f"T-{id}", status="waiting", awaiting=names or None)


def of_task(task: int, found: FlowStep) -> FlowStep:
    found.task = task
    return found


async def test_what_a_routine_awaits_is_named(postgres: Database, clock: Clock) -> None:
    child: dict[str, Any] = {
        "kind": "child",
        "status": "open",
        "result": None,
        "child": "C",
        "workflow": "audit",
        "input_hash": "h",
        "fail_on_failure": True,
    }
    waiting = [waits(1, "label"), waits(2, "audit"), waits(3), waits(4, "done", "a\nb")]
    async with opened(postgres.store(clock)) as store:
        await written.write(
            store,
            Changes(
                new_tokens=[
                    written.token("T-1", task=1),
                    written.token("T-2", task=2, children_open=1),
                    written.token("T-3", task=3),
                    written.token("T-4", task=4),
                ],
                new_tasks=waiting,
                steps=[
                    of_task(1, opened_response("label", "c1")),
                    of_task(1, step("charge", seq=2, revision=2)),
                    of_task(2, step("audit", **child)),
                    of_task(4, opened_response("a\nb", "c4", seq=2, revision=2)),
                    of_task(4, step("done")),
                ],
                entries=[written.entry(f"T-{n}", 1, "task_waiting", task=n) for n in range(1, 5)],
            ),
        )
        await written.write(store, Changes(tasks=waiting))
    found = await viewed(postgres, "select token, reason, why from waiting order by token")
    since = "since 2026-01-02 03:04:05 UTC"
    assert [tuple(row.values()) for row in found] == [
        ("T-1", "outside", f'task 1 awaits the response "label" {since}'),
        ("T-2", "children", f'task 2 awaits the child "audit" {since}'),
        ("T-3", "outside", f"task 3 waits for someone outside {since}"),
        ("T-4", "outside", f'task 4 awaits the step "done", the response "a\\nb" {since}'),
    ]
