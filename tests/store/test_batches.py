"""What a batch reads and writes, on both databases alike."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import count
from typing import Any

import pytest

from stateous.engine.changes import Changes
from stateous.engine.facts import Ask, Facts, Need
from stateous.engine.family import Entry, Held, Occurrence, Schedule, Used
from stateous.store.gathering import Leftovers
from stateous.store.store import NotCommitted, Store
from tests.databases import Clock, Database
from tests.store.written import AT, Written, entry, read, task, timer, token, write

EXACT: dict[str, Any] = {
    "huge": 10**400,
    "float": 1.0,
    "large": 1e16,
    "negative": -(2**70),
    "text": 'Schrägstrich / \\ " \u2028 💚',
    "deep": [{"a": [None, True, False, {}]}],
    "": "an empty key",
}


async def test_every_field_of_a_token_comes_back(store: Store) -> None:
    written = token(
        "CHILD-1.review.2.checks",
        root="CHILD-1",
        parent="CHILD-1",
        workflow="checks",
        state="Prüfung",
        status="paused",
        visit=7,
        seq=12,
        context=EXACT,
        counts={"submitted": 3},
        visits={"draft": 2, "Prüfung": 7},
        entered_by=Occurrence("submitted", {"n": 2**70, "f": 2.0}),
        task=9,
        children_open=2,
        held_count=4,
        created_at=AT,
        entered_at=AT + timedelta(microseconds=1),
        changed_at=AT + timedelta(days=400),
        paused_at=AT.replace(microsecond=0),
        ambient={"traceparent": "00-ü", "": ""},
    )
    await write(store, Changes(new_tokens=[token("CHILD-1"), written]))
    assert await store.token_read(written.token) == written
    facts = await read(store, Ask(token=written.token))
    assert facts.families["CHILD-1"].tokens[written.token] == written


async def test_numbers_keep_their_kind(store: Store) -> None:
    await write(store, Changes(new_tokens=[token("T", context=EXACT)]))
    found = await store.token_read("T")
    assert found is not None
    assert [type(value) for value in found.context.values()] == [
        type(value) for value in EXACT.values()
    ]


async def test_a_token_that_was_not_entered_by_anything_has_none(store: Store) -> None:
    await write(
        store, Changes(new_tokens=[token("T", entered_by=None, state="__start__", visit=0)])
    )
    found = await store.token_read("T")
    assert found is not None
    assert found.entered_by is None


async def test_a_token_comes_with_its_ancestors_open_tasks_and_pending_timers(
    store: Store,
) -> None:
    top = token("A", task=None)
    middle = token("A.x.1.b", root="A", parent="A", task=1)
    bottom = token("A.x.1.b.y.1.c", root="A", parent="A.x.1.b", task=2)
    sibling = token("A.x.1.d", root="A", parent="A", task=3)
    tasks = [task(1, middle.token), task(2, bottom.token), task(3, sibling.token)]
    timers = [
        timer(11, "A"),
        timer(12, bottom.token, kind="timer", event="nudge", payload=EXACT),
        timer(13, bottom.token, status="fired"),
        timer(14, sibling.token),
    ]
    await write(
        store,
        Changes(new_tokens=[top, middle, bottom, sibling], new_tasks=tasks, new_timers=timers),
    )
    facts = await read(store, Ask(token=bottom.token))
    family = facts.families["A"]
    assert family.tokens == {"A": top, middle.token: middle, bottom.token: bottom}
    assert family.tasks == {1: tasks[0], 2: tasks[1]}
    assert family.timers == {11: timers[0], 12: timers[1]}
    assert family.seq_loaded == {"A": 1, middle.token: 1, bottom.token: 1}
    assert facts.roots == dict.fromkeys(family.tokens, "A")
    assert facts.task_roots == {1: "A", 2: "A"}


async def test_an_ended_task_comes_with_its_family(store: Store) -> None:
    ended = task(5, "T", status="done", attempt=3, failures=2, claimed_by="s")
    await write(store, Changes(new_tokens=[token("T")], new_tasks=[ended]))
    facts = await read(store, Ask(task=5))
    assert facts.task_roots == {5: "T"}
    assert facts.families["T"].tasks == {5: ended}


async def test_what_does_not_exist_is_neither_there_nor_busy(store: Store) -> None:
    facts = await read(store, Ask(token="T"), Ask(token="nul\0nul"), Ask(task=7), Ask(new="N"))
    assert not facts.families
    assert not facts.roots
    assert not facts.busy_tokens
    assert not facts.busy_tasks
    assert facts.taken == {"n": None}


async def test_ids_are_looked_up_in_any_case(store: Store) -> None:
    await write(store, Changes(new_tokens=[token("Order-1"), token("Order-2")]))
    facts = await read(store, Ask(new="ORDER-1"), Ask(new="Order-2"), Ask(new="Order-3"))
    assert facts.taken == {"order-1": "Order-1", "order-2": "Order-2", "order-3": None}
    # The one that is there by its very name is read, since a start answers it.
    assert set(facts.roots) == {"Order-2"}


async def test_keys_are_known_by_token(store: Store) -> None:
    await write(
        store,
        Changes(
            new_tokens=[token("A", task=1), token("B")],
            new_tasks=[task(1, "A")],
            entries=[
                entry("A", 1, key="k"),
                entry("A", 2, key="\x01x"),
                Entry(
                    "A",
                    3,
                    AT,
                    "event_rejected",
                    {"event": "e", "reason": "it can\u2028not"},
                    "\x01y",
                ),
                entry("B", 1),
            ],
        ),
    )
    facts = await read(
        store,
        Ask(token="A", key="k"),
        Ask(token="B", key="k"),
        Ask(task=1, key="\x01x"),
        Ask(task=1, key="\x01y"),
        Ask(task=1, key="\x01z"),
        Ask(task=9, key="\x01x"),
        Ask(token="C", key="k"),
    )
    assert facts.families["A"].keys == {
        ("A", "k"): Used("note"),
        ("A", "\x01x"): Used("note"),
        ("A", "\x01y"): Used("event_rejected", "it can\u2028not"),
        ("A", "\x01z"): None,
    }
    assert facts.families["B"].keys == {("B", "k"): None}


async def test_memory_keys_are_known_by_token_and_state(store: Store) -> None:
    await write(
        store,
        Changes(
            new_tokens=[token("A", task=1)],
            new_tasks=[task(1, "A")],
            memory=[("A", "draft", "k", [1]), ("A", "review", "other", 2)],
        ),
    )
    facts = await read(store, Ask(task=1, memory_key="k"), Ask(task=1, memory_key="other"))
    assert facts.families["A"].memory_keys == {
        ("A", "draft", "k"): True,
        ("A", "draft", "other"): False,
    }


async def test_reserved_ids_grow_and_leftovers_are_used_first(store: Store) -> None:
    starting = Written(Ask(ids=3), decide=lambda _facts, _now: Changes(new_tokens=[token("A")]))
    await store.batch_decide(starting)
    first = starting.facts.ids
    assert first == sorted(first, reverse=True)
    assert len(first) == 3

    def use_one(facts: Facts, _now: datetime) -> Changes:
        facts.ids.pop()
        return Changes(new_tokens=[token("B")])

    batch = Written(Ask(ids=2), Ask(ids=1), decide=use_one)
    await store.batch_decide(batch)
    assert batch.facts.ids == first[:-1]
    again = (await read(store, Ask(ids=4))).ids
    assert again[2:] == first[:-1]
    assert min(again[:2]) > max(first)


async def test_a_need_takes_leftovers_before_new_numbers(store: Store) -> None:
    starting = Written(Ask(ids=3), decide=lambda _facts, _now: Changes(new_tokens=[token("A")]))
    await store.batch_decide(starting)

    def need_three(facts: Facts, _now: datetime) -> None:
        if len(facts.ids) < 3:
            raise Need(ids=2)

    batch = Written(Ask(ids=1), decide=need_three)
    await store.batch_decide(batch)
    assert batch.facts.ids == starting.facts.ids


def test_a_number_below_a_used_one_is_a_gap() -> None:
    leftovers = Leftovers()
    leftovers.give_back([12, 13], last=11)
    leftovers.give_back([3, 2], last=1)
    assert leftovers.take(9) == [12, 13]
    leftovers.give_back([13], last=0)
    leftovers.give_back([], last=13)
    assert leftovers.take(9) == []


async def test_at_most_256_leftovers_are_kept(store: Store) -> None:
    starting = Written(Ask(ids=300), decide=lambda _facts, _now: Changes(new_tokens=[token("A")]))
    await store.batch_decide(starting)
    first = sorted(starting.facts.ids)
    again = sorted((await read(store, Ask(ids=300))).ids)
    assert again[:256] == first[:256]
    assert not set(again[256:]) & set(first)


async def test_numbers_that_no_commit_brought_to_disk_are_not_used_later(
    database: Database, store: Store
) -> None:
    first = (await read(store, Ask(ids=3))).ids
    again = (await read(store, Ask(ids=3))).ids
    # SQLite commits the count of numbers; a Postgres that crashes may count them again.
    assert (set(first) == set(again)) is (database.dialect == "sqlite")


async def test_a_batch_has_one_time(store: Store, clock: Clock) -> None:
    def need_twice(facts: Facts, _now: datetime) -> None:
        clock.forward(seconds=1)
        if len(facts.ids) < 2:
            raise Need(ids=1)

    batch = Written(decide=need_twice)
    await store.batch_decide(batch)
    assert batch.times == [AT, AT, AT]


async def test_a_need_adds_and_never_reads_over_what_is_there(store: Store) -> None:
    held = Held(
        arrival=1,
        token="A",
        event="submitted",
        payload=EXACT,
        key="k",
        task=1,
        state="draft",
        visit=1,
        context={"a": 1},
        schedules=(Schedule("nudge", {"x": 1.0}, "6h"),),
    )
    bare = Held(arrival=2, token="A", event="nudge", payload=None)
    child = token("A.x.1.b", root="A", parent="A", task=2)
    ended = task(1, "A", status="done")
    await write(
        store,
        Changes(
            new_tokens=[token("A"), child, token("Taken")],
            new_tasks=[ended, task(2, child.token)],
            new_timers=[timer(3, child.token)],
            held=[("A", bare), ("A", held)],
        ),
    )
    steps = count()

    def decide(facts: Facts, _now: datetime) -> None:
        family = facts.families["A"]
        match next(steps):
            case 0:
                assert family.held is None
                family.tokens["A"] = token("A", seq=2)
                raise Need(root="A", tokens=("A", child.token, "A.x.1.z"))
            case 1:
                assert family.tokens["A"].seq == 2
                assert family.tokens[child.token] == child
                assert set(family.tasks) == {2}
                assert set(family.timers) == {3}
                assert family.absent == {"A.x.1.z"}
                del family.timers[3]
                raise Need(root="A", tasks=(1, 2), held=True)
            case 2:
                assert family.tasks[1] == ended
                assert family.held == [held, bare]
                assert not family.timers
                raise Need(free=("taken", "a.x.2.b"), ids=2)
            case _:
                assert facts.taken == {"taken": "Taken", "a.x.2.b": None}
                assert len(facts.ids) == 2

    await store.batch_decide(Written(Ask(token="A"), decide=decide))
    assert next(steps) == 4


async def test_changes_replace_what_was_there(store: Store) -> None:
    await write(
        store,
        Changes(
            new_tokens=[token("A", task=1, paused_at=AT)],
            new_tasks=[task(1, "A")],
            new_timers=[timer(2, "A")],
            entries=[entry("A", 1, "started", context={})],
        ),
    )
    later = AT + timedelta(minutes=1)
    claimed = task(1, "A", status="claimed", attempt=1, claimed_by="s", lease_until=later)
    moved = token("A", seq=2, state="review", visit=2, context={"b": 2}, task=1, changed_at=later)

    def decide(facts: Facts, _now: datetime) -> Changes:
        loaded = facts.families["A"].tokens["A"]
        moved.counts = loaded.counts
        return Changes(
            tokens=[(moved, 1)],
            tasks=[claimed],
            timers=[timer(2, "A", status="cancelled")],
            entries=[entry("A", 2)],
        )

    await store.batch_decide(Written(Ask(token="A"), decide=decide))
    facts = await read(store, Ask(token="A"))
    family = facts.families["A"]
    assert family.tokens == {"A": moved}
    assert family.tasks == {1: claimed}
    assert not family.timers


async def test_held_events_are_cleared_before_new_ones_are_kept(store: Store) -> None:
    first = Held(arrival=1, token="A", event="x", payload=None)
    second = Held(arrival=1, token="A", event="y", payload=None)
    await write(store, Changes(new_tokens=[token("A")], held=[("A", first)]))
    await write(store, Changes(held_cleared=["A"], held=[("A", second)]))

    def decide(facts: Facts, _now: datetime) -> None:
        if facts.families["A"].held is None:
            raise Need(root="A", held=True)
        assert facts.families["A"].held == [second]

    await store.batch_decide(Written(Ask(token="A"), decide=decide))


@pytest.mark.parametrize(
    "spoiled",
    [
        Changes(tokens=[(token("A", seq=9), 7)]),
        Changes(tokens=[(token("nobody", seq=9), 1)]),
        Changes(new_tokens=[token("A")]),
        Changes(new_tokens=[token("a")]),
        Changes(tasks=[task(99, "A")]),
        Changes(timers=[timer(99, "A")]),
        Changes(entries=[entry("A", 1)]),
        Changes(entries=[entry("A", 2, key="k")]),
        Changes(new_tasks=[task(1, "A")]),
        Changes(new_tasks=[task(5, "A", status="asleep")]),
        Changes(entries=[entry("A", 2, "told")]),
        Changes(entries=[entry("A", 2, text={1, object()})]),
    ],
    ids=lambda changes: next(name for name in changes.__struct_fields__ if getattr(changes, name)),
)
async def test_a_conflict_commits_nothing_and_may_be_one_commands_fault(
    store: Store, spoiled: Changes
) -> None:
    await write(
        store,
        Changes(
            new_tokens=[token("A", task=1)],
            new_tasks=[task(1, "A")],
            entries=[entry("A", 1, key="k")],
        ),
    )
    spoiled.new_tokens.append(token("Z"))
    spoiled.memory.append(("Z", "draft", "k", 1))
    with pytest.raises(NotCommitted) as caught:
        await write(store, spoiled)
    assert caught.value.alone
    assert await store.token_read("Z") is None
    await write(store, Changes(new_tokens=[token("Y")]))
    assert await store.token_read("Y") is not None


async def test_a_decision_that_breaks_commits_nothing(store: Store) -> None:
    def decide(_facts: Facts, _now: datetime) -> Changes:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await store.batch_decide(Written(Ask(new="T", ids=2), decide=decide))
    await write(store, Changes(new_tokens=[token("T")]))
    assert await store.token_read("T") is not None


async def test_memory_is_set_deleted_and_wiped(store: Store) -> None:
    await write(
        store,
        Changes(
            new_tokens=[token("A", task=1), token("B", task=2)],
            new_tasks=[task(1, "A"), task(2, "B")],
            memory=[("A", "draft", "k", 1), ("A", "draft", "l", EXACT), ("B", "draft", "k", 1)],
        ),
    )
    await write(
        store,
        Changes(memory=[("A", "draft", "k", 1), ("A", "draft", "k", None)], memory_wiped=["B"]),
    )
    facts = await read(
        store,
        Ask(task=1, memory_key="k"),
        Ask(task=1, memory_key="l"),
        Ask(task=2, memory_key="k"),
    )
    assert facts.families["A"].memory_keys == {
        ("A", "draft", "k"): False,
        ("A", "draft", "l"): True,
    }
    assert facts.families["B"].memory_keys == {("B", "draft", "k"): False}
