"""What keeps the items of a state log: the protocol of handlers, and the mark of those in a supervisor's folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, Protocol, TypeVar, cast

import msgspec

from stateous.model.items import Acquired, ItemRecord, ItemStatus
from stateous.model.state_logs import BUILT_IN, LONGEST_HANDLER

HANDLER: Final = "__stateous_state_log_handler__"
"""The attribute in which `state_log_handler` keeps a handler's name."""


class StateLogContext(msgspec.Struct, frozen=True, kw_only=True):
    """Whose items a routine asks for: made once for each attempt.

    `place` is what shares them, in the words of the `scope`: the tenant, the app within it, the workflow, the
    state, or one visit of one token. `scope_id` is the scope's number, 1 to 5. `element` is the state, and
    `execution` this visit, whatever the scope is. An item that is locked belongs to the `task`.
    """

    scope: str
    scope_id: int
    place: str
    element: str
    execution: str
    tenant: str
    app: str
    options: Mapping[str, Any]
    token: str
    task: int
    attempt: int
    supervisor: str


class ItemCall(msgspec.Struct, frozen=True, kw_only=True):
    """One item of a call. `status`, `data` and `reason` are what is to become of it, as far as the call says that."""

    context: StateLogContext
    item: str
    entity: str = ""
    status: Literal["processed", "skipped", "failed"] | None = None
    data: Any = None
    reason: str | None = None

    @property
    def key(self) -> tuple[int, str, str, str]:
        """Which item it is: the scope's number, the place, the entity, the item."""
        return (self.context.scope_id, self.context.place, self.entity, self.item)


class StateLogHandler(Protocol):
    """Keeps items somewhere. Each method is given the items of one part, each only once, and answers in their order.

    A part is done as a whole or not at all. A repeat of the same call by the same attempt is answered as the first
    was. `stateous.testing.state_log_checks` says what else a handler keeps to. What is raised is raised in the
    routine; `ItemBusy` and `ItemMoveNotAllowed` are there to be raised. A `close` without arguments is called when
    the supervisor ends.
    """

    async def exists(self, calls: Sequence[ItemCall], /) -> Sequence[bool]:
        """Whether each is processed or skipped."""
        ...

    async def acquire(self, calls: Sequence[ItemCall], /) -> Sequence[Acquired]:
        """Lock each for the task of its context, unless it is done or another task has it: exactly one gets it."""
        ...

    async def set(self, calls: Sequence[ItemCall], /) -> None:
        """Write each one's status, data and reason. Raises ItemBusy, ItemMoveNotAllowed."""
        ...

    async def release(self, calls: Sequence[ItemCall], /) -> None:
        """End the locks: each has failed, for the reason. Raises ItemBusy, ItemMoveNotAllowed."""
        ...

    async def upsert(self, calls: Sequence[ItemCall], /) -> None:
        """Write a newer processed record of each. Raises ItemBusy, ItemMoveNotAllowed."""
        ...

    async def get(self, calls: Sequence[ItemCall], /) -> Sequence[ItemRecord | None]:
        """What counts of each now."""
        ...

    async def list(
        self,
        context: StateLogContext,
        /,
        *,
        entity: str | None,
        status: ItemStatus | None,
        limit: int,
        after: tuple[str, str] | None,
    ) -> Sequence[ItemRecord]:
        """The first records of the context's scope and place, by entity and item, after this entity and item."""
        ...


Made = TypeVar("Made", bound=Callable[[], StateLogHandler])


def state_log_handler(name: str) -> Callable[[Made], Made]:
    """Mark a class, or a function, that makes the handler `name` when it is called without arguments.

    Nothing is registered: a supervisor looks for the marks in its folder, and makes one handler of each when it
    starts. Raises TypeError for what can be no name, and ValueError for the handler that is there already.
    """
    if not isinstance(name, str) or not name.isprintable() or not 1 <= len(name) <= LONGEST_HANDLER:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError('@state_log_handler needs a name: @state_log_handler("redis")')
    if name == BUILT_IN:
        raise ValueError(f"the handler {BUILT_IN!r} is a part of Stateous: give yours another name")

    def mark(made: Made) -> Made:
        setattr(made, HANDLER, name)
        return made

    return mark


def handler_name_of(made: object) -> str | None:
    """The name that `state_log_handler` gave it; None for what it did not mark, such as a marked class's child."""
    try:
        found = cast("object", vars(made).get(HANDLER))
    except TypeError:
        return None
    return found if isinstance(found, str) else None
