"""What a decided batch changes, as the store writes it: nothing here is read back."""

from __future__ import annotations

import msgspec

from stateous.engine.family import (
    Entry,
    Flow,
    FlowStep,
    Held,
    Item,
    ItemKey,
    Json,
    Remembered,
    Settled,
    Task,
    Timer,
    Token,
)


class Changes(msgspec.Struct, kw_only=True):
    """All changes of one batch; an empty list is no statement.

    `tokens` pairs each changed token with the `seq` it was loaded with: the fence of its update.
    `parked` names the paused tokens: their queued tasks and pending timers are parked.
    `memory` holds (token, state, key, value), a value of None deletes. `memory_wiped` names tokens that
    ended. `held` pairs the root with what it holds from now on; `held_cleared` names roots whose held
    events before these are gone. `flows` and `steps` are new or changed. `settled` are rows of the inbox that were pending.
    `items` are those that changed, as they are now; `item_changes` all that became of them, in order. `items_unused`
    are locked, and nothing is known of them: there was no row before.
    """

    new_tokens: list[Token] = []
    tokens: list[tuple[Token, int]] = []
    entries: list[Entry] = []
    new_tasks: list[Task] = []
    tasks: list[Task] = []
    new_timers: list[Timer] = []
    timers: list[Timer] = []
    flows: list[Flow] = []
    steps: list[FlowStep] = []
    held: list[tuple[str, Held]] = []
    held_cleared: list[str] = []
    memory: list[tuple[str, str, str, Json]] = []
    memory_wiped: list[str] = []
    remembered: list[Remembered] = []
    parked: set[str] = set()
    settled: list[Settled] = []
    items: list[Item] = []
    item_changes: list[Item] = []
    items_unused: list[ItemKey] = []
