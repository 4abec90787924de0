"""What is read outside the corridor: tokens, histories, and what the clock looks for; the same for both databases."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from stateous.engine.facts import FlowRead
from stateous.engine.family import Entry, Item, ItemKey, Remembered, Token
from stateous.model.wire.body import LARGEST_BODY
from stateous.store.rows import time_text
from stateous.store.statuses import statuses_of
from stateous.store.store import InboxRow, ItemsAsked
from stateous.store.values import (
    LARGEST,
    Row,
    entry_of,
    item_of,
    latest_of,
    remembered_of,
    shown_of,
    time_value,
    token_of,
)
from stateous.store.wanted import can_be_kept, key_rows, rows_text


class Reading(ABC):
    """The reads of a Store, over a way to run a statement that only reads."""

    @abstractmethod
    async def _rows(self, name: str, values: dict[str, Any] | None = None) -> Sequence[Row]:
        """All rows of a statement. Raises DatabaseBusy when the database cannot be asked."""

    async def token_read(self, token: str) -> Token | None:
        if not can_be_kept(token):
            return None
        found = await self._rows("token_read", {"token": token})
        return token_of(found[0]) if found else None

    async def flow_read(self, token: str) -> FlowRead | None:
        if not can_be_kept(token):
            return None
        found = await self._rows("flow_show", {"token": token})
        return shown_of(found[0]) if found else None

    async def response_find(self, correlation: str) -> tuple[int, str] | None:
        if not can_be_kept(correlation):
            return None
        found = await self._rows("response_find", {"correlation": correlation})
        return (found[0][0], found[0][1]) if found else None

    async def task_place(self, task: int) -> tuple[str, str, int] | None:
        found = await self._rows("task_place", {"task": task})
        return (found[0][0], found[0][1], found[0][2]) if found else None

    async def items_read(self, keys: Sequence[ItemKey]) -> list[Item]:
        return [item_of(row) for row in await self._rows("items_read", rows_text(key_rows(keys)))]

    async def items_list(self, asked: ItemsAsked) -> list[Item]:
        scope, place, entity, item = asked.after or (0, "", "", "")
        wanted = (asked.place, asked.entity, asked.item, asked.token)
        if not all(
            can_be_kept(text) for text in (*wanted, place, entity, item) if text is not None
        ):
            return []
        values: dict[str, Any] = {
            "scope": asked.scope,
            "place": asked.place,
            "entity": asked.entity,
            "item": asked.item,
            "status": asked.status,
            "after_scope": scope,
            "after_place": place,
            "after_entity": entity,
            "after_item": item,
            "limit": asked.limit,
        }
        if asked.token is None:
            found = await self._rows("items_list", values)
        else:
            found = await self._rows("items_of_token", {**values, "token": asked.token})
        return [item_of(row) for row in found]

    async def item_history(self, key: ItemKey) -> list[Item]:
        scope, place, entity, item = key
        if not all(map(can_be_kept, key[1:])):
            return []
        values = {"scope": scope, "place": place, "entity": entity, "item": item, "limit": 1000}
        return [item_of(row) for row in reversed(await self._rows("item_history", values))]

    async def locks_over(self, now: datetime, *, limit: int) -> list[tuple[int, str, int]]:
        found = await self._rows("locks_over", {"now": time_text(now), "limit": limit})
        return [(row[0], row[1], row[2]) for row in found]

    async def items_due(self, now: datetime, *, limit: int) -> list[ItemKey]:
        found = await self._rows("items_due", {"now": time_text(now), "limit": limit})
        return [(row[0], row[1], row[2], row[3]) for row in found]

    async def tokens_list(
        self, *, status: str | None, parent: str | None, limit: int
    ) -> list[Token]:
        values: dict[str, Any] = {"statuses": statuses_of(status), "limit": limit}
        if parent is None:
            found = await self._rows("tokens_list", values)
        elif not can_be_kept(parent):
            return []
        else:
            found = await self._rows("children_list", {**values, "parent": parent})
        return [token_of(row) for row in found]

    async def history_read(
        self, token: str, *, after: int = 0, limit: int | None = None
    ) -> list[Entry] | None:
        if not can_be_kept(token):
            return None
        values = {
            "token": token,
            "after": min(after, LARGEST),
            "limit": LARGEST if limit is None else min(limit, LARGEST),
        }
        entries = [entry_of(row) for row in await self._rows("history_read", values)]
        if not entries and await self.token_read(token) is None:
            return None
        return entries

    async def queues_look(self, queues: Sequence[str]) -> frozenset[str]:
        return frozenset(
            row[0] for row in await self._rows("queues_look", {"queues": list(queues)})
        )

    async def remembered_read(self, supervisor: str) -> Remembered | None:
        found = await self._rows("remembered_read", {"supervisors": [supervisor]})
        return remembered_of(found[0]) if found else None

    async def inbox_look(
        self, *, passed: Collection[str] = (), limit: int, size: int
    ) -> list[InboxRow]:
        asked = {"passed": list(passed), "limit": limit, "bytes": size, "largest": LARGEST_BODY}
        return [InboxRow(*row) for row in await self._rows("inbox_look", asked)]

    async def leases_over(self, now: datetime, *, limit: int) -> list[tuple[int, str, str]]:
        found = await self._rows("leases_over", {"now": time_text(now), "limit": limit})
        return [(row[0], row[1], row[2]) for row in found]

    async def lease_next(self) -> datetime | None:
        return latest_of((await self._rows("lease_next"))[0])

    async def timer_next(self) -> datetime | None:
        found = await self._rows("timer_next")
        return time_value(found[0][0]) if found else None

    async def timers_due(self, now: datetime, *, limit: int) -> list[tuple[int, str, str]]:
        found = await self._rows("timers_due", {"now": time_text(now), "limit": limit})
        return [(row[0], row[1], row[2]) for row in found]
