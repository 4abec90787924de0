"""The token lane: order, skipping, waiting alone, deadlines, and what a rollback does."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from stateous.control import lane as lanes
from stateous.control.lane import TokenLane
from stateous.engine.answers import Answer, Done, Moved, Started, Told
from stateous.engine.commands import Fire, Messages, Note, Pause, Resume, Start
from stateous.model.refusals import DatabaseBusy, EventNotAllowed, Unexpected
from stateous.store.store import NotCommitted, OutcomeUnknown, Store
from tests.control.scripted import ScriptedStore


@pytest.fixture
def store() -> ScriptedStore:
    return ScriptedStore()


@pytest.fixture
def lane(store: ScriptedStore) -> TokenLane:
    return TokenLane(
        cast("Store", store),
        store.world.rules,
        rest_for=lambda _: 0.001,
        ready=store.told.append,
    )


async def in_flight(store: ScriptedStore, batches: int) -> None:
    """Return when the store has been given so many batches."""
    while len(store.batches) < batches:  # noqa: ASYNC110 - the store tells nobody
        await asyncio.sleep(0)


def order(token: str) -> Start:
    return Start(token, {"title": "a title"})


async def test_commands_that_wait_together_share_a_batch(
    lane: TokenLane, store: ScriptedStore
) -> None:
    answers = await asyncio.gather(*(lane.submit(order(f"T{n}")) for n in range(50)))
    assert all(isinstance(answer, Started) and answer.created for answer in answers)
    # Two may be in flight, so they share what waits: one is decided while the other is saved.
    assert [len(batch) for batch in store.batches] == [25, 25]


async def test_what_is_little_is_not_shared_between_batches(
    lane: TokenLane, store: ScriptedStore
) -> None:
    await asyncio.gather(*(lane.submit(order(f"T{n}")) for n in range(10)))
    assert [len(batch) for batch in store.batches] == [10]


async def test_a_batch_has_at_most_200_commands_and_8_mib(
    lane: TokenLane, store: ScriptedStore
) -> None:
    await asyncio.gather(*(lane.submit(order(f"T{n}")) for n in range(450)))
    assert [len(batch) for batch in store.batches] == [200, 200, 50]
    store.batches.clear()
    megabyte = 1024 * 1024
    await asyncio.gather(*(lane.submit(order(f"B{n}"), size=megabyte) for n in range(20)))
    assert [len(batch) for batch in store.batches] == [8, 8, 4]


async def test_commands_of_one_token_keep_their_order_across_batches(
    lane: TokenLane, store: ScriptedStore
) -> None:
    gate = asyncio.Event()
    store.script.append(gate)
    first = asyncio.ensure_future(lane.submit(order("T")))
    await in_flight(store, 1)
    second = asyncio.ensure_future(lane.submit(Fire("T", "submitted")))
    third = asyncio.ensure_future(lane.submit(Fire("T", "reviewed", {"approved": True})))
    other = await lane.submit(order("U"))
    assert isinstance(other, Started)
    assert not second.done()
    gate.set()
    await first
    answers = await asyncio.gather(second, third)
    assert [answer.token.status for answer in answers if isinstance(answer, Moved)] == [
        "active",
        "completed",
    ]


async def test_a_skipped_command_is_tried_again_and_those_behind_it_stay_behind(
    lane: TokenLane, store: ScriptedStore
) -> None:
    await lane.submit(order("T"))
    store.script.extend([{"T"}, {"T"}])
    answers = await asyncio.gather(
        lane.submit(Fire("T", "submitted")),
        lane.submit(Fire("T", "reviewed", {"approved": True})),
    )
    assert [a.token.status for a in answers if isinstance(a, Moved)] == ["active", "completed"]
    assert store.waited[-1] is None


async def test_a_command_that_was_skipped_three_times_goes_alone_and_waits(
    lane: TokenLane, store: ScriptedStore
) -> None:
    await lane.submit(order("T"))
    store.script.extend([{"T"}, {"T"}, {"T"}])
    answer = await lane.submit(Fire("T", "submitted"))
    assert isinstance(answer, Moved)
    assert store.batches[-1] == [Fire("T", "submitted")]
    waited = store.waited[-1]
    assert waited is not None
    assert 0 < waited <= lanes.DEADLINE_FOR


async def test_a_command_in_no_batch_is_refused_at_its_deadline(
    lane: TokenLane, store: ScriptedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "DEADLINE_FOR", 0.05)
    monkeypatch.setattr(lanes, "SWEEP_EVERY", 0.01)
    gates = [asyncio.Event(), asyncio.Event()]
    store.script.extend(gates)
    in_batches: list[asyncio.Future[Answer]] = []
    for name in ("T", "U"):
        in_batches.append(asyncio.ensure_future(lane.submit(order(name))))
        await in_flight(store, len(in_batches))
    with pytest.raises(DatabaseBusy):
        await lane.submit(order("V"))
    for gate in gates:
        gate.set()
    # These were in a batch all the time: the batch's outcome is their answer, however late.
    assert all(isinstance(answer, Started) for answer in await asyncio.gather(*in_batches))


async def test_a_command_whose_batches_all_fail_is_refused_at_its_deadline(
    lane: TokenLane, store: ScriptedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "DEADLINE_FOR", 0.05)
    monkeypatch.setattr(lanes, "SWEEP_EVERY", 60)
    store.script.extend(NotCommitted("a lock timeout", alone=False) for _ in range(1000))
    with pytest.raises(DatabaseBusy):
        await lane.submit(order("T"))


async def test_a_rollback_by_one_command_sends_each_alone_and_hurts_no_neighbour(
    lane: TokenLane, store: ScriptedStore
) -> None:
    store.script.append(NotCommitted("a bad value", alone=True))
    answers = await asyncio.gather(*(lane.submit(order(f"T{n}")) for n in range(3)))
    assert all(isinstance(answer, Started) for answer in answers)
    assert [len(batch) for batch in store.batches] == [3, 1, 1, 1]


async def test_a_command_that_the_database_refuses_alone_is_unexpected(
    lane: TokenLane, store: ScriptedStore
) -> None:
    store.script.extend(NotCommitted("a bad value", alone=True) for _ in range(9))
    with pytest.raises(Unexpected):
        await lane.submit(order("T"))
    assert len(store.batches) == lanes.FAILURES_BEFORE_UNEXPECTED
    store.script.clear()
    assert isinstance(await lane.submit(order("T")), Started)


async def test_a_lost_connection_sends_the_whole_batch_again(
    lane: TokenLane, store: ScriptedStore
) -> None:
    store.script.extend(NotCommitted("the connection was lost", alone=False) for _ in range(5))
    answers = await asyncio.gather(*(lane.submit(order(f"T{n}")) for n in range(3)))
    assert all(isinstance(answer, Started) for answer in answers)
    assert store.waited == [None] * len(store.waited)


async def test_an_outcome_that_cannot_be_told_is_said_and_not_tried_again(
    lane: TokenLane, store: ScriptedStore
) -> None:
    store.script.append(OutcomeUnknown("the connection was lost while COMMIT was under way"))
    with pytest.raises(Unexpected):
        await lane.submit(order("T"))
    assert len(store.batches) == 1


async def test_a_fault_of_the_store_answers_the_batch_and_the_lane_goes_on(
    lane: TokenLane, store: ScriptedStore
) -> None:
    store.script.append(RuntimeError("a bug"))
    with pytest.raises(Unexpected):
        await lane.submit(order("T"))
    assert isinstance(await lane.submit(order("T")), Started)


async def test_a_client_that_hangs_up_cancels_nothing(
    lane: TokenLane, store: ScriptedStore
) -> None:
    gate = asyncio.Event()
    store.script.append(gate)
    caller = asyncio.ensure_future(lane.submit(order("T")))
    await in_flight(store, 1)
    caller.cancel()
    gate.set()
    await lane.drain()
    assert "T" in store.world.tokens


async def test_a_refusal_reaches_only_its_own_caller(lane: TokenLane) -> None:
    await lane.submit(order("T"))
    results = await asyncio.gather(
        lane.submit(Fire("T", "nonsense")), lane.submit(order("U")), return_exceptions=True
    )
    assert isinstance(results[0], EventNotAllowed)
    assert isinstance(results[1], Started)


async def test_what_waits_is_bounded_wherever_it_waits(
    lane: TokenLane, store: ScriptedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "MOST_WAITING", 3)
    monkeypatch.setattr(lanes, "MOST_WAITING_BYTES", 1000)
    gate = asyncio.Event()
    store.script.append(gate)
    taken = [asyncio.ensure_future(lane.submit(order("T"), size=400))]
    await in_flight(store, 1)
    # These wait behind the first one, since they are of its token.
    taken += [asyncio.ensure_future(lane.submit(order("T"), size=300)) for _ in range(2)]
    await asyncio.sleep(0)
    for size in (0, 1):
        with pytest.raises(DatabaseBusy, match="more commands waiting"):
            await lane.submit(order("U"), size=size)
    gate.set()
    assert all(isinstance(answer, Started) for answer in await asyncio.gather(*taken))
    with pytest.raises(DatabaseBusy, match="more commands waiting"):
        await lane.submit(order("U"), size=1001)
    assert isinstance(await lane.submit(order("U"), size=1000), Started)


async def test_commands_of_one_named_subject_keep_their_order_whatever_their_tokens(
    lane: TokenLane, store: ScriptedStore
) -> None:
    gate = asyncio.Event()
    store.script.append(gate)
    family = ("family", "F")
    first = asyncio.ensure_future(lane.submit(order("T"), subject=family))
    await in_flight(store, 1)
    second = asyncio.ensure_future(lane.submit(order("U"), subject=family))
    assert isinstance(await lane.submit(order("V")), Started)
    assert not second.done()
    gate.set()
    await asyncio.gather(first, second)
    assert [[command.token for command in batch if isinstance(command, Start)]
            for batch in store.batches] == [["T"], ["V"], ["U"]]  # fmt: skip


async def test_messages_of_one_request_share_a_batch(lane: TokenLane, store: ScriptedStore) -> None:
    names = [f"T{n}" for n in range(150)]
    await asyncio.gather(*(lane.submit(order(name)) for name in names))
    tasks = [token.task for token in store.world.tokens.values()]
    said = [
        Messages(task=task or 0, said=(Note(task=task or 0, text="half way", id="n"),))
        for task in tasks
    ]
    store.world.claim("draft", most=150)
    store.batches.clear()
    others = [asyncio.ensure_future(lane.submit(order(f"U{n}"))) for n in range(60)]
    await asyncio.sleep(0)
    told = await lane.tell(said[:64], size=1024)
    await asyncio.gather(*others)
    assert [answer.results for answer in told if isinstance(answer, Told)] == [(Done(),)] * 64
    together = [batch for batch in store.batches if any(isinstance(c, Messages) for c in batch)]
    assert len(together) == 1
    assert sum(isinstance(command, Messages) for command in together[0]) == 64


async def test_messages_that_are_too_many_for_a_batch_are_told_all_the_same(
    lane: TokenLane, store: ScriptedStore
) -> None:
    said = [Messages(task=n, said=(Note(task=n, text="x"),)) for n in range(1, 451)]
    told = await lane.tell(said, size=0)
    assert all(isinstance(answer, Told) for answer in told)
    assert [len(batch) for batch in store.batches] == [200, 200, 50]


async def test_a_batch_has_at_most_200_messages_unless_one_task_has_more(
    lane: TokenLane, store: ScriptedStore
) -> None:
    sizes = [150, 40, 20, 1000, 1, 1]
    said = [
        Messages(task=n, said=(Note(task=n, text="x"),) * size) for n, size in enumerate(sizes, 1)
    ]
    told = await lane.tell(said, size=0)
    assert [len(answer.results) for answer in told if isinstance(answer, Told)] == sizes
    found = [
        [len(each.said) for each in batch if isinstance(each, Messages)] for batch in store.batches
    ]
    assert found == [[150, 40, 20], [1000], [1, 1]]


async def test_messages_are_refused_task_by_task_when_too_many_wait(
    lane: TokenLane, store: ScriptedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "MOST_WAITING", 2)
    said = [Messages(task=n, said=(Note(task=n, text="x"),)) for n in range(1, 5)]
    told = await lane.tell(said, size=0)
    assert [type(answer) for answer in told] == [Told, Told, DatabaseBusy, DatabaseBusy]
    assert [len(batch) for batch in store.batches] == [2]
    # The places are free again.
    assert [type(answer) for answer in await lane.tell(said[2:], size=0)] == [Told, Told]


async def test_what_becomes_ready_is_told_after_the_commit_and_not_before(
    lane: TokenLane, store: ScriptedStore
) -> None:
    gate = asyncio.Event()
    store.script.append(gate)
    starting = asyncio.ensure_future(lane.submit(order("T")))
    await in_flight(store, 1)
    assert store.told == []
    gate.set()
    await starting
    assert store.told == [{"draft": 1}]
    await lane.submit(Fire("T", "submitted"))
    await lane.submit(Pause("T"))
    await lane.submit(Resume("T"))
    assert [told for told in store.told if told] == [{"draft": 1}, {"review": 1}, {"review": 1}]
    store.script.append(OutcomeUnknown("lost"))
    with pytest.raises(Unexpected):
        await lane.submit(order("U"))
