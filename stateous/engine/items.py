"""Business items in a state log: acquired, done, failed, skipped, each as its life cycle allows (docs/state-log.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import takewhile
from typing import Final, TypeVar

import msgspec

from stateous.engine.answers import Answer, Done, GrantLog, ItemsTold, ItemTold
from stateous.engine.attempts import held_task
from stateous.engine.commands import ExpireItems, ItemAsked, ItemCall, Items, ResetItem
from stateous.engine.draft import Draft
from stateous.engine.facts import Facts
from stateous.engine.family import Document, Item, ItemKey, Task
from stateous.engine.lifecycles import DONE_ITEM, ITEM, LIVE_TOKEN
from stateous.engine.rules import Rules
from stateous.model.items import ATTEMPT_ENDED, RAN_OUT
from stateous.model.refusals import ItemBusy, ItemMoveNotAllowed, ItemNotFound, NoStateLog
from stateous.model.state_logs import SCOPES, StateLog

Kept = TypeVar("Kept", Item, Item | None)

RESET: Final = "reset by an operator"

_KINDS: Final[Mapping[str, str]] = {
    "processing": "item_acquired",
    "processed": "item_processed",
    "failed": "item_failed",
    "skipped": "item_skipped",
}
_SHOWN: Final = 128
_NEVER: Final = datetime.min.replace(tzinfo=UTC)


class Place(msgspec.Struct, frozen=True):
    """Where a task is: what never changes of it."""

    token: str
    queue: str
    visit: int


def log_of(rules: Rules, queue: str) -> StateLog | None:
    """The state log of the state whose tasks are in this queue, if it has one."""
    workflow, name = rules.graph.place(queue)
    flow = rules.graph.flows.get(workflow)
    state = None if flow is None else flow.states.get(name)
    return None if state is None else state.state_log


def kept_log(rules: Rules, task: int, queue: str) -> StateLog:
    """The state log that the control plane keeps for the task. Raises NoStateLog."""
    log = log_of(rules, queue)
    if log is None:
        raise NoStateLog(f"the state of task {task} has no state log")
    if not log.is_built_in:
        msg = (
            f"the state log of task {task} is kept by the handler '{log.handler}' of its supervisor"
        )
        raise NoStateLog(msg)
    return log


def place_of(rules: Rules, log: StateLog, task: Place) -> str:
    """Where the items of a task are, in the scope of its state log."""
    match log.scope:
        case "tenant":
            return rules.tenant
        case "app":
            return f"{rules.tenant}/{rules.app}"
        case "workflow":
            return rules.graph.place(task.queue)[0]
        case "element":
            return task.queue
        case "execution":
            return f"{task.token}/{rules.graph.place(task.queue)[1]}/{task.visit}"


def granted_log(rules: Rules, task: Task) -> GrantLog | None:
    """What a grant says of the state log of the task's state."""
    log = log_of(rules, task.queue)
    if log is None:
        return None
    return GrantLog(
        handler=log.handler,
        scope=log.scope,
        scope_id=SCOPES[log.scope],
        place=place_of(rules, log, Place(task.token, task.queue, task.visit)),
        options=dict(log.options),
        tenant=rules.tenant,
        app=rules.app,
    )


def decide_items(draft: Draft, command: Items) -> Answer:
    """Do what the attempt asks with its items: all of it, or nothing.

    Raises AttemptOver, TaskNotHeld, NoStateLog, ItemBusy and ItemMoveNotAllowed, which change nothing.
    """
    task = held_task(draft, command)
    log = kept_log(draft.rules, task.id, task.queue)
    calling = _Calling(draft, task, log)
    told = tuple(
        [
            calling.do(command.call, draft.item(key), asked)
            for key, asked in zip(command.keys, command.items, strict=True)
        ]
    )
    calling.write()
    return ItemsTold(told)


