"""A failed attempt: tried again while retries are left, else the token gets `error`, or fails."""

from __future__ import annotations

from stateous.engine.draft import Draft
from stateous.engine.family import Task
from stateous.engine.giving_up import give_up, give_up_for_good
from stateous.engine.items import end_locks
from stateous.engine.joins import settle


def count_failure(draft: Draft, task: Task, error: str, *, key: str | None = None) -> None:
    """Count a failed attempt of a claimed or waiting task (docs/ledger.md); `key` is that of a message."""
    token = draft.token(task.token)
    state = draft.rules.state(token.workflow, token.state)
    draft.record(token.token, "task_failed", {"task": task.id, "error": error}, key)
    end_locks(draft, task)
    if task.failures + 1 <= state.retries:
        _try_again(draft, task)
        return
    give_up(draft, task, error)
    settle(draft)


def fail_for_good(draft: Draft, task: Task, error: str, *, key: str | None = None) -> None:
    """Fail an open task whatever retries are left; `key` is that of a message."""
    give_up_for_good(draft, task, error, key=key)
    settle(draft)


def _try_again(draft: Draft, task: Task) -> None:
    again = draft.edit_task(task.id, status="queued")
    again.failures += 1
    again.claimed_by = None
    again.lease_until = None
    again.queued_at = draft.at
    for timer in draft.pending_timers(task.token):
        if timer.kind == "timer":
            draft.edit_timer(timer, status="cancelled")
    draft.record(task.token, "task_retrying", {"task": task.id, "attempt": task.attempt + 1})
