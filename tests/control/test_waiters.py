"""Who waits for a task: called in order, as many as can take what is ready, and no call is lost."""

from __future__ import annotations

import asyncio

from stateous.control.waiters import Waiter, Waiters
from stateous.engine.commands import Claim


def waiter(*queues: str, most: int = 1, wait: float = 60.0) -> Waiter:
    claim = Claim(supervisor="box", states=queues, max=most)
    until = asyncio.get_running_loop().time() + wait
    return Waiter(claim, until=until, waits=True)


def added(waiters: Waiters, *each: Waiter) -> None:
    for one in each:
        waiters.add(one)


async def test_as_many_are_called_as_tasks_are_ready_the_first_come_first() -> None:
    waiters = Waiters()
    first, second, third = waiter("a"), waiter("a", "b"), waiter("a")
    added(waiters, first, second, third)
    waiters.wake({"a": 2})
    assert (first.called, second.called, third.called) == ({"a"}, {"a"}, set())
    assert len(waiters) == 3


async def test_who_waits_for_another_queue_is_not_called() -> None:
    waiters = Waiters()
    other = waiter("b")
    added(waiters, other)
    waiters.wake({"a": 5})
    assert not other.called


async def test_who_takes_several_counts_for_several() -> None:
    waiters = Waiters()
    many, one, rest = waiter("a", most=3), waiter("a"), waiter("a")
    added(waiters, many, one, rest)
    waiters.wake({"a": 4})
    assert (bool(many.called), bool(one.called), bool(rest.called)) == (True, True, False)


async def test_who_was_called_and_has_not_looked_yet_is_not_called_to_another_task() -> None:
    waiters = Waiters()
    both, other = waiter("a", "b"), waiter("b")
    added(waiters, both, other)
    waiters.wake({"a": 1})
    waiters.wake({"b": 1})
    assert (both.called, other.called) == ({"a"}, {"b"})


async def test_who_leaves_without_having_looked_passes_its_call_on() -> None:
    waiters = Waiters()
    first, second, third = waiter("a", "b"), waiter("b"), waiter("a")
    added(waiters, first, second, third)
    waiters.wake({"a": 1})
    waiters.remove(first)
    assert (second.called, third.called) == (set(), {"a"})
    assert set(waiters.queues) == {"a", "b"}
    waiters.remove(third)
    waiters.remove(second)
    assert len(waiters) == 0
    assert waiters.queues == ()


async def test_who_leaves_without_a_call_passes_nothing_on() -> None:
    waiters = Waiters()
    first, second = waiter("a"), waiter("a")
    added(waiters, first, second)
    waiters.remove(first)
    waiters.remove(first)
    assert not second.called


async def test_a_waiter_sleeps_until_it_is_called_or_its_time_is_over() -> None:
    called, over = waiter("a"), waiter("a", wait=0.01)
    sleeping = asyncio.ensure_future(called.sleep())
    await over.sleep()
    assert over.is_over()
    assert not sleeping.done()
    called.call("a")
    await sleeping
    assert not called.is_over()
    # A call that came before it slept is not slept over.
    await called.sleep()


async def test_a_rest_ends_by_itself() -> None:
    resting = waiter("a")
    await resting.sleep(at_most=0.01)
    assert not resting.is_over()


async def test_nobody_waits_after_a_hurry() -> None:
    waiters = Waiters()
    first = waiter("a")
    added(waiters, first)
    sleeping = asyncio.ensure_future(first.sleep())
    await asyncio.sleep(0)
    waiters.hurry()
    await sleeping
    assert first.is_over()
    assert not first.called


async def test_what_nobody_takes_is_told() -> None:
    waiters = Waiters()
    added(waiters, waiter("a", most=2))
    assert waiters.wake({"a": 5, "b": 1}) == {"a": 3, "b": 1}
    # Who was called already takes no more.
    assert waiters.wake({"a": 1}) == {"a": 1}


async def test_the_call_of_who_leaves_is_told_when_nobody_else_is_there_to_take_it() -> None:
    waiters = Waiters()
    first, second = waiter("a"), waiter("a")
    added(waiters, first, second)
    assert waiters.wake({"a": 1}) == {}
    assert waiters.remove(first) == {}
    assert waiters.remove(second) == {"a": 1}
    assert waiters.remove(second) == {}


async def test_when_it_is_not_known_how_many_tasks_there_are_all_who_wait_for_them_are_called() -> (
    None
):
    waiters = Waiters()
    first, second, other = waiter("a"), waiter("a"), waiter("b")
    added(waiters, first, second, other)
    waiters.wake_all(["a", "c"])
    assert (first.called, second.called, other.called) == ({"a"}, {"a"}, set())