class _Calling:
    """One call of an attempt: what it does with each item, then one ledger entry for all that became the same."""

    def __init__(self, draft: Draft, task: Task, log: StateLog) -> None:
        self._draft = draft
        self._task = task
        self._at = draft.at
        self._locked_until = draft.at + log.lock_for
        self._expires_at = None if log.retention is None else draft.at + log.retention
        self._changed: dict[str, list[tuple[Item, ItemAsked]]] = {}

    def do(self, call: ItemCall, item: Item, asked: ItemAsked) -> ItemTold:
        """What becomes of one item."""
        item = self._current(item)
        match call:
            case "acquire":
                return self._acquire(item, asked)
            case "upsert":
                return self._upsert(item, asked)
            case _:
                return self._set(item, asked)

    def _current(self, item: Item) -> Item:
        """The item as it is at this time: a lock whose time is over is none, and what had to be kept so long is gone.

        The clock may not have come to it yet; then it is written here. Our own lock is ours until somebody ends it.
        """
        if item.status == "processing":
            if item.task == self._task.id or not is_over(item, self._at):
                return item
            item = _failed(item, RAN_OUT, at=self._at, expires_at=self._expires_at)
        elif item.expires_at is not None and item.expires_at <= self._at:
            item = expired(item, at=self._at)
        else:
            return item
        self._draft.write_item(item)
        return item

    def _acquire(self, item: Item, asked: ItemAsked) -> ItemTold:
        if item.status in DONE_ITEM:
            return ItemTold(
                "done", item.status, data=item.data, reason=item.reason, left_out=item.left_out
            )
        if item.status == "processing" and item.task != self._task.id:
            return ItemTold("busy", until=item.locked_until)
        if item.status == "processing" and item.attempt == self._task.attempt:
            self._draft.write_item(
                msgspec.structs.replace(item, locked_until=self._locked_until), is_told=False
            )
            return ItemTold("acquired")
        self._change(item, asked)
        return ItemTold("acquired", reason=item.reason if item.status == "failed" else None)

    def _upsert(self, item: Item, asked: ItemAsked) -> ItemTold:
        if item.status == "processing":
            self._check_own(item)
        elif item.status == "processed":
            if self._was_ours(item) and _has_data(item, asked.data):
                return ItemTold(status="processed")
            gone = msgspec.structs.replace(
                item,
                status="superseded",
                data=None,
                reason=None,
                changed_at=self._at,
                left_out=False,
            )
            self._draft.write_item(self._by_us(gone, None))
            item = gone
        self._change(item, asked)
        return ItemTold(status="processed")

    def _set(self, item: Item, asked: ItemAsked) -> ItemTold:
        if item.status == "processing":
            self._check_own(item)
        elif item.status == asked.status == "skipped":
            return ItemTold(status="skipped")
        elif (
            item.status == asked.status
            and self._was_ours(item)
            and (item.status == "failed" or _has_data(item, asked.data))
        ):
            return ItemTold(status=item.status)
        if item.status != "processing" and asked.status != "skipped":
            # What nobody works on has no result and no error.
            raise _not_allowed(item, asked.status)
        self._change(item, asked)
        return ItemTold(status=asked.status)

    def _was_ours(self, item: Item) -> bool:
        return (item.task, item.attempt) == (self._task.id, self._task.attempt)

    def _check_own(self, item: Item) -> None:
        if item.task != self._task.id:
            raise ItemBusy(f"another task works on the item {_shown(item)}: it has it locked")

    def _change(self, item: Item, asked: ItemAsked) -> None:
        is_renewal = item.status == asked.status == "processing"
        if not is_renewal and asked.status not in ITEM[item.status]:
            raise _not_allowed(item, asked.status)
        self._changed.setdefault(asked.status, []).append((item, asked))

    def _by_us(self, item: Item, seq: int | None) -> Item:
        return msgspec.structs.replace(
            item,
            task=self._task.id,
            attempt=self._task.attempt,
            token=self._task.token,
            seq=seq,
        )

    def write(self) -> None:
        """Write what was changed, each kind of change with its ledger entry."""
        draft, task = self._draft, self._task
        for status, changed in self._changed.items():
            data = said_of(task.id, [(asked.entity, asked.item) for _, asked in changed])
            if status in {"failed", "skipped"}:
                reasons = {asked.reason for _, asked in changed}
                if len(reasons) == 1 and (reason := reasons.pop()) is not None:
                    data["reason"] = reason
            draft.record(task.token, _KINDS[status], data)
            seq = draft.token(task.token).seq
            is_open = status == "processing"
            for item, asked in changed:
                draft.write_item(
                    Item(
                        scope=item.scope,
                        place=item.place,
                        entity=item.entity,
                        item=item.item,
                        status=status,
                        data=asked.data,
                        reason=asked.reason,
                        task=task.id,
                        attempt=task.attempt,
                        token=task.token,
                        seq=seq,
                        locked_until=self._locked_until if is_open else None,
                        changed_at=self._at,
                        expires_at=None if is_open else self._expires_at,
                    )
                )
        if "processing" in self._changed and not task.has_items:
            draft.edit_task(task.id).has_items = True


def said_of(task: int, items: Iterable[tuple[str, str]]) -> Document:
    """What a ledger entry says of these items, each an entity and a name: of several, how many."""
    named = list(items)
    data: Document = {"task": task}
    if len(named) == 1:
        data["item"] = named[0][1]
    else:
        data["items"] = len(named)
    entities = {entity for entity, _ in named}
    if len(entities) == 1 and (entity := entities.pop()):
        data["entity"] = entity
    return data


