"""What every handler of a state log keeps to, as checks that its own tests run (docs/state-log.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any, Final

import msgspec

from stateous.model.items import Acquired, ItemRecord
from stateous.model.refusals import ItemBusy, ItemMoveNotAllowed, StateousError
from stateous.model.state_log_handlers import ItemCall, StateLogContext, StateLogHandler
from stateous.model.state_logs import SCOPES

ENTITY: Final = "invoice"
WORKERS: Final = 8
"""Tasks that want one item at once."""


class StateLogTrial:
    """One trial of a handler, on items that nobody has asked it for before: `name` makes them new.

    A lock ends after `lock_for` seconds and what became of an item is forgotten after `kept_for`: the options `lock` and
    `retention` say so. A handler whose clock can be moved has a trial of its own, with another `wait`.
    """

    lock_for: int = 1
    kept_for: int = 2

    def __init__(self, handler: StateLogHandler, *, name: str = "trial") -> None:
        self.handler = handler
        self.name = name
        self._tasks = count(1)

    async def worker(self) -> StateLogContext:
        """The first attempt of another task of the state."""
        return self._context(next(self._tasks), place=f"{self.name}/dispatch")

    async def elsewhere(self) -> StateLogContext:
        """A task whose items are others, whatever they are called."""
        return self._context(next(self._tasks), place=f"{self.name}/elsewhere")

    async def later(self, context: StateLogContext) -> StateLogContext:
        """The next attempt of a task that has kept its locks."""
        return msgspec.structs.replace(context, attempt=context.attempt + 1)

    async def wait(self, seconds: float) -> None:
        """Let the time pass."""
        await asyncio.sleep(seconds)

    def _context(self, task: int, *, place: str) -> StateLogContext:
        return StateLogContext(
            scope="element",
            scope_id=SCOPES["element"],
            place=place,
            element=place,
            execution=f"TOKEN-{task}/dispatch/1",
            tenant="default",
            app="default",
            options={"lock": f"{self.lock_for}s", "retention": f"{self.kept_for}s"},
            token=f"TOKEN-{task}",
            task=task,
            attempt=1,
            supervisor="trial",
        )


Check = Callable[[StateLogTrial], Awaitable[None]]
"""Raises AssertionError with a sentence when the handler does not keep to it."""

_CHECKS: Final[list[Check]] = []


def state_log_checks() -> tuple[Check, ...]:
    """The checks; each wants a trial of its own, and its name says what it is about."""
    return tuple(_CHECKS)


def _check(check: Check) -> Check:
    _CHECKS.append(check)
    return check


class _Worker:
    """A task that works on items."""

    def __init__(self, trial: StateLogTrial, context: StateLogContext) -> None:
        self._log = trial.handler
        self.context = context

    def call(self, item: str, *, entity: str = ENTITY, **said: Any) -> ItemCall:
        return ItemCall(context=self.context, item=item, entity=entity, **said)

    async def exists(self, item: str, *, entity: str = ENTITY) -> bool:
        (found,) = await self._log.exists([self.call(item, entity=entity)])
        return found

    async def acquire(self, item: str, *, entity: str = ENTITY) -> Acquired:
        (told,) = await self._log.acquire([self.call(item, entity=entity)])
        return told

    async def get(self, item: str) -> ItemRecord | None:
        (found,) = await self._log.get([self.call(item)])
        return found

    async def set(self, item: str, status: Any = "processed", **said: Any) -> None:
        await self._log.set([self.call(item, status=status, **said)])

    async def release(self, item: str, reason: str = "no paper") -> None:
        await self._log.release([self.call(item, status="failed", reason=reason)])

    async def upsert(self, item: str, data: Any = None) -> None:
        await self._log.upsert([self.call(item, status="processed", data=data)])

    async def locks(self, item: str) -> None:
        told = await self.acquire(item)
        _is(told.outcome, "acquired", f"the outcome of the first acquire of {item}")

    async def has(self, item: str, status: str, said: str) -> None:
        found = await self.get(item)
        _is("none" if found is None else found.status, status, f"the status of an item {said}")


async def _worker(trial: StateLogTrial) -> _Worker:
    return _Worker(trial, await trial.worker())


async def _workers(trial: StateLogTrial) -> tuple[_Worker, _Worker]:
    return await _worker(trial), await _worker(trial)


def _is(found: object, wanted: object, what: str) -> None:
    if found != wanted:
        raise AssertionError(f"{what} is {found!r}, and should be {wanted!r}")


async def _refused(asking: Awaitable[object], kind: type[StateousError], what: str) -> None:
    try:
        await asking
    except kind:
        return
    raise AssertionError(f"{what} is not refused: it should raise {kind.__name__}")


# -- one task, and another ---------------------------------------------------------------------------


@_check
async def nothing_is_known_at_first(trial: StateLogTrial) -> None:
    one = await _worker(trial)
    _is(await one.exists("A"), False, "exists of an unknown item")
    await one.has("A", "none", "that nobody knows")


@_check
async def an_item_that_is_locked_is_busy_for_others(trial: StateLogTrial) -> None:
    one, two = await _workers(trial)
    await one.locks("A")
    _is(await two.exists("A"), False, "exists of an item that is worked on")
    told = await two.acquire("A")
    _is(told.outcome, "busy", "the outcome for another task")
    if told.until is None:
        raise AssertionError("a busy item has no time until which it is locked")
    await one.has("A", "processing", "that is worked on")


@_check
async def the_attempt_that_has_the_lock_may_take_it_again(trial: StateLogTrial) -> None:
    one = await _worker(trial)
    await one.locks("A")
    _is((await one.acquire("A")).outcome, "acquired", "the outcome of a repeated acquire")


@_check
async def of_many_who_want_an_item_at_once_one_gets_it(trial: StateLogTrial) -> None:
    workers = [await _worker(trial) for _ in range(WORKERS)]
    told = await asyncio.gather(*(worker.acquire("A") for worker in workers))
    _is(sum(map(bool, told)), 1, f"how many of {WORKERS} got the lock")


@_check
async def what_is_processed_is_done_for_all(trial: StateLogTrial) -> None:
    one, two = await _workers(trial)
    await one.locks("A")
    await one.set("A", data={"number": 7})
    for worker in (one, two):
        _is(await worker.exists("A"), True, "exists of a processed item")
        told = await worker.acquire("A")
        kept = (told.outcome, told.status, told.data)
        _is(kept, ("done", "processed", {"number": 7}), "what acquire tells of a processed item")
    record = await two.get("A")
    if record is None:
        raise AssertionError("a processed item has no record")
    found = (record.item, record.entity, record.status, record.data, record.locked_until)
    _is(found, ("A", ENTITY, "processed", {"number": 7}, None), "the record of a processed item")


@_check
async def only_who_has_the_lock_says_what_became_of_it(trial: StateLogTrial) -> None:
    one, two = await _workers(trial)
    await _refused(one.set("A"), ItemMoveNotAllowed, "processed, without a lock,")
    await _refused(one.release("A"), ItemMoveNotAllowed, "failed, without a lock,")
    await one.locks("A")
    await _refused(two.set("A"), ItemBusy, "processed, with another's lock,")
    await _refused(two.set("A", "skipped"), ItemBusy, "skipped, with another's lock,")
    await _refused(two.release("A"), ItemBusy, "failed, with another's lock,")
    await one.has("A", "processing", "of which another spoke")


@_check
async def what_failed_can_be_acquired_again(trial: StateLogTrial) -> None:
    one, two = await _workers(trial)
    await one.locks("A")
    await one.release("A", "no paper")
    _is(await two.exists("A"), False, "exists of a failed item")
    await one.has("A", "failed", "that was released")
    told = await two.acquire("A")
    _is((told.outcome, told.reason), ("acquired", "no paper"), "what acquire tells after a failure")
    await two.set("A", "failed", reason="no ink")
    _is((await one.acquire("A")).reason, "no ink", "the reason after a set to failed")


@_check
async def what_is_skipped_counts_as_done(trial: StateLogTrial) -> None:
    one, two = await _workers(trial)
    await one.set("A", "skipped", reason="not ours")
    await one.set("A", "skipped", reason="not ours")
    _is(await two.exists("A"), True, "exists of a skipped item")
    told = await two.acquire("A")
    found = (told.outcome, told.status)
    _is(found, ("done", "skipped"), "what acquire tells of a skipped item")
    await _refused(two.set("A"), ItemMoveNotAllowed, "processed, after skipped,")
    await _refused(two.upsert("A"), ItemMoveNotAllowed, "an upsert of a skipped item")
    await one.locks("B")
    await one.set("B", "skipped")
    await one.has("B", "skipped", "that was locked and skipped")


@_check
async def an_upsert_keeps_the_newest_record(trial: StateLogTrial) -> None:
    one, two = await _workers(trial)
    await one.upsert("A", {"page": 1})
    await two.upsert("A", {"page": 2})
    _is((await one.acquire("A")).data, {"page": 2}, "the data after two upserts")
    await one.locks("B")
    await _refused(two.upsert("B"), ItemBusy, "an upsert with another's lock")
    await one.upsert("B", {"page": 3})
    await two.has("B", "processed", "that was locked and upserted")
    await one.locks("C")
    await one.release("C")
    await two.upsert("C")
    await one.has("C", "processed", "that had failed and was upserted")


@_check
async def a_repeat_changes_nothing(trial: StateLogTrial) -> None:
    one = await _worker(trial)
    await one.locks("A")
    await one.set("A", data=[1])
    await one.set("A", data=[1])
    await one.locks("B")
    await one.release("B")
    await one.release("B")
    await one.upsert("C", [2])
    await one.upsert("C", [2])
    for item, status in (("A", "processed"), ("B", "failed"), ("C", "processed")):
        await one.has(item, status, "after a repeat")


# -- later attempts, and time ------------------------------------------------------------------------


@_check
async def a_later_attempt_has_the_locks_that_its_task_has_kept(trial: StateLogTrial) -> None:
    one = await _worker(trial)
    await one.locks("A")
    await one.locks("B")
    later = _Worker(trial, await trial.later(one.context))
    _is((await later.acquire("A")).outcome, "acquired", "the outcome for a later attempt")
    await _refused(one.set("A"), StateousError, "processed, by an attempt that is over,")
    await later.set("A", data=1)
    await later.set("B", data=2)
    await later.has("A", "processed", "that a later attempt went on with")
    await later.has("B", "processed", "that a later attempt completed")


@_check
async def a_lock_ends_when_its_time_is_over(trial: StateLogTrial) -> None:
    one, two = await _workers(trial)
    await one.locks("A")
    await one.locks("B")
    await trial.wait(trial.lock_for + 0.1)
    told = await two.acquire("A")
    _is(told.outcome, "acquired", "the outcome once the lock's time is over")
    if not told.reason:
        raise AssertionError("the reason after a lock that ran out is missing")
    await _refused(one.set("A"), ItemBusy, "processed, after the lock ran out and another took it,")
    await two.set("A", data=2)
    _is((await one.acquire("A")).data, 2, "the data of who took the lock over")
    await two.upsert("B")
    await one.has("B", "processed", "that was upserted after its lock ran out")


@_check
async def what_was_kept_long_enough_is_forgotten(trial: StateLogTrial) -> None:
    one, two = await _workers(trial)
    await one.locks("A")
    await one.set("A", data=1)
    await one.set("B", "skipped")
    await trial.wait(trial.kept_for + 0.1)
    for item in ("A", "B"):
        _is(await two.exists(item), False, f"exists of {item} after its retention")
        told = await two.acquire(item)
        _is(told.outcome, "acquired", f"the outcome of {item} after its retention")


# -- names, several, data ----------------------------------------------------------------------------


@_check
async def entities_and_places_keep_items_apart(trial: StateLogTrial) -> None:
    one, far = await _worker(trial), _Worker(trial, await trial.elsewhere())
    await one.locks("A")
    await one.set("A")
    _is(await one.exists("A", entity="receipt"), False, "exists of the item of another entity")
    _is(await one.exists("A", entity=""), False, "exists of the item of no entity")
    _is(await one.exists("a"), False, "exists of an item in another case")
    _is(await one.exists("A "), False, "exists of an item with a space more")
    _is(await far.exists("A"), False, "exists of the item in another place")
    _is((await far.acquire("A")).outcome, "acquired", "the outcome in another place")
    _is(await one.exists("A"), True, "exists where it is processed")


@_check
async def several_are_answered_in_their_order(trial: StateLogTrial) -> None:
    one, two = await _workers(trial)
    await trial.handler.acquire([one.call(item) for item in ("D", "B", "A")])
    await trial.handler.set([one.call("B", status="processed", data=1)])
    told = await trial.handler.acquire([two.call(item) for item in ("A", "B", "C", "D")])
    found = [each.outcome for each in told]
    _is(found, ["busy", "done", "acquired", "busy"], "the outcomes of four items")
    exist = await trial.handler.exists([two.call(item) for item in ("C", "B")])
    _is(list(exist), [False, True], "exists of two items")
    records = await trial.handler.get([two.call(item) for item in ("X", "B")])
    found = [None if each is None else each.item for each in records]
    _is(found, [None, "B"], "get of two items")


@_check
async def several_are_done_as_a_whole_or_not_at_all(trial: StateLogTrial) -> None:
    one, two = await _workers(trial)
    await one.locks("A")
    await one.locks("C")
    await two.locks("B")
    calls = [one.call(item, status="processed") for item in ("A", "B", "C")]
    await _refused(trial.handler.set(calls), ItemBusy, "a set with one item that another has")
    await one.has("A", "processing", "beside one that was refused")
    await one.has("C", "processing", "beside one that was refused")
    calls = [one.call(item, status="processed", data=item) for item in ("D", "B")]
    await _refused(trial.handler.upsert(calls), ItemBusy, "an upsert with one that another has")
    await one.has("D", "none", "beside one that was refused")


@_check
async def data_comes_back_as_it_was(trial: StateLogTrial) -> None:
    one, two = await _workers(trial)
    kept: Any = {"z": 1, "a": [True, None, 0.1, 2**70, -1e16], "Ünïcødé ✓": {"": '\t"\\'}}
    for item, data in (("A", kept), ("B", "text"), ("C", 0), ("D", False), ("E", None)):
        await one.upsert(item, data)
        found = await two.get(item)
        written = None if found is None else msgspec.json.encode(found.data)
        _is(written, msgspec.json.encode(data), f"the data of {item}")


@_check
async def a_list_is_in_order_and_of_its_place(trial: StateLogTrial) -> None:
    one, far = await _worker(trial), _Worker(trial, await trial.elsewhere())
    for entity, item in (("invoice", "B"), ("invoice", "A"), ("bill", "C")):
        await trial.handler.upsert([one.call(item, entity=entity, status="processed", data=item)])
    await one.locks("D")
    await far.upsert("X")

    async def listed(**asked: Any) -> list[str]:
        given: dict[str, Any] = {
            "entity": None,
            "status": None,
            "limit": 100,
            "after": None,
            **asked,
        }
        return [each.item for each in await trial.handler.list(one.context, **given)]

    _is(await listed(), ["C", "A", "B", "D"], "the list of a place")
    _is(await listed(entity="invoice"), ["A", "B", "D"], "the list of an entity")
    _is(await listed(status="processing"), ["D"], "the list of a status")
    _is(await listed(limit=2), ["C", "A"], "a list of two")
    _is(await listed(after=("invoice", "A")), ["B", "D"], "a list after the second item")
