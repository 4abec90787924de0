"""Business items as a routine sees them: `ctx.items`, what it answers, and what it raises (docs/state-log.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Final, Literal, Protocol, Self

import msgspec

from stateous.model.refusals import StateousError

LONGEST_KEY: Final = 256
"""Characters of an item, and of its entity."""
LARGEST_DATA: Final = 256 * 1024
"""Bytes of an item's data, as JSON that is written compactly."""
MOST_ITEMS: Final = 10_000
"""Items of one request."""
NO_REASON: Final = "the routine failed with it and said nothing"
"""Why an item has failed of which only that was said."""
RAN_OUT: Final = "the lock ran out"
"""Why one has failed whose lock nobody renewed."""
ATTEMPT_ENDED: Final = "the attempt ended"
"""Why one has failed that an attempt had locked when it ended."""

ItemOutcome = Literal["acquired", "busy", "done"]
ItemStatus = Literal[
    "processing", "processed", "failed", "skipped", "expired", "superseded", "none"
]

Named = str | Sequence[str]
"""One item, or several of the same entity: then the answer is a list, in the same order."""
NamedWithData = Named | Mapping[str, Any]
"""One item, or several: a list, or a mapping of each item to its own data."""


class BadItem(StateousError, ValueError):
    """An item is named, or said of, in a way in which no state log can keep it."""


class Acquired(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an `acquire`; it is true when the item is ours to work on.

    `busy` has `until`: when the other's lock ends. `done` has the `status`, processed or skipped, and the `data`.
    An `acquired` item that failed before has the `reason`. A handler whose answer would be too large can leave the `data`
    out and say so: then `get` is asked for it.
    """

    outcome: ItemOutcome
    until: datetime | None = None
    status: ItemStatus | None = None
    data: Any = None
    reason: str | None = None
    data_left_out: bool = False

    def __bool__(self) -> bool:
        return self.outcome == "acquired"


class Skipped(msgspec.Struct, frozen=True, kw_only=True):
    """`run` did nothing, because the item is `busy` or `done`; `data` is what was kept of one that is done."""

    reason: str
    outcome: Literal["busy", "done"]
    data: Any = None


class ItemRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What counts of an item now. `token` is who said it last; `locked_until` is there while it is worked on."""

    item: str
    entity: str = ""
    status: ItemStatus = "processed"
    data: Any = None
    reason: str | None = None
    token: str | None = None
    locked_until: datetime | None = None
    changed_at: datetime | None = None
    expires_at: datetime | None = None


class OnceItem(Protocol):
    """An item in a `with` block, or an `async with` block of an `async def` routine.

    When it was `acquired`, it is processed once the block ends, with `result` as its data, and failed when the block
    raises; else nothing is done with it.
    """

    result: Any

    @property
    def outcome(self) -> ItemOutcome: ...
    @property
    def acquired(self) -> bool: ...
    @property
    def data(self) -> Any:
        """What is kept of an item that is done."""
        ...

    @property
    def until(self) -> datetime | None:
        """When the lock of a busy one ends."""
        ...

    @property
    def reason(self) -> str | None:
        """Why an acquired one failed before; why it was skipped, if it is done in that way."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...


class Items(Protocol):
    """The state log of a routine's state: what it returns is awaited in an `async def` routine.

    Each call takes one item or several, and answers with one value or a list. Several go out in parts of at most
    10,000 items or a mebibyte; each part is done as a whole or not at all. A state without a state log has one that
    says no to nothing and keeps nothing. Raises BadItem and NotJson before anything is sent.
    """

    def exists(self, item: Named, entity: str = "") -> Any:
        """Whether it is done: processed, or skipped."""
        ...

    def acquire(self, item: Named, entity: str = "", *, detail: bool = False) -> Any:
        """Lock it for this attempt; whether it is ours now. With `detail` an Acquired tells why not."""
        ...

    def set(
        self,
        item: NamedWithData,
        entity: str = "",
        status: Literal["processed", "skipped", "failed"] = "processed",
        data: object = None,
        *,
        reason: str | None = None,
    ) -> Any:
        """Say what became of it. Processed and failed end a lock that must be ours, or ItemBusy is raised."""
        ...

    def release_as_failed(self, item: Named, entity: str = "", error: str = "") -> Any:
        """End our lock of it: it has failed, and may be acquired again."""
        ...

    def upsert(self, item: NamedWithData, entity: str = "", data: object = None) -> Any:
        """Keep a newer record of it, whether or not it was processed before. Raises ItemBusy when another has it."""
        ...

    def get(self, item: Named, entity: str = "") -> Any:
        """The ItemRecord of it, None when nothing is known."""
        ...

    def list(
        self,
        entity: str | None = None,
        *,
        status: ItemStatus | None = None,
        limit: int = 100,
        after: ItemRecord | None = None,
    ) -> Any:
        """The first ItemRecords of this state log, at most 1,000, by entity and item; those that come `after` this one."""
        ...

    def once(self, item: str, entity: str = "") -> OnceItem:
        """Guard a block: `async with ctx.items.once("INV-1", "invoice") as item: if item.acquired: …`."""
        ...

    def run(
        self, item: str, entity: str, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Any:
        """Call `fn(*args, **kwargs)` if the item is not done and nobody is on it; its result, or Skipped."""
        ...
