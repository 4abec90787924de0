"""What the API asks of the control plane: nothing in this layer knows more about it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol, cast

from stateous.engine.answers import Answer, Granted, ItemsTold, Told
from stateous.engine.commands import (
    AwaitChild,
    Beat,
    Checkpoint,
    Claim,
    Command,
    ItemAsked,
    ItemCall,
    Messages,
)
from stateous.engine.family import Entry, Item, ItemKey, Json, Token
from stateous.engine.showing import ShownFlow
from stateous.model.flows import ResponseStatus
from stateous.model.graph import Graph
from stateous.model.refusals import Refusal
from stateous.store.store import ItemsAsked

if TYPE_CHECKING:
    from stateous.api.refusals import Asked


class Plane(Protocol):
    """A control plane that serves one graph. Each call may raise a Refusal."""

    @property
    def graph(self) -> Graph: ...

    @property
    def items(self) -> StateLogs: ...

    @property
    def lease_for(self) -> timedelta: ...

    def check_serving(self) -> None:
        """Raise NotServing once another control plane took the database."""
        ...

    async def submit(self, command: Command, *, size: int = 0) -> Answer:
        """Decide a command, on disk when it answers. `size` is its body's in bytes, which bounds a batch."""
        ...

    async def checkpoint(self, command: Checkpoint | AwaitChild, *, size: int = 0) -> Answer:
        """Write down a step of a routine, on disk when it answers."""
        ...

    async def respond(
        self,
        correlation: str,
        *,
        status: ResponseStatus,
        payload: Json,
        message: str | None,
        size: int = 0,
    ) -> Answer:
        """Answer the step that awaits the response; raises ResponseNotAwaited."""
        ...

    async def flow(self, token: str) -> ShownFlow:
        """The flow that a token is in; raises TokenNotFound, FlowNotFound, FlowUnreadable."""
        ...

    async def tell(self, messages: Sequence[Messages], *, size: int = 0) -> list[Told | Refusal]:
        """Decide what routines say of their tasks; one result for each task. `size` is of all together."""
        ...

    async def claim(self, claim: Claim, *, wait: float = 0.0) -> Granted:
        """Give ready tasks to a supervisor; empty when there is none, and none comes within `wait` seconds.

        Cancelled, it gives none, unless they are given already.
        """
        ...

    async def release(
        self, supervisor: str, *, tasks: Sequence[int] = (), request: str | None = None
    ) -> tuple[int, ...]:
        """Take tasks back that were not worked on, and end a claim; those that were taken back, ascending."""
        ...

    async def beat(self, beat: Beat) -> tuple[int, ...]:
        """Renew leases; the tasks that are lost, ascending, each once."""
        ...

    async def token(self, token: str) -> Token:
        """A token by its exact id; raises TokenNotFound."""
        ...

    async def tokens(self, *, status: str | None, parent: str | None, limit: int) -> list[Token]:
        """Tokens by `entered_at` descending, then by id."""
        ...

    async def history(self, token: str, *, after: int = 0, limit: int | None = None) -> list[Entry]:
        """A token's ledger in order; raises TokenNotFound."""
        ...


class StateLogs(Protocol):
    """What is asked of business items. Each call may raise a Refusal."""

    async def call(
        self,
        task: int,
        call: ItemCall,
        asked: Sequence[ItemAsked],
        *,
        attempt: int,
        supervisor: str | None,
        size: int,
    ) -> ItemsTold:
        """Do what an attempt of a task asks with its items: all of it or nothing, on disk when it answers."""
        ...

    async def exist(self, task: int, asked: Sequence[tuple[str, str]]) -> list[bool]:
        """Which of a task's items exist, each an entity and a name."""
        ...

    async def get(self, task: int, asked: Sequence[tuple[str, str]]) -> list[Item | None]:
        """What counts of a task's items: of the first of them, if there is no room for all."""
        ...

    async def list(self, asked: ItemsAsked) -> list[Item]:
        """Items by their keys."""
        ...

    async def history(self, key: ItemKey) -> list[Item]:
        """All that became of an item, the first first; empty when nothing is known of it."""
        ...

    async def reset(self, key: ItemKey) -> None:
        """End the item's lock, whoever has it."""
        ...

    async def expire(self, key: ItemKey) -> None:
        """Forget what became of the item."""
        ...


class ManualTime(Protocol):
    """The clock of a control plane that was started for tests."""

    async def advance(self, by: timedelta) -> datetime:
        """Move the clock on, and decide what is due; the time after it. May raise a Refusal."""
        ...


def plane_of(request: Asked) -> Plane:
    """The plane that the application was built with."""
    return cast("Plane", request.scope["litestar_app"].state["plane"])