def does_exist(item: Item, now: datetime) -> bool:
    """Whether what was to be done with the item is done, or is not to be done."""
    return item.status in DONE_ITEM and (item.expires_at is None or item.expires_at > now)


def with_room(items: Sequence[Kept]) -> list[Kept]:
    """The first of them: those before one whose data had no room."""
    return list(takewhile(lambda item: item is None or not item.left_out, items))


def is_over(item: Item, at: datetime) -> bool:
    """Whether the time of its lock is over; a lock that ends exactly now is not."""
    return item.locked_until is not None and item.locked_until < at


def _has_data(item: Item, data: str | None) -> bool:
    """Whether this is its data. What had no room is more than a call can hold, so it is no repeat."""
    return item.data == data and not item.left_out


def _failed(
    item: Item,
    reason: str,
    *,
    at: datetime,
    seq: int | None = None,
    expires_at: datetime | None = None,
) -> Item:
    return msgspec.structs.replace(
        item,
        status="failed",
        data=None,
        reason=reason,
        seq=seq,
        locked_until=None,
        changed_at=at,
        expires_at=expires_at,
    )


def expired(item: Item, *, at: datetime) -> Item:
    """The item after its time; no token did that."""
    return msgspec.structs.replace(
        _by_nobody(item),
        status="expired",
        data=None,
        reason=None,
        changed_at=at,
        expires_at=None,
        left_out=False,
    )


def _by_nobody(item: Item) -> Item:
    return msgspec.structs.replace(item, token=None, seq=None, task=None, attempt=None)


def end_locks(draft: Draft, task: Task, reason: str = ATTEMPT_ENDED) -> None:
    """The attempt has ended: what it had locked has failed. Raises Busy."""
    if not task.has_items:
        return
    _fail(draft, task, draft.locked_items(task.id), reason)
    draft.edit_task(task.id).has_items = False


def expire_items(facts: Facts, command: ExpireItems, now: datetime) -> Answer:
    """Forget what became of these items, if their time is over, or whatever their time is.

    Raises ItemNotFound and ItemMoveNotAllowed for one that somebody names; what the clock found and is gone is passed over.
    """
    found = [facts.items[key] for key in command.items]
    if command.now:
        for item in found:
            if "expired" not in ITEM[item.status]:
                refusal = _not_allowed(item, "expired")
                raise not_found(item.key) if item.status == "none" else refusal
    else:
        found = [item for item in found if item.expires_at is not None and item.expires_at <= now]
    for item in found:
        facts.write_item(expired(item, at=now))
    return Done()


def reset_item(facts: Facts, command: ResetItem, now: datetime) -> Answer:
    """End the lock of an item, whoever has it. Raises ItemNotFound and ItemMoveNotAllowed."""
    item = facts.items[command.item]
    if item.status != "processing":
        raise not_found(item.key) if item.status == "none" else _not_allowed(item, "failed")
    facts.write_item(_failed(_by_nobody(item), RESET, at=now))
    return Done()


def not_found(key: ItemKey) -> ItemNotFound:
    """The refusal of an item that nobody knows."""
    _, place, entity, name = key
    item = Item(scope=key[0], place=place, entity=entity, item=name, changed_at=_NEVER)
    return ItemNotFound(f"nothing is known of the item {_shown(item)} in '{place[:_SHOWN]}'")


def end_over_locks(draft: Draft, task: Task) -> None:
    """End those locks of the task whose time is over. Raises Busy."""
    locked = draft.locked_items(task.id)
    _fail(draft, task, [item for item in locked if is_over(item, draft.at)], RAN_OUT)


def _fail(draft: Draft, task: Task, items: list[Item], reason: str) -> None:
    if not items:
        return
    seq: int | None = None
    token = draft.token(task.token)
    if token.status in LIVE_TOKEN:
        data = said_of(task.id, [(item.entity, item.item) for item in items])
        data["reason"] = reason
        draft.record(task.token, "item_failed", data)
        seq = draft.token(task.token).seq
    log = log_of(draft.rules, task.queue)
    retention = None if log is None or not log.is_built_in else log.retention
    expires_at = None if retention is None else draft.at + retention
    for item in items:
        draft.write_item(_failed(item, reason, at=draft.at, seq=seq, expires_at=expires_at))


def _not_allowed(item: Item, becomes: str) -> ItemMoveNotAllowed:
    return ItemMoveNotAllowed(
        f"the item {_shown(item)} is {item.status}, and cannot become {becomes}"
    )


def _shown(item: Item) -> str:
    name = item.item if len(item.item) <= _SHOWN else item.item[:_SHOWN] + "…"
    return f"'{name}' of '{item.entity[:_SHOWN]}'" if item.entity else f"'{name}'"
