"""Planes without a database, for what happens before and after one: nothing is in them, or all fails."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NoReturn

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
from stateous.engine.family import Entry, Item, ItemKey, Token
from stateous.engine.showing import ShownFlow
from stateous.model.graph import Graph, parse_graph
from stateous.model.refusals import (
    ItemNotFound,
    Refusal,
    ResponseNotAwaited,
    TaskNotFound,
    TokenNotFound,
)
from stateous.store.store import ItemsAsked
from tests.api.graph import GRAPH


class NoItems:
    """Nobody knows an item, and no task has a state log."""

    def __init__(self, reached: list[Any]) -> None:
        self.reached = reached

    async def call(
        self, task: int, call: ItemCall, asked: Sequence[ItemAsked], **_: Any
    ) -> ItemsTold:
        self.reached.append((task, call, asked))
        raise TaskNotFound("no such task")

    async def exist(self, task: int, asked: Sequence[tuple[str, str]]) -> list[bool]:
        self.reached.append((task, "exists", asked))
        raise TaskNotFound("no such task")

    async def get(self, task: int, asked: Sequence[tuple[str, str]]) -> list[Item | None]:
        self.reached.append((task, "get", asked))
        raise TaskNotFound("no such task")

    async def list(self, asked: ItemsAsked) -> list[Item]:
        self.reached.append(asked)
        return []

    async def history(self, key: ItemKey) -> list[Item]:
        self.reached.append(key)
        return []

    async def reset(self, key: ItemKey) -> None:
        self.reached.append(key)
        raise ItemNotFound("no such item")

    async def expire(self, key: ItemKey) -> None:
        self.reached.append(key)
        raise ItemNotFound("no such item")


class EmptyPlane:
    """A control plane in which there is no token and no task. It notes the commands that reached it."""

    lease_for = timedelta(seconds=120)

    def __init__(self) -> None:
        self.graph: Graph = parse_graph(GRAPH)
        self.reached: list[object] = []
        self.items = NoItems(self.reached)

    def check_serving(self) -> None:
        pass

    async def submit(self, command: Command, *, size: int = 0) -> Answer:
        self.reached.append(command)
        raise (
            TaskNotFound("no such task")
            if hasattr(command, "task")
            else TokenNotFound("no such token")
        )

    async def checkpoint(self, command: Checkpoint | AwaitChild, *, size: int = 0) -> Answer:
        return await self.submit(command, size=size)

    async def respond(self, correlation: str, **asked: Any) -> Answer:
        self.reached.append((correlation, asked))
        raise ResponseNotAwaited("no such response")

    async def flow(self, token: str) -> ShownFlow:
        raise TokenNotFound(f"no such token: {token}")

    async def tell(self, messages: Sequence[Messages], *, size: int = 0) -> list[Told | Refusal]:
        self.reached.extend(messages)
        nothing = TaskNotFound("no such task")
        return [Told((nothing,) * len(each.said)) for each in messages]

    async def claim(self, claim: Claim, *, wait: float = 0.0) -> Granted:
        self.reached.append(claim)
        return Granted(())

    async def release(
        self, supervisor: str, *, tasks: Sequence[int] = (), request: str | None = None
    ) -> tuple[int, ...]:
        self.reached.append((supervisor, tasks, request))
        return ()

    async def beat(self, beat: Beat) -> tuple[int, ...]:
        self.reached.append(beat)
        return tuple(sorted(set(beat.tasks)))

    async def token(self, token: str) -> Token:
        raise TokenNotFound(f"no such token: {token}")

    async def tokens(self, *, status: str | None, parent: str | None, limit: int) -> list[Token]:
        self.reached.append((status, parent, limit))
        return []

    async def history(self, token: str, *, after: int = 0, limit: int | None = None) -> list[Entry]:
        self.reached.append((after, limit))
        raise TokenNotFound(f"no such token: {token}")


class FailingPlane(EmptyPlane):
    """A control plane whose every command ends in this error."""

    def __init__(self, fault: Exception) -> None:
        super().__init__()
        self.fault = fault

    def check_serving(self) -> NoReturn:
        raise self.fault

    async def submit(self, command: Command, *, size: int = 0) -> NoReturn:
        raise self.fault

    async def tell(self, messages: Sequence[Messages], *, size: int = 0) -> NoReturn:
        raise self.fault

    async def release(self, supervisor: str, **_asked: Any) -> NoReturn:
        raise self.fault

    async def tokens(self, **_asked: Any) -> NoReturn:
        raise self.fault
