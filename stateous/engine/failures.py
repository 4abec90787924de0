"""A failed attempt: tried again while retries are left, else the token gets `error`, or fails."""

from __future__ import annotations

from stateous.engine.draft import Draft
from stateous.engine.events import hold
from stateous.engine.family import Held, Task
from stateous.engine.items import end_locks
from stateous.engine.joins import accept, fail
from stateous.engine.plans import Ambiguous, Refused, Taken
from stateous.engine.routing import route_event
from stateous.model.names import ERROR


def count_failure(draft: Draft, task: Task, error: str, *, key: str | None = None) -> None:
    """Count a failed attempt of a claimed or waiting task (docs/ledger.md); `key` is that of a message."""
    token = draft.token(task.token)
    state = draft.rules.state(token.workflow, token.state)
    draft.record(token.token, "task_failed", {"task": task.id, "error": error}, key)
    end_locks(draft, task)
    if task.failures + 1 <= state.retries:
        _try_again(draft, task)
        return
    _give_up(draft, task, error)


def fail_for_good(draft: Draft, task: Task, error: str, *, key: str | None = None) -> None:
    """Fail an open task whatever retries are left; `key` is that of a message."""
    draft.record(task.token, "flow_failed", {"task": task.id, "error": error})
    draft.record(task.token, "task_failed", {"task": task.id, "error": error}, key)
    end_locks(draft, task)
    _give_up(draft, task, error)


def _give_up(draft: Draft, task: Task, error: str) -> None:
    token = draft.token(task.token)
    failed = draft.edit_task(task.id, status="failed")
    failed.failures += 1
    failed.lease_until = None
    if token.status == "paused":
        hold(
            draft,
            Held(
                arrival=0,
                token=token.token,
                event=ERROR,
                payload=None,
                task=task.id,
                state=task.state,
                visit=task.visit,
            ),
        )
        return
    if not draft.rules.flow(token.workflow).routes(token.state, ERROR):
        fail(
            draft,
            token.token,
            f"'{token.state}' failed, and has no transition on 'error': {error}",
        )
        return
    match route_event(draft, draft.token(token.token), ERROR, None, token.context):
        case Taken() as taken:
            accept(draft, token.token, ERROR, None, taken)
        case Refused(reason):
            fail(
                draft, token.token, f"'{token.state}' failed, and 'error' cannot move it: {reason}"
            )
        case Ambiguous(reason):
            fail(draft, token.token, reason)


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
