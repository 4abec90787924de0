"""The lane of claims and heartbeats: batches of what arrived together, and faults that end with their batch."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from stateous.control.gathering import MOST_ITEMS, Gatherer


class Doubler:
    """Doubles each number of a batch; a negative one is refused, a zero spoils the whole batch."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []

    async def __call__(self, items: Sequence[int]) -> Sequence[int | Exception]:
        self.batches.append(list(items))
        await asyncio.sleep(0)
        if 0 in items:
            raise RuntimeError("spoilt")
        answers = [ValueError(str(item)) if item < 0 else item * 2 for item in items]
        return answers[:-1] if 13 in items else answers


async def test_what_arrives_together_shares_a_batch_of_at_most_200() -> None:
    doubler = Doubler()
    gatherer: Gatherer[int, int] = Gatherer(doubler)
    answers = await asyncio.gather(*(gatherer.submit(n) for n in range(20, 270)))
    assert answers == [n * 2 for n in range(20, 270)]
    assert [len(batch) for batch in doubler.batches] == [MOST_ITEMS, 50]


async def test_a_fault_is_its_own_callers_and_a_spoilt_batch_everybodys() -> None:
    gatherer: Gatherer[int, int] = Gatherer(Doubler())
    answers = await asyncio.gather(
        *(gatherer.submit(n) for n in (1, -1, 2)), return_exceptions=True
    )
    assert [type(answer) for answer in answers] == [int, ValueError, int]
    answers = await asyncio.gather(*(gatherer.submit(n) for n in (1, 0)), return_exceptions=True)
    assert [type(answer) for answer in answers] == [RuntimeError, RuntimeError]
    assert await gatherer.submit(4) == 8


async def test_a_wrong_number_of_answers_stops_no_later_batch() -> None:
    gatherer: Gatherer[int, int] = Gatherer(Doubler())
    with pytest.raises(ValueError, match="shorter"):
        await gatherer.submit(13)
    assert await gatherer.submit(4) == 8


async def test_who_is_cancelled_before_its_batch_is_not_in_it() -> None:
    doubler = Doubler()
    gatherer: Gatherer[int, int] = Gatherer(doubler)
    first, second, third = (asyncio.ensure_future(gatherer.submit(n)) for n in (1, 2, 3))
    await asyncio.sleep(0)
    second.cancel()
    assert await asyncio.gather(first, third) == [2, 6]
    assert doubler.batches == [[1, 3]]
    only = asyncio.ensure_future(gatherer.submit(4))
    await asyncio.sleep(0)
    only.cancel()
    await gatherer.settle()
    assert doubler.batches == [[1, 3]]


class Held:
    """Handles a batch when it is let to."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()

    async def __call__(self, items: Sequence[int]) -> Sequence[int | Exception]:
        self.begun.set()
        await self.go_on.wait()
        self.go_on.clear()
        return items


async def test_to_settle_waits_for_a_batch_whose_callers_are_gone_and_for_nothing_later() -> None:
    held = Held()
    gatherer: Gatherer[int, int] = Gatherer(held)
    await gatherer.settle()
    gone = asyncio.ensure_future(gatherer.submit(1))
    await held.begun.wait()
    gone.cancel()
    settling = asyncio.ensure_future(gatherer.settle())
    await asyncio.sleep(0)
    later = asyncio.ensure_future(gatherer.submit(2))
    await asyncio.sleep(0)
    assert not settling.done()
    held.go_on.set()
    await settling
    assert not later.done()
    held.go_on.set()
    assert await later == 2
