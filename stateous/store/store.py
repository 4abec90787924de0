"""The one Store: what the control plane asks of a database, whichever it is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from stateous.engine.changes import Changes
from stateous.engine.commands import Beat
from stateous.engine.facts import Ask, ClaimAsk, Facts, FlowRead
from stateous.engine.family import Entry, Item, ItemKey, Remembered, Token
from stateous.model.refusals import StateousError
from stateous.store.news import Listener
from stateous.store.serving import Candidate, Mode

FORGOTTEN_AFTER = 30 * 24 * 3600
"""Seconds after which a supervisor that nobody hears of any more is forgotten."""

MOST_THAT_WAIT = 4
"""How many batches may wait for locks at a time, beside those that do not wait."""


class NotCommitted(StateousError):
    """The transaction surely did not commit: it may be tried again.

    `alone` tells that the fault may lie with one command (a bad value, a conflict) and each is to be tried
    alone; otherwise the connection or the lock failed and the batch as a whole is innocent.
    """

    def __init__(self, sentence: str, *, alone: bool) -> None:
        super().__init__(sentence)
        self.alone = alone


class ItemsBusy(NotCommitted):
    """Others make the same items just now: who asked for items is tried again, and the rest is innocent."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, alone=False)


class OutcomeUnknown(StateousError):
    """Whether the transaction committed cannot be told."""


class CannotOpen(StateousError):
    """The database cannot be served: the sentence says why and what to do. Never holds a password."""


class Batch(Protocol):
    """Commands that are decided in one transaction.

    `decide` is called with what was read and raises `Need` to have more read; called again, it goes on.
    """

    @property
    def asks(self) -> Sequence[Ask]: ...

    def decide(self, facts: Facts, now: datetime) -> None: ...

    def changes(self, facts: Facts) -> Changes: ...


class ClaimBatch(Protocol):
    """Claims that are decided in one transaction, as `Batch`."""

    @property
    def asks(self) -> Sequence[ClaimAsk]: ...

    def decide(self, facts: Facts, now: datetime) -> None: ...

    def changes(self, facts: Facts) -> Changes: ...


