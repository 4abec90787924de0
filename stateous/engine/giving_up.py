"""A task that is not tried again: its token gets `error`, or fails. Who gives up settles the family afterwards (`joins`)."""

from __future__ import annotations

from stateous.engine.draft import Draft
from stateous.engine.family import Held, Task
from stateous.engine.holding import hold
from stateous.engine.items import end_locks
from stateous.engine.moves import fail_token, move
from stateous.engine.plans import Ambiguous, Refused, Taken
from stateous.engine.routing import route_event
from stateous.model.names import ERROR


def give_up_for_good(draft: Draft, task: Task, error: str, *, key: str | None = None) -> None:
    """Fail an open task whatever retries are left; `key` is that of a message."""
    draft.record(task.token, "flow_failed", {"task": task.id, "error": error})
    draft.record(task.token, "task_failed", {"task": task.id, "error": error}, key)
    end_locks(draft, task)
    give_up(draft, task, error)


def give_up(draft: Draft, task: Task, error: str) -> None:
    """The task has failed: raise `error`, or hold it in a pause; without a way on it the token fails."""
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
        why = f"'{token.state}' failed, and has no transition on 'error': {error}"
        fail_token(draft, token.token, why)
        return
    match route_event(draft, draft.token(token.token), ERROR, None, token.context):
        case Taken() as taken:
            move(draft, token.token, ERROR, None, taken)
        case Refused(reason):
            why = f"'{token.state}' failed, and 'error' cannot move it: {reason}"
            fail_token(draft, token.token, why)
        case Ambiguous(reason):
            fail_token(draft, token.token, reason)
