"""What claims and heartbeats read and write, on both databases alike."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec

from stateous.engine.changes import Changes
from stateous.engine.commands import Beat
from stateous.engine.facts import Ask, ClaimAsk, Facts, Need
from stateous.engine.family import Remembered, Task
from stateous.store.store import Beaten, Store
from tests.store.written import (
    AT,
    Written,
    WrittenClaims,
    read,
    task,
    timer,
    token,
    write,
    write_ready,
)


def ask(*queues: str, max: int = 1, supervisor: str | None = None) -> ClaimAsk:
    return ClaimAsk(supervisor=supervisor, queues=queues, max=max)


def claimed(found: Task, **fields: Any) -> Task:
    given: dict[str, Any] = {
        "status": "claimed",
        "attempt": found.attempt + 1,
        "claimed_by": "s",
        "lease_until": AT + timedelta(minutes=2),
    }
    return msgspec.structs.replace(found, **{**given, **fields})


def take(count: int) -> Any:
    """Grants the first tasks that are ready."""

    def decide(facts: Facts, _now: datetime) -> Changes:
        return Changes(tasks=[claimed(found) for found in facts.ready[:count]])

    return decide


async def test_ready_tasks_come_by_id_with_their_tokens_and_memory(store: Store) -> None:
    await write_ready(store, 3, 1, 2)
    await write(store, Changes(memory=[("T-1", "draft", "k", 1.0), ("T-1", "review", "k", 2)]))
    batch = WrittenClaims(ask("draft", max=2))
    assert await store.claims_decide(batch)
    assert batch.facts.ready == [task(1, "T-1"), task(2, "T-2")]
    assert batch.facts.memory == {("T-1", "draft"): {"k": 1.0}, ("T-2", "draft"): {}}
    assert batch.facts.task_roots == {1: "T-1", 2: "T-2"}
    assert batch.facts.families["T-1"].tokens == {"T-1": token("T-1", task=1)}


async def test_each_claim_finds_enough_whatever_the_others_take(store: Store) -> None:
    await write_ready(store, 1, 2, 3, 4)
    await write_ready(store, 5, 6, queue="checks/draft")
    asks = [ask("draft"), ask("checks/draft", "draft", max=2), ask("other"), ask("checks/draft")]
    batch = WrittenClaims(*asks)
    assert await store.claims_decide(batch)
    ready = list(batch.facts.ready)
    assert [found.id for found in ready] == sorted({found.id for found in ready})
    taken: list[int] = []
    for asked in asks:
        mine = [found for found in ready if found.queue in asked.queues][: asked.max]
        taken.append(len(mine))
        ready = [found for found in ready if found not in mine]
    assert taken == [1, 2, 0, 1]


async def test_queues_that_are_asked_together_are_merged_by_id(store: Store) -> None:
    await write_ready(store, 1, 4, 5)
    await write_ready(store, 2, 3, 6, queue="review")
    batch = WrittenClaims(ask("draft", "review", max=2), ask("review", "draft", max=2))
    assert await store.claims_decide(batch)
    assert [found.id for found in batch.facts.ready][:4] == [1, 2, 3, 4]


async def test_a_claim_of_one_queue_gets_its_task_beside_one_of_many(store: Store) -> None:
    await write_ready(store, 1, 2, 5)
    await write_ready(store, 3, 4, queue="review")
    batch = WrittenClaims(ask("draft", "review", max=2), ask("review"), ask("draft"))
    assert await store.claims_decide(batch)
    # Whatever the first claim takes, something is there for each of the others.
    queues = [found.queue for found in batch.facts.ready]
    assert queues.count("draft") == 3
    assert queues.count("review") == 2


async def test_a_claim_of_no_queue_gets_nothing(store: Store) -> None:
    await write_ready(store, 1)
    batch = WrittenClaims(ask())
    assert not await store.claims_decide(batch)
    assert batch.facts.ready == []


async def test_it_is_told_whether_ready_tasks_are_left(store: Store) -> None:
    await write_ready(store, 1, 2, 3)
    assert await store.claims_decide(WrittenClaims(ask("draft", max=2), decide=take(2)))
    assert not await store.claims_decide(WrittenClaims(ask("draft", max=2), decide=take(2)))
    assert not await store.claims_decide(WrittenClaims(ask("draft", max=2), decide=take(2)))


async def test_what_was_claimed_is_not_ready(store: Store) -> None:
    await write_ready(store, 1, 2)
    await store.claims_decide(WrittenClaims(ask("draft"), decide=take(1)))
    batch = WrittenClaims(ask("draft", max=5))
    await store.claims_decide(batch)
    assert [found.id for found in batch.facts.ready] == [2]
    facts = await read(store, Ask(task=1))
    assert facts.families["T-1"].tasks[1] == claimed(task(1, "T-1"))


async def test_a_paused_tokens_task_and_timers_are_parked_until_it_goes_on(store: Store) -> None:
    await write_ready(store, 1, 2)
    await write(store, Changes(new_timers=[timer(9, "T-1")]))
    due = AT + timedelta(days=1)
    steps: list[tuple[list[int], list[tuple[int, str, str]]]] = []
    for status in ("paused", "active"):

        def turn(facts: Facts, _now: datetime, status: str = status) -> Changes:
            found = facts.families["T-1"].tokens["T-1"]
            turned = msgspec.structs.replace(found, status=status, seq=found.seq + 1)
            return Changes(tokens=[(turned, found.seq)])

        await store.batch_decide(Written(Ask(token="T-1"), decide=turn))
        batch = WrittenClaims(ask("draft", max=5))
        await store.claims_decide(batch)
        steps.append(
            ([found.id for found in batch.facts.ready], await store.timers_due(due, limit=5))
        )
    assert steps == [([2], []), ([1, 2], [(9, "T-1", "T-1")])]


async def test_what_a_paused_token_gets_is_parked_too(store: Store) -> None:
    await write(
        store,
        Changes(
            new_tokens=[token("A", status="paused", task=1, paused_at=AT)],
            new_tasks=[task(1, "A", status="claimed", claimed_by="s", lease_until=AT)],
        ),
    )
    # A retry during a pause queues the task again; a waiting report sets a timer.
    await write(store, Changes(tasks=[task(1, "A")], new_timers=[timer(2, "A")], parked={"A"}))
    batch = WrittenClaims(ask("draft"))
    assert not await store.claims_decide(batch)
    assert batch.facts.ready == []
    assert await store.timers_due(AT + timedelta(days=1), limit=5) == []


async def test_the_last_claim_of_a_supervisor_is_remembered(store: Store) -> None:
    first = Remembered("s", "r-1", ((1, 1), (2, 4)))
    last = Remembered("s", "r-2", ())
    other = Remembered("t", "r-1", ((2**62, 1),))
    for kept in ([first, other], [last]):
        changes = Changes(remembered=kept)
        await store.claims_decide(
            WrittenClaims(ask("draft"), decide=lambda _facts, _now, changes=changes: changes)
        )
    batch = WrittenClaims(ask(supervisor="s"), ask(supervisor="t"), ask(supervisor="u"))
    await store.claims_decide(batch)
    assert batch.facts.remembered == {"s": last, "t": other}


async def test_earlier_grants_are_brought_when_they_are_needed(store: Store) -> None:
    await write_ready(store, 1, 2, 3)
    await store.claims_decide(WrittenClaims(ask("draft"), decide=take(1)))
    await write(
        store,
        Changes(tasks=[task(2, "T-2", status="done")], memory=[("T-1", "draft", "k", "v")]),
    )

    def decide(facts: Facts, _now: datetime) -> None:
        if 1 not in facts.task_roots:
            raise Need(grants=((1, 1), (2, 1)))

    batch = WrittenClaims(ask(supervisor="s"), decide=decide)
    await store.claims_decide(batch)
    facts = batch.facts
    assert facts.ready == []
    assert facts.task_roots == {1: "T-1", 2: "T-2"}
    assert facts.families["T-1"].tasks[1].status == "claimed"
    assert facts.families["T-2"].tasks[2].status == "done"
    assert facts.memory == {("T-1", "draft"): {"k": "v"}, ("T-2", "draft"): {}}


async def test_a_heartbeat_renews_what_is_held_and_names_the_rest(store: Store) -> None:
    await write_ready(store, 1, 2, 3, 4)
    await write(
        store,
        Changes(
            tasks=[
                claimed(task(1, "T-1"), lease_until=AT),
                claimed(task(2, "T-2"), lease_until=AT - timedelta(microseconds=1)),
                claimed(task(3, "T-3"), claimed_by="t"),
                task(4, "T-4", status="waiting", attempt=1),
            ]
        ),
    )
    until = AT + timedelta(minutes=9)
    beaten = await store.tasks_beat(
        [Beat("s", (4, 3, 2, 1, 1, 99)), Beat("t", (3, 1)), Beat("s", (1,)), Beat("u", ())],
        now=AT,
        leased_until=until,
    )
    assert beaten == [
        Beaten(lost=(2, 3, 4, 99), busy=()),
        Beaten(lost=(1,), busy=()),
        Beaten(lost=(), busy=()),
        Beaten(lost=(), busy=()),
    ]
    facts = await read(store, Ask(task=1), Ask(task=2), Ask(task=3))
    found = {n: facts.families[f"T-{n}"].tasks[n].lease_until for n in (1, 2, 3)}
    assert found == {1: until, 2: AT - timedelta(microseconds=1), 3: until}


async def test_nobody_beats_without_tasks(store: Store) -> None:
    assert await store.tasks_beat([], now=AT, leased_until=AT) == []
    assert await store.tasks_beat([Beat("s", ())], now=AT, leased_until=AT) == [
        Beaten(lost=(), busy=())
    ]


async def test_leases_are_over_strictly_after_their_end(store: Store) -> None:
    await write_ready(store, 1, 2, 3)
    await write(
        store,
        Changes(
            tasks=[
                claimed(task(2, "T-2"), lease_until=AT),
                claimed(task(1, "T-1"), lease_until=AT),
                claimed(task(3, "T-3"), lease_until=AT + timedelta(hours=1)),
            ]
        ),
    )
    assert await store.leases_over(AT, limit=9) == []
    later = AT + timedelta(microseconds=1)
    over = await store.leases_over(later, limit=9)
    assert over == [(1, "T-1", "s"), (2, "T-2", "s")]
    assert await store.leases_over(later, limit=1) == over[:1]


async def test_timers_are_due_at_their_time_the_earliest_first(store: Store) -> None:
    await write(
        store,
        Changes(
            new_tokens=[token("A")],
            new_timers=[
                timer(1, "A", due_at=AT + timedelta(seconds=1)),
                timer(2, "A", due_at=AT),
                timer(3, "A", due_at=AT - timedelta(days=1)),
                timer(4, "A", due_at=AT - timedelta(days=2), status="fired"),
                timer(5, "A", due_at=AT),
            ],
        ),
    )
    assert await store.timers_due(AT, limit=9) == [
        (3, "A", "A"),
        (2, "A", "A"),
        (5, "A", "A"),
    ]
    assert await store.timers_due(AT, limit=1) == [(3, "A", "A")]
