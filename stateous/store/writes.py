"""The changes of a batch as the statements that write them, in the order in which they run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from stateous.engine.changes import Changes
from stateous.engine.family import Document
from stateous.store import rows
from stateous.store.rows import Before
from stateous.store.wanted import key_rows


class Write(msgspec.Struct, frozen=True):
    """One statement: its name, its parameters, and how many rows it has to write (None: any)."""

    name: str
    values: dict[str, Any]
    asked: int | None = None


def writes_of(changes: Changes, before: Mapping[str, Before]) -> Iterator[Write]:
    """The statements that write these changes; without changes there are none.

    `before` holds what was read of each token. Tokens come first, since a difference there stops the rest.
    """
    is_any = False
    for write in _writes(changes, before):
        is_any = True
        yield write
    if is_any:
        # Where nothing else is written, these rows go with the transaction that made them.
        yield from _rows("items_forget", key_rows(changes.items_unused))


def _writes(changes: Changes, before: Mapping[str, Before]) -> Iterator[Write]:
    paused = changes.parked | {
        token.token
        for token in (*changes.new_tokens, *(token for token, _ in changes.tokens))
        if token.status == "paused"
    }
    new_tokens = sorted(changes.new_tokens, key=lambda token: token.token)
    yield from _counted("tokens_add", [rows.new_token_row(token) for token in new_tokens])
    yield from _counted(
        "tokens_save",
        [
            rows.token_row(token, seq_loaded=seq, before=before.get(token.token))
            for token, seq in changes.tokens
        ],
    )
    yield from _rows("entries_add", map(rows.entry_row, changes.entries))
    yield from _rows(
        "tasks_add",
        [rows.new_task_row(task, parked=task.token in paused) for task in changes.new_tasks],
    )
    yield from _counted(
        "tasks_save", [rows.task_row(task, parked=task.token in paused) for task in changes.tasks]
    )
    yield from _rows(
        "timers_add",
        [rows.new_timer_row(timer, parked=timer.token in paused) for timer in changes.new_timers],
    )
    yield from _counted(
        "timers_save",
        [rows.timer_row(timer, parked=timer.token in paused) for timer in changes.timers],
    )
    yield from _parking(changes, before)
    yield from _counted("flows_save", list(map(rows.flow_row, changes.flows)))
    yield from _rows("steps_save", map(rows.step_row, changes.steps))
    yield from _counted("items_save", list(map(rows.item_row, changes.items)))
    yield from _rows("item_changes_add", map(rows.item_row, changes.item_changes))
    if changes.held_cleared:
        yield Write("held_clear", {"roots": changes.held_cleared})
    yield from _rows("held_add", (rows.held_row(root, held) for root, held in changes.held))
    yield from _memory(changes)
    yield from _counted("inbox_settle", list(map(rows.settled_row, changes.settled)))
    yield from _rows("claims_remember", map(rows.remembered_row, changes.remembered))


def _parking(changes: Changes, before: Mapping[str, Before]) -> Iterator[Write]:
    """A pause that begins or ends parks or unparks what the token already had."""
    for parked in (True, False):
        turned = [
            token
            for token, _ in changes.tokens
            if (token.status == "paused") is parked
            and (was := before.get(token.token)) is not None
            and (was.status == "paused") is not parked
        ]
        tasks = [token.task for token in turned if token.task is not None]
        if tasks:
            yield Write("tasks_park", {"tasks": tasks, "parked": parked})
        if turned:
            tokens = [token.token for token in turned]
            yield Write("timers_park", {"tokens": tokens, "parked": parked})


def _memory(changes: Changes) -> Iterator[Write]:
    # The last write of a key counts, and one statement may not touch a row twice.
    last = {(token, state, key): value for token, state, key, value in changes.memory}
    kept: list[Document] = []
    deleted: list[Document] = []
    for (token, state, key), value in last.items():
        row: Document = {"token": token, "state": state, "key": key}
        if value is None:
            deleted.append(row)
        else:
            kept.append({**row, "value": rows.json_text(value)})
    yield from _rows("memory_set", kept)
    yield from _rows("memory_delete", deleted)
    if changes.memory_wiped:
        yield Write("memory_wipe", {"tokens": changes.memory_wiped})


def _rows(name: str, made: Iterable[Document]) -> Iterator[Write]:
    collected = list(made)
    if collected:
        yield Write(name, {"rows": rows.json_text(collected)})


def _counted(name: str, made: list[Document]) -> Iterator[Write]:
    if made:
        yield Write(name, {"rows": rows.json_text(made)}, asked=len(made))
