"""The checks of state log handlers: those of the kit keep to them, and what breaks a promise is found."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from stateous import Acquired, ItemCall, ItemRecord, StateLogContext, StateousError
from stateous.engine.commands import Checkpoint, Claim, Command, Report, Respond, Start
from stateous.model.graph import parse_graph
from stateous.model.refusals import Refusal
from stateous.testing import StateLogTrial, state_log_checks
from stateous.testing.engine_log import EngineLog
from stateous.testing.memory_log import MemoryStateLog
from stateous.testing.memory_store import MemoryStore
from stateous.testing.one_task import granted
from stateous_supervisor.log_answers import NullLog, context_of
from tests.testing.dispatching import GRAPH

CHECKS = {check.__name__: check for check in state_log_checks()}
NOW = datetime(2030, 1, 1, tzinfo=UTC)


class InMemory(StateLogTrial):
    def __init__(self, kind: type[MemoryStateLog] = MemoryStateLog) -> None:
        self.now = NOW
        super().__init__(kind(now=lambda: self.now))

    async def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class InTheEngine(StateLogTrial):
    """Each task is one of a token of its own."""

    lock_for, kept_for = 60, 120

    def __init__(self) -> None:
        self.store = MemoryStore(parse_graph(GRAPH), now=NOW, lease_for=timedelta(days=1))
        super().__init__(EngineLog(self.store, decide=self.store.do))

    async def worker(self) -> StateLogContext:
        token = f"TOKEN-{len(self.store.tokens) + 1}"
        self._do(Start(token, {}))
        return self._claimed("dispatch")

    async def elsewhere(self) -> StateLogContext:
        context = await self.worker()
        self._do(Report(task=context.task, attempt=context.attempt, kind="event", event="sent"))
        return self._claimed("archive")

    async def later(self, context: StateLogContext) -> StateLogContext:
        asked = Checkpoint(
            task=context.task,
            attempt=context.attempt,
            revision=0,
            name="person",
            kind="response",
            status="open",
            correlation="c",
        )
        self._do(asked)
        self._do(
            Report(
                task=context.task,
                attempt=context.attempt,
                kind="waiting",
                awaiting=("person",),
                supervisor="trial",
            )
        )
        answer = Respond(task=context.task, step="person", correlation="c", status="completed")
        self._do(answer)
        return self._claimed("dispatch")

    async def wait(self, seconds: float) -> None:
        self.store.now += timedelta(seconds=seconds)
        self.store.tick()

    def _do(self, command: Command) -> None:
        answer = self.store.do(command)
        assert not isinstance(answer, Refusal), answer

    def _claimed(self, queue: str) -> StateLogContext:
        ((grant,),) = self.store.claim_together([Claim(supervisor="trial", states=(queue,))])
        return context_of(granted(grant, state=queue), supervisor="trial")


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("trial", [InMemory, InTheEngine])
def test_the_logs_of_the_kit_keep_to_them(trial: Callable[[], StateLogTrial], name: str) -> None:
    asyncio.run(_run(name, trial()))


async def _run(name: str, trial: StateLogTrial) -> None:
    await CHECKS[name](trial)


# -- what breaks a promise is found --------------------------------------------------------------------


class KeepsNothing(NullLog):
    def __init__(self, *, now: object) -> None: ...


class LocksForAll(MemoryStateLog):
    async def acquire(self, calls: Sequence[ItemCall], /) -> list[Acquired]:
        return [
            msgspec.structs.replace(told, outcome="acquired") if told.outcome == "busy" else told
            for told in await super().acquire(calls)
        ]


class LooksBeforeItLocks(MemoryStateLog):
    async def acquire(self, calls: Sequence[ItemCall], /) -> list[Acquired]:
        found = await self.get(calls)
        await asyncio.sleep(0)
        if all(each is None for each in found):
            self._kept.clear()
        return await super().acquire(calls)


class LocksOnce(MemoryStateLog):
    async def acquire(self, calls: Sequence[ItemCall], /) -> list[Acquired]:
        mine = [
            call
            for call, record in zip(calls, await self.get(calls), strict=True)
            if record is not None and record.status == "processing"
        ]
        if mine:
            return [Acquired(outcome="busy", until=NOW)] * len(calls)
        return await super().acquire(calls)


class Unlocked(MemoryStateLog):
    async def set(self, calls: Sequence[ItemCall], /) -> None:
        await self.upsert(calls)


class LockedForEver(MemoryStateLog):
    async def acquire(self, calls: Sequence[ItemCall], /) -> list[Acquired]:
        return await super().acquire([_with(call, lock="10d") for call in calls])


class KeptForEver(MemoryStateLog):
    async def set(self, calls: Sequence[ItemCall], /) -> None:
        await super().set([_with(call, retention="10d") for call in calls])


class ForOneAttempt(MemoryStateLog):
    """A lock belongs to the attempt, and not to the task."""

    async def acquire(self, calls: Sequence[ItemCall], /) -> list[Acquired]:
        return await super().acquire([_as_task(call) for call in calls])

    async def set(self, calls: Sequence[ItemCall], /) -> None:
        await super().set([_as_task(call) for call in calls])


class ForAnyAttempt(MemoryStateLog):
    def _refuse_stale(self, call: ItemCall, kept: Any) -> None: ...


class OneEntity(MemoryStateLog):
    async def set(self, calls: Sequence[ItemCall], /) -> None:
        await super().set(calls)
        for call in calls:
            await super().upsert([msgspec.structs.replace(call, entity="")])


class InAnyOrder(MemoryStateLog):
    async def acquire(self, calls: Sequence[ItemCall], /) -> list[Acquired]:
        return sorted(await super().acquire(calls), key=lambda told: told.outcome)


class OneByOne(MemoryStateLog):
    async def set(self, calls: Sequence[ItemCall], /) -> None:
        for call in calls:
            await super().set([call])


class InFloats(MemoryStateLog):
    async def get(self, calls: Sequence[ItemCall], /) -> list[ItemRecord | None]:
        records = [each for each in await super().get(calls) if each is not None]
        return [
            msgspec.structs.replace(each, data=float(each.data))
            if isinstance(each.data, int)
            else each
            for each in records
        ]


class InOrderOfArrival(MemoryStateLog):
    async def list(self, context: StateLogContext, /, **asked: Any) -> list[ItemRecord]:
        return [*reversed(await super().list(context, **asked))]


class Untold(MemoryStateLog):
    async def acquire(self, calls: Sequence[ItemCall], /) -> list[Acquired]:
        told = await super().acquire(calls)
        return [msgspec.structs.replace(each, reason=None, data=None) for each in told]


class NeverTwice(MemoryStateLog):
    def _is_repeat(self, call: ItemCall, kept: Any) -> bool:
        return False


class KnowsAll(MemoryStateLog):
    async def exists(self, calls: Sequence[ItemCall], /) -> list[bool]:
        return [True] * len(calls)


class OldestRecord(MemoryStateLog):
    async def upsert(self, calls: Sequence[ItemCall], /) -> None:
        if not any(await self.exists(calls)):
            await super().upsert(calls)


def _with(call: ItemCall, **options: str) -> ItemCall:
    context = msgspec.structs.replace(call.context, options={**call.context.options, **options})
    return msgspec.structs.replace(call, context=context)


def _as_task(call: ItemCall) -> ItemCall:
    task = call.context.task * 100 + call.context.attempt
    return msgspec.structs.replace(call, context=msgspec.structs.replace(call.context, task=task))


BROKEN: dict[str, type[Any]] = {
    "nothing_is_known_at_first": KnowsAll,
    "an_item_that_is_locked_is_busy_for_others": LocksForAll,
    "the_attempt_that_has_the_lock_may_take_it_again": LocksOnce,
    "of_many_who_want_an_item_at_once_one_gets_it": LooksBeforeItLocks,
    "what_is_processed_is_done_for_all": KeepsNothing,
    "only_who_has_the_lock_says_what_became_of_it": Unlocked,
    "what_failed_can_be_acquired_again": Untold,
    "what_is_skipped_counts_as_done": KeepsNothing,
    "an_upsert_keeps_the_newest_record": OldestRecord,
    "a_repeat_changes_nothing": NeverTwice,
    "a_later_attempt_has_the_locks_that_its_task_has_kept": ForAnyAttempt,
    "a_lock_ends_when_its_time_is_over": LockedForEver,
    "what_was_kept_long_enough_is_forgotten": KeptForEver,
    "entities_and_places_keep_items_apart": OneEntity,
    "several_are_answered_in_their_order": InAnyOrder,
    "several_are_done_as_a_whole_or_not_at_all": OneByOne,
    "data_comes_back_as_it_was": InFloats,
    "a_list_is_in_order_and_of_its_place": InOrderOfArrival,
}


def test_each_check_is_broken_here() -> None:
    assert BROKEN.keys() == CHECKS.keys()


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        *BROKEN.items(),
        ("a_later_attempt_has_the_locks_that_its_task_has_kept", ForOneAttempt),
    ],
)
def test_what_breaks_a_promise_is_found(name: str, broken: type[Any]) -> None:
    with pytest.raises((AssertionError, StateousError), match=r".+"):
        asyncio.run(_run(name, InMemory(broken)))
