"""State logs: what is asked of business items, by routines and by operators."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from stateous.control.lane import TokenLane
from stateous.engine.answers import Grant, ItemsTold
from stateous.engine.commands import ExpireItems, ItemAsked, ItemCall, Items, ResetItem
from stateous.engine.family import Item, ItemKey
from stateous.engine.items import Place, does_exist, kept_log, place_of, with_room
from stateous.engine.rules import Rules
from stateous.model.refusals import TaskNotFound
from stateous.model.state_logs import SCOPES
from stateous.store.store import ItemsAsked, Store

MOST_PLACES = 20_000
"""Of so many tasks it is remembered where they are."""


class StateLogs:
    """Asks of items, for a task or by their keys. Where a task's items are never changes, so it is looked up once."""

    def __init__(
        self, store: Store, lane: TokenLane, rules: Rules, *, clock: Callable[[], datetime]
    ) -> None:
        self._store = store
        self._lane = lane
        self._rules = rules
        self._clock = clock
        self._places: OrderedDict[int, Place] = OrderedDict()

    def granted(self, grants: Iterable[Grant]) -> None:
        """These tasks are worked on from now on: they will be asked for."""
        for grant in grants:
            if grant.state_log is not None:
                self._remember(grant.task, Place(grant.token, grant.state, grant.visit))

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
        """Do what an attempt asks with its items.

        Raises TaskNotFound, AttemptOver, TaskNotHeld, NoStateLog, ItemBusy, ItemMoveNotAllowed.
        """
        scope, place = await self._log_of(task)
        command = Items(
            task=task,
            attempt=attempt,
            call=call,
            scope=scope,
            place=place,
            items=tuple(asked),
            supervisor=supervisor,
        )
        answer = await self._lane.submit(command, size=size)
        assert isinstance(answer, ItemsTold)  # noqa: S101 - the engine answers so
        return answer

    async def exist(self, task: int, asked: Sequence[tuple[str, str]]) -> list[bool]:
        """Which of these items, each an entity and a name, exist: nobody works on them again.

        Raises TaskNotFound, NoStateLog.
        """
        scope, place = await self._log_of(task)
        keys = [(scope, place, entity, item) for entity, item in asked]
        found = {item.key: item for item in await self._store.items_read(keys)}
        now = self._clock()
        return [key in found and does_exist(found[key], now) for key in keys]

    async def get(self, task: int, asked: Sequence[tuple[str, str]]) -> list[Item | None]:
        """What counts of these items, each an entity and a name: of the first of them, if there is no room for all.

        Raises TaskNotFound, NoStateLog.
        """
        scope, place = await self._log_of(task)
        keys = [(scope, place, entity, item) for entity, item in asked]
        found = {item.key: item for item in await self._store.items_read(keys)}
        return with_room([found.get(key) for key in keys])

    async def list(self, asked: ItemsAsked) -> list[Item]:
        """Items by their keys."""
        return await self._store.items_list(asked)

    async def history(self, key: ItemKey) -> list[Item]:
        """What became of an item last, the first first; empty when nothing is known of it."""
        changes = await self._store.item_history(key)
        # They are read from the last on: before one whose data had no room, nothing has any.
        return with_room(changes[::-1])[::-1]

    async def reset(self, key: ItemKey) -> None:
        """End the item's lock, whoever has it. Raises ItemNotFound, ItemMoveNotAllowed."""
        await self._lane.submit(ResetItem(key))

    async def expire(self, key: ItemKey) -> None:
        """Forget what became of the item. Raises ItemNotFound, ItemMoveNotAllowed."""
        await self._lane.submit(ExpireItems((key,), now=True))

    async def _log_of(self, task: int) -> tuple[int, str]:
        place = self._places.get(task)
        if place is None:
            found = await self._store.task_place(task)
            if found is None:
                raise TaskNotFound(f"no task has the id {task}")
            place = Place(*found)
            self._remember(task, place)
        log = kept_log(self._rules, task, place.queue)
        return SCOPES[log.scope], place_of(self._rules, log, place)

    def _remember(self, task: int, place: Place) -> None:
        self._places[task] = place
        self._places.move_to_end(task)
        while len(self._places) > MOST_PLACES:
            self._places.popitem(last=False)