class Beaten(msgspec.Struct, frozen=True):
    """What became of one heartbeat: tasks that are lost, and tasks that another transaction had locked."""

    lost: tuple[int, ...]
    busy: tuple[int, ...]


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A supervisor that was heard of `ago` seconds ago; `states` are the queues that it asks for, None: not known."""

    name: str
    states: tuple[str, ...] | None
    ago: float


class InboxRow(msgspec.Struct, frozen=True):
    """A pending row of the inbox, as a program asked. `size` is that of all its texts, in bytes.

    Rows of one `place` are about one token, in any case of letters. The document is JSON as it was sent; of a
    row of more than 1 MiB nothing is here but the beginning of its token.
    """

    row: int
    kind: str
    place: str
    size: int
    token: str
    event: str | None
    document: str | None
    key: str | None


class ItemsAsked(msgspec.Struct, frozen=True, kw_only=True):
    """Which items are listed; None is any. `token` is one that changed them, `after` the key that the last page ended with."""

    scope: int | None = None
    place: str | None = None
    entity: str | None = None
    item: str | None = None
    status: str | None = None
    token: str | None = None
    after: ItemKey | None = None
    limit: int = 100


class Store(Protocol):
    """A database with Stateous's schema. Times are aware UTC datetimes."""

    async def open(
        self,
        *,
        mode: Mode = "alone",
        candidate: Candidate | None = None,
        migrates: bool = True,
    ) -> None:
        """Take the hold, make or upgrade the tables, raise the epoch, put the candidate's graph on record.

        A `standby` waits until nobody else has the hold. A `replica` shares it: it joins its equals, whose
        epoch it takes over, or is the first. Without a candidate no graph is looked at. One that does not
        migrate needs no right to make tables, and is refused when they are not of the newest version.
        Raises CannotOpen (another control plane serves, a newer schema, another graph, cannot connect, ...).
        """
        ...

    async def close(self) -> None:
        """Give up the hold and close every connection."""
        ...

    async def clock_try(self) -> bool:
        """Whether this control plane runs the clock; of several replicas one does."""
        ...

    async def time_read(self) -> datetime | None:
        """What the database's own clock says; None: it has none but this computer's. Raises DatabaseBusy."""
        ...

    async def clock_read(self) -> datetime | None:
        """The last time that the database knows of: kept by `clock_write`, or of a decision; None if none."""
        ...

    async def clock_write(self, now: datetime) -> None:
        """Keep the time that a manual clock is moved to. Raises NotCommitted, NotServing."""
        ...

    async def batch_decide(self, batch: Batch, *, wait_for: float | None = None) -> None:
        """Lock, read, let the batch decide, save, commit.

        With `wait_for` (seconds) locks are waited for, without it what is locked elsewhere is left out as
        busy. Raises NotCommitted, OutcomeUnknown, or the refusal NotServing when the epoch moved on.
        """
        ...

    async def claims_decide(self, batch: ClaimBatch) -> frozenset[str]:
        """As `batch_decide`, for claims. Answers in which of the asked queues ready tasks were left."""
        ...

    async def tasks_beat(
        self, beats: Sequence[Beat], *, now: datetime, leased_until: datetime
    ) -> list[Beaten]:
        """Renew the leases of the tasks that each supervisor holds; one answer per beat, in order."""
        ...

    async def supervisors_see(self, seen: Sequence[Seen]) -> None:
        """Write down, for people, which supervisors were heard of; each name once. Raises NotCommitted, NotServing.

        The time is the database's own, whatever time decisions are made at.
        """
        ...

    async def token_read(self, token: str) -> Token | None:
        """A token by its exact id."""
        ...

    async def flow_read(self, token: str) -> FlowRead | None:
        """A token with the flow of the task that was queued last for it; None if there is no such token."""
        ...

    async def response_find(self, correlation: str) -> tuple[int, str] | None:
        """The task and the step that a response is for, or was for last; None: nobody awaits it.

        What a response is for never becomes another step.
        """
        ...

    async def task_place(self, task: int) -> tuple[str, str, int] | None:
        """The token, the queue and the visit of a task, which never change; None: there is no such task."""
        ...

    async def items_read(self, keys: Sequence[ItemKey]) -> list[Item]:
        """Those of the items that somebody knows."""
        ...

    async def items_list(self, asked: ItemsAsked) -> list[Item]:
        """Items by their keys."""
        ...

    async def item_history(self, key: ItemKey) -> list[Item]:
        """What became of an item, the first first; `changed_at` tells when. The newest 1000."""
        ...

    async def locks_over(self, now: datetime, *, limit: int) -> list[tuple[int, str, int]]:
        """Tasks whose locks of items ended before `now`: with the top token of its family, and how many those are.

        At most `limit` locks are looked at.
        """
        ...

    async def items_due(self, now: datetime, *, limit: int) -> list[ItemKey]:
        """Items of which what became is to be forgotten at or before `now`."""
        ...

    async def tokens_list(
        self, *, status: str | None, parent: str | None, limit: int
    ) -> list[Token]:
        """Tokens by `entered_at` descending, then by id."""
        ...

    async def history_read(
        self, token: str, *, after: int = 0, limit: int | None = None
    ) -> list[Entry] | None:
        """A token's ledger entries with `seq` > `after`, in order; None if there is no such token."""
        ...

    async def queues_look(self, queues: Sequence[str]) -> frozenset[str]:
        """Those of the queues that have a ready task, locked or not. Raises DatabaseBusy."""
        ...

    async def remembered_read(self, supervisor: str) -> Remembered | None:
        """The supervisor's last claim that had a request id, and what it was given; None if there was none."""
        ...

    async def leases_over(self, now: datetime, *, limit: int) -> list[tuple[int, str, str]]:
        """Claimed tasks whose lease ended before `now`, by id: each with the top token of its family."""
        ...

    async def lease_next(self) -> datetime | None:
        """When the first of all leases ends, or ended; None if nothing is claimed."""
        ...

    async def timer_next(self) -> datetime | None:
        """When the first pending timer of an active token is due, or was; None if there is none."""
        ...

    async def timers_due(self, now: datetime, *, limit: int) -> list[tuple[int, str, str]]:
        """Pending timers of active tokens due at or before `now`, by (due_at, id): id, token, top token."""
        ...

    async def inbox_look(
        self, *, passed: Collection[str] = (), limit: int, size: int
    ) -> list[InboxRow]:
        """The first pending rows of the inbox by id, but for those of the places that are `passed` over.

        At most `limit`, and not many more bytes than `size`. SQLite has none. Raises DatabaseBusy.
        """
        ...

    def listen(self, listener: Listener) -> None:
        """Tell the listener from now on what other processes say, until the store is closed. SQLite hears none."""
        ...

    def notify(
        self,
        ready: Mapping[str, int] | None,
        *,
        due: datetime | None = None,
        gone: frozenset[str] = frozenset(),
    ) -> None:
        """Tell the others, if there may be some, that so many tasks of each queue are ready, or a timer is due.

        `gone`: supervisors that let leases end. None for `ready`: any queue may have some. Nobody waits for it; what comes together is told together.
        """
        ...

    @property
    def is_serving(self) -> bool:
        """False once the hold or the epoch was lost."""
        ...
