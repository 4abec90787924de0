"""The token lane: one transaction serves every command that waits, so round trips and commits are shared.

Commands of one token or task keep their order: one is not put into a batch while an earlier one is in
flight or was skipped. A command whose family another connection holds is skipped, rests, and at last goes
alone and waits for the lock: it holds nothing else then, so it cannot deadlock.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import cast

import structlog

from stateous.control.in_flight import ItemsInFlight
from stateous.control.waiting import Subject, Waiting
from stateous.engine.answers import Answer, Skipped, Told
from stateous.engine.batch import Batch, subject_of
from stateous.engine.commands import Carried, Command, FromInbox, Items, Messages, OfItems
from stateous.engine.facts import Blocked
from stateous.engine.family import ItemKey
from stateous.engine.inbox import instead_of
from stateous.engine.rules import Rules
from stateous.model.refusals import DatabaseBusy, Refusal, Unexpected
from stateous.store.store import (
    MOST_THAT_WAIT,
    ItemsBusy,
    NotCommitted,
    OutcomeUnknown,
    Store,
)

MOST_COMMANDS = 200
MOST_BYTES = 8 * 1024 * 1024
MOST_BATCHES = 2
SMALLEST_SHARE = 16
MOST_WAITING = 20_000
MOST_WAITING_BYTES = 256 * 1024 * 1024
DEADLINE_FOR = 10.0
SWEEP_EVERY = 0.25
SKIPS_BEFORE_ALONE = 3

SKIPS_OF_ITEMS = 20
"""Who waits for items has those that come before them locked, and holds up others: they are tried for about a second."""

FAILURES_BEFORE_UNEXPECTED = 3
REFUSED = "the database refused this command"

log: structlog.stdlib.BoundLogger = structlog.get_logger()


def _nobody(due: datetime) -> None:
    """Nobody is to be told."""


class TokenLane:
    """Gathers commands into batches, at most two in flight, and answers each of them.

    `rest_for` says how long a command rests that was put off for the n-th time, in seconds. `ready` is told,
    after each commit, how many tasks it made ready in each queue, and `due` when the first timer is due that it set.
    """

    def __init__(
        self,
        store: Store,
        rules: Rules,
        *,
        rest_for: Callable[[int], float],
        ready: Callable[[Mapping[str, int]], None],
        due: Callable[[datetime], None] = _nobody,
    ) -> None:
        self._store = store
        self._rules = rules
        self._rest_for = rest_for
        self._ready_told = ready
        self._due_told = due
        self._ready: deque[Waiting] = deque()
        self._behind: dict[Subject, deque[Waiting]] = {}
        self._resting: set[Waiting] = set()
        self._batches: set[asyncio.Task[None]] = set()
        self._items = ItemsInFlight()
        self._alone = 0
        # All that were submitted and have no answer yet, wherever they are.
        self._waiting = 0
        self._bytes = 0
        self._sweep: asyncio.TimerHandle | None = None
        self._is_pump_due = False

    async def submit(
        self, command: Command, *, size: int = 0, subject: Subject | None = None
    ) -> Answer:
        """The command's answer; raises its refusal. Cancelling the caller does not undo the command.

        Commands of one subject keep their order; it is the token or task that the command names, if nothing
        else is said.
        """
        # Only messages are answered with more than one answer.
        return cast("Answer", await self._put(command, size=size, subject=subject))

    async def submit_all(self, commands: Sequence[Command]) -> list[Answer | Refusal]:
        """The answer or refusal of each, in order; they share a batch if they can."""
        return cast("list[Answer | Refusal]", await self._all(commands, size=0))

    async def tell(self, messages: Sequence[Messages], *, size: int) -> list[Told | Refusal]:
        """What became of the messages of each task, in order; `size` is that of all of them together."""
        return cast("list[Told | Refusal]", await self._all(messages, size=size))

    async def _all(
        self, commands: Sequence[Carried], *, size: int
    ) -> list[Answer | Told | Refusal]:
        each = size // max(1, len(commands))
        waiting: list[asyncio.Future[Answer | Told] | Refusal] = []
        for command in commands:
            try:
                waiting.append(self._put(command, size=each, follows=bool(waiting)))
            except DatabaseBusy as refusal:
                waiting.append(refusal)
        futures = [each for each in waiting if not isinstance(each, Refusal)]
        if futures:
            await asyncio.wait(futures)
        return [each if isinstance(each, Refusal) else _outcome(each) for each in waiting]

    def _put(
        self,
        command: Carried,
        *,
        size: int,
        subject: Subject | None = None,
        follows: bool = False,
    ) -> asyncio.Future[Answer | Told]:
        """Let the command wait for its batch. Raises DatabaseBusy when too many wait."""
        loop = asyncio.get_running_loop()
        waiting = Waiting(
            command,
            answer=loop.create_future(),
            deadline=loop.time() + DEADLINE_FOR,
            size=size,
            subject=subject or subject_of(command),
            follows=follows,
        )
        if self._waiting >= MOST_WAITING or self._bytes + size > MOST_WAITING_BYTES:
            msg = "the control plane has more commands waiting than it can take: try again"
            raise DatabaseBusy(msg)
        self._waiting += 1
        self._bytes += size
        self._ready.append(waiting)
        self._pump_soon()
        return waiting.answer

    def _answer(self, waiting: Waiting, answer: Answer | Told | Refusal) -> None:
        self._waiting -= 1
        self._bytes -= waiting.size
        waiting.settle(answer)

    async def drain(self) -> None:
        """Wait until every batch in flight, and what waits for one, has been answered."""
        while self._waiting:
            if self._batches:
                await asyncio.wait(self._batches)
            else:
                await asyncio.sleep(0.001)

    # -- gathering ----------------------------------------------------------------------------------

    def _pump_soon(self) -> None:
        if not self._is_pump_due:
            self._is_pump_due = True
            asyncio.get_running_loop().call_soon(self._pump)

    def _pump(self) -> None:
        self._is_pump_due = False
        while self._ready and (free := MOST_BATCHES - len(self._batches) + self._alone) > 0:
            # Shared between the free places: one batch is decided while the database works on the other.
            share = max(SMALLEST_SHARE, -(-len(self._ready) // free))
            batch = self._gather(min(share, MOST_COMMANDS))
            if not batch:
                break
            self._send(batch)
        if self._sweep is None and (self._ready or self._behind or self._resting):
            self._sweep = asyncio.get_running_loop().call_later(SWEEP_EVERY, self._end_overdue)

    def _gather(self, most: int) -> list[Waiting]:
        batch: list[Waiting] = []
        size = count = 0
        now = asyncio.get_running_loop().time()
        while self._ready and count < MOST_COMMANDS:
            waiting = self._ready[0]
            if count >= most and not waiting.follows:
                break
            if batch and (waiting.alone or size + waiting.size > MOST_BYTES):
                break
            self._ready.popleft()
            if waiting.deadline <= now:
                # A batch that fails slowly would come back before any sweep sees that it is overdue.
                self._answer(waiting, _busy())
                continue
            behind = self._behind.get(waiting.subject)
            if behind is not None:
                behind.append(waiting)
                continue
            if self._items.holds_back(waiting):
                self._behind[waiting.subject] = deque()
                continue
            batch.append(waiting)
            size += waiting.size
            count += waiting.count
            if waiting.alone:
                break
        return batch

    def _send(self, batch: list[Waiting], *, wait_for: float | None = None) -> None:
        for waiting in batch:
            self._behind.setdefault(waiting.subject, deque())
        self._items.begin(batch)
        task = asyncio.get_running_loop().create_task(self._run(batch, wait_for))
        self._batches.add(task)
        if wait_for is not None:
            self._alone += 1
        items = [waiting.items for waiting in batch if waiting.items]
        task.add_done_callback(
            lambda done: self._finished(done, items, was_alone=wait_for is not None)
        )

    def _finished(
        self, task: asyncio.Task[None], items: list[frozenset[ItemKey]], *, was_alone: bool
    ) -> None:
        self._batches.discard(task)
        if was_alone:
            self._alone -= 1
        for waiting in reversed(self._items.end(items) if items else ()):
            behind = self._behind.pop(waiting.subject)
            self._ready.extendleft(reversed([waiting, *behind]))
        self._pump()

    # -- deciding -----------------------------------------------------------------------------------

    async def _run(self, batch: list[Waiting], wait_for: float | None) -> None:
        work = Batch(self._rules, [waiting.command for waiting in batch])
        try:
            await self._store.batch_decide(work, wait_for=wait_for)
        except Blocked as fault:
            batch[fault.place].was_busy()
            self._put_off_again(batch)
        except ItemsBusy:
            for waiting in batch:
                if isinstance(waiting.command, Items | OfItems):
                    waiting.was_busy()
            self._put_off_again(batch)
        except NotCommitted as fault:
            log.warning("batch.not_committed", commands=len(batch), reason=str(fault))
            self._put_off_all(batch, alone=fault.alone)
        except OutcomeUnknown as fault:
            log.exception("batch.outcome_unknown", commands=len(batch), reason=str(fault))
            unknown = Unexpected("whether this was done cannot be told: look at the token")
            unknown.__cause__ = fault
            self._settle_all(batch, unknown)
            self._tell(work)
        except Refusal as refusal:
            self._settle_all(batch, refusal)
        except Exception:
            log.exception("batch.failed", commands=len(batch))
            self._settle_all(batch, Unexpected("the control plane failed; its log says how"))
        else:
            for fault in work.faults:
                log.error("command.failed", exc_info=fault)
            self._settle(batch, work.answers)
            self._tell(work)

    def _tell(self, work: Batch) -> None:
        self._ready_told(work.ready)
        if work.due is not None:
            self._due_told(work.due)

    def _settle(
        self, batch: list[Waiting], answers: list[Answer | Told | Refusal | Skipped]
    ) -> None:
        skipped: list[Waiting] = []
        for waiting, answer in zip(batch, answers, strict=True):
            if isinstance(answer, Skipped):
                waiting.was_busy()
                skipped.append(waiting)
            else:
                self._answer(waiting, answer)
        self._put_off_again(skipped, of=batch)

    def _settle_all(self, batch: list[Waiting], refusal: Refusal) -> None:
        for waiting in batch:
            self._answer(waiting, refusal)
        self._release(batch, resting=set())

    def _put_off_all(self, batch: list[Waiting], *, alone: bool) -> None:
        """After a rollback: everything is tried again, each command alone if one of them is the fault."""
        again: list[Waiting] = []
        for waiting in batch:
            waiting.alone = waiting.alone or alone
            waiting.tries += 1
            waiting.failures += alone and len(batch) == 1
            if waiting.failures >= FAILURES_BEFORE_UNEXPECTED and not _is_replaced(waiting):
                self._answer(waiting, Unexpected(REFUSED))
            else:
                again.append(waiting)
        self._put_off_again(again, of=batch)

    def _put_off_again(self, again: list[Waiting], *, of: list[Waiting] | None = None) -> None:
        """These rest; what waited behind the others of their batch is ready."""
        self._put_off(again)
        self._release(of or again, resting={waiting.subject for waiting in again})

    def _put_off(self, again: list[Waiting]) -> None:
        """Each subject's first command rests; those after it stay behind it, in order."""
        loop = asyncio.get_running_loop()
        followers: dict[Subject, list[Waiting]] = {}
        for waiting in again:
            if waiting.subject in followers:
                followers[waiting.subject].append(waiting)
                continue
            followers[waiting.subject] = []
            self._resting.add(waiting)
            rest = self._rest_for(waiting.tries)
            loop.call_later(rest, self._wake, waiting)
        for subject, after in followers.items():
            self._behind[subject].extendleft(reversed(after))

    def _wake(self, waiting: Waiting) -> None:
        if waiting not in self._resting:
            return
        most = SKIPS_OF_ITEMS if waiting.items else SKIPS_BEFORE_ALONE
        wait_alone = waiting.skips >= most and not waiting.failures
        if wait_alone and self._alone >= MOST_THAT_WAIT:
            asyncio.get_running_loop().call_later(self._rest_for(1), self._wake, waiting)
            return
        self._resting.discard(waiting)
        if wait_alone:
            rest = waiting.deadline - asyncio.get_running_loop().time()
            self._send([waiting], wait_for=max(rest, 0.05))
            return
        behind = self._behind.pop(waiting.subject)
        self._ready.extendleft(reversed([waiting, *behind]))
        self._pump()

    def _release(self, batch: list[Waiting], *, resting: set[Subject]) -> None:
        """What waited behind a finished command is ready now, before what arrived later."""
        for subject in {waiting.subject: None for waiting in batch}:
            if subject not in resting:
                self._ready.extendleft(reversed(self._behind.pop(subject)))

    # -- deadlines ----------------------------------------------------------------------------------

    def _end_overdue(self) -> None:
        """Refuse what waited too long in no batch; what is in a batch gets the batch's answer."""
        self._sweep = None
        now = asyncio.get_running_loop().time()
        self._ready = deque(self._still_waiting(self._ready, now))
        for subject, behind in self._behind.items():
            self._behind[subject] = deque(self._still_waiting(behind, now))
        late = [*self._resting, *self._items.held_back]
        overdue = {waiting for waiting in late if waiting.deadline <= now}
        self._resting -= overdue
        self._items.held_back = [one for one in self._items.held_back if one not in overdue]
        for waiting in overdue:
            self._answer(waiting, _busy())
        self._release(list(overdue), resting=set())
        self._pump()

    def _still_waiting(self, waitings: deque[Waiting], now: float) -> list[Waiting]:
        for waiting in waitings:
            if waiting.deadline <= now:
                self._answer(waiting, _busy())
        return [waiting for waiting in waitings if waiting.deadline > now]


def _outcome(answered: asyncio.Future[Answer | Told]) -> Answer | Told | Refusal:
    """The answer, or the refusal; anything else is raised."""
    fault = answered.exception()
    if fault is None:
        return answered.result()
    if isinstance(fault, Refusal):
        return fault
    raise fault


def _is_replaced(waiting: Waiting) -> bool:
    """Whether something else is tried from now on, since the command cannot be written."""
    command = waiting.command
    instead = instead_of(command, Unexpected(REFUSED)) if isinstance(command, FromInbox) else None
    if instead is None:
        return False
    waiting.command, waiting.failures = instead, 0
    return True


def _busy() -> DatabaseBusy:
    return DatabaseBusy("the database did not get to this in time: try again")
