"""Listings and histories, on both databases alike."""

from __future__ import annotations

from datetime import timedelta

from stateous.engine.changes import Changes
from stateous.engine.family import Remembered
from stateous.store.store import Store
from tests.store.written import AT, entry, task, token, write


async def test_tokens_are_listed_latest_first_then_by_code_point(store: Store) -> None:
    names = ["b", "B", "a", "_c", "Z-1", "Z.1", "É"]
    late = token("late", entered_at=AT + timedelta(microseconds=1), status="failed")
    early = token("early", entered_at=AT - timedelta(days=1), status="completed")
    await write(store, Changes(new_tokens=[early, late, token("c.x")]))
    distinct = [name for name in names if name != "B"]
    await write(store, Changes(new_tokens=[token(name) for name in distinct]))
    listed = await store.tokens_list(status=None, parent=None, limit=100)
    expected = ["late", *sorted([*distinct, "c.x"]), "early"]
    assert [found.token for found in listed] == expected
    assert listed[0] == late
    some = await store.tokens_list(status=None, parent=None, limit=3)
    assert some == listed[:3]


async def test_tokens_are_listed_by_status_and_parent(store: Store) -> None:
    children = [
        token("A.1", root="A", parent="A"),
        token("A.2", root="A", parent="A", status="completed"),
        token("A.1.1", root="A", parent="A.1"),
    ]
    await write(store, Changes(new_tokens=[token("A"), token("B", status="paused"), *children]))

    async def names(status: str | None, parent: str | None, limit: int = 9) -> list[str]:
        listed = await store.tokens_list(status=status, parent=parent, limit=limit)
        return [found.token for found in listed]

    assert await names("paused", None) == ["B"]
    assert await names("cancelled", None) == []
    assert await names(None, "A") == ["A.1", "A.2"]
    assert await names(None, "A", 1) == ["A.1"]
    assert await names("completed", "A") == ["A.2"]
    assert await names(None, "a") == []
    assert await names(None, "nobody\0") == []


async def test_a_token_is_read_by_its_exact_id(store: Store) -> None:
    await write(store, Changes(new_tokens=[token("Order")]))
    assert await store.token_read("Order") == token("Order")
    assert await store.token_read("order") is None
    assert await store.token_read("nul\0") is None
    assert await store.token_read("\ud800") is None
    assert await store.history_read("nul\0") is None


async def test_a_history_is_read_in_order_and_in_parts(store: Store) -> None:
    entries = [
        entry("A", 2, "note", key="secret", task=1, text="x"),
        entry("A", 1, "started", context={"n": 10**400, "f": 1.0}),
        entry("A", 3, "completed"),
    ]
    await write(store, Changes(new_tokens=[token("A"), token("B")], entries=entries))
    history = await store.history_read("A")
    assert history is not None
    assert [(found.seq, found.kind, found.at) for found in history] == [
        (1, "started", AT),
        (2, "note", AT),
        (3, "completed", AT),
    ]
    assert history[0].data == {"context": {"n": 10**400, "f": 1.0}}
    assert history[1].key is None
    assert await store.history_read("A", after=1) == history[1:]
    assert await store.history_read("A", after=1, limit=1) == history[1:2]
    assert await store.history_read("A", after=9) == []
    assert await store.history_read("A", after=2**70) == []
    assert await store.history_read("A", limit=2**70) == history
    assert await store.history_read("B") == []
    assert await store.history_read("C") is None


async def test_queues_are_looked_at_for_ready_tasks(store: Store) -> None:
    tasks = [
        task(1, "A", queue="draft"),
        task(2, "A", queue="draft"),
        task(3, "A", queue="claimed", status="claimed", claimed_by="box", lease_until=AT),
        task(4, "A", queue="done", status="done"),
        task(5, "P", queue="paused"),
        task(6, "A", queue="é/\u2028"),
    ]
    tokens = [token("A"), token("P", status="paused", paused_at=AT)]
    await write(store, Changes(new_tokens=tokens, new_tasks=tasks, parked={"P"}))
    asked = ["draft", "claimed", "done", "paused", "é/\u2028", "nothing", "draft"]
    assert await store.queues_look(asked) == {"draft", "é/\u2028"}
    assert await store.queues_look([]) == frozenset()


async def test_the_last_claim_of_a_supervisor_is_read(store: Store) -> None:
    last = Remembered("box", "r-1", ((7, 2), (2**53, 1)))
    await write(store, Changes(remembered=[last, Remembered("other", "r-2", ())]))
    assert await store.remembered_read("box") == last
    assert await store.remembered_read("other") == Remembered("other", "r-2", ())
    assert await store.remembered_read("Box") is None
