"""Pause, resume, cancel: a whole family is steered through its top token (docs/ledger.md)."""

from __future__ import annotations

from stateous.engine.answers import Answer, Moved
from stateous.engine.draft import Draft
from stateous.engine.family import Held, Token
from stateous.engine.joins import accept, fail
from stateous.engine.lifecycles import LIVE_TOKEN
from stateous.engine.moves import drop_held, end, leave, live_children, queue_again
from stateous.engine.outcomes import context_problem, save_context, set_schedules
from stateous.engine.plans import Ambiguous, Refused, Taken
from stateous.engine.routing import route_event
from stateous.engine.waking import go_on
from stateous.model.names import ERROR
from stateous.model.refusals import ChildToken, TokenNotActive


def pause(draft: Draft, name: str) -> Answer:
    """Pause an active top token and its active children; raises ChildToken, TokenNotActive."""
    token = _top(draft, name, "paused")
    if token.status != "active":
        msg = f"the token '{name}' is {token.status}: only an active one can be paused"
        raise TokenNotActive(msg)
    pause_family(draft, token)
    return Moved(draft.token(name))


def pause_family(draft: Draft, token: Token) -> None:
    """Pause an active token and its active children."""
    draft.record(token.token, "paused", {})
    draft.set_status(token.token, "paused")
    draft.edit(token.token).paused_at = draft.at
    for child in live_children(draft, token):
        if child.status == "active":
            pause_family(draft, child)


def resume(draft: Draft, name: str) -> Answer:
    """Resume a paused family, then apply what it held; raises ChildToken, TokenNotActive."""
    token = _top(draft, name, "resumed")
    if token.status != "paused":
        msg = f"the token '{name}' is {token.status}: only a paused one can be resumed"
        raise TokenNotActive(msg)
    held = draft.held()
    woken = _wake(draft, token)
    draft.clear_held()
    dropped = [one for one in held if not _apply_held(draft, one)]
    for one in dropped:
        _give_task_back(draft, one)
    _go_on(draft, woken)
    return Moved(draft.token(name))


def _wake(draft: Draft, token: Token) -> list[str]:
    """Activate a token and its children; all of them, depth first."""
    paused_at = token.paused_at or draft.at
    for timer in draft.pending_timers(token.token):
        stood_since = max(paused_at, timer.set_at)
        draft.edit_timer(timer).due_at += draft.at - stood_since
    draft.record(token.token, "resumed", {})
    draft.set_status(token.token, "active")
    draft.edit(token.token).paused_at = None
    woken = [token.token]
    for child in live_children(draft, token):
        if child.status == "paused":
            woken.extend(_wake(draft, child))
    return woken


def _go_on(draft: Draft, names: list[str]) -> None:
    """Queue the tasks whose awaited steps ended during the pause; what is not known of them is asked for at once."""
    tasks = [task for name in names if (task := draft.open_task(draft.token(name))) is not None]
    draft.know_steps({task.id: task.awaiting for task in tasks if task.awaiting})
    for task in tasks:
        go_on(draft, task)


def _apply_held(draft: Draft, held: Held) -> bool:
    """Apply a held event; False if it was dropped."""
    token = draft.tokens([held.token])[0]
    if token.status != "active":
        return _drop(draft, held, f"the token is {token.status}")
    if held.task is not None and (held.state, held.visit) != (token.state, token.visit):
        return _drop(draft, held, f"the token left '{held.state}' before")
    context = {**token.context, **(held.context or {})}
    if held.context:
        problem = context_problem(draft, token, context)
        if problem is not None:
            return _drop(draft, held, problem)
    match route_event(draft, token, held.event, held.payload, context):
        case Taken() as taken:
            draft.record(held.token, "event_replayed", {"event": held.event})
            save_context(draft, held.token, held.context, context)
            set_schedules(draft, held.token, held.schedules)
            accept(draft, held.token, held.event, held.payload, taken)
            return True
        case Refused(reason):
            _drop(draft, held, reason)
            if held.event == ERROR:
                why = f"'{token.state}' failed, and 'error' cannot move it: {reason}"
                fail(draft, held.token, why)
            return False
        case Ambiguous(reason):
            _drop(draft, held, reason)
            fail(draft, held.token, reason)
            return False


def _drop(draft: Draft, held: Held, reason: str) -> bool:
    draft.record(held.token, "event_dropped", {"event": held.event, "reason": reason})
    return False


def _give_task_back(draft: Draft, held: Held) -> None:
    """A dropped outcome must not leave its token stuck: the task goes back to the queue, with its id."""
    token = draft.token(held.token)
    if (
        held.task is None
        or token.status != "active"
        or token.task is not None
        or (held.state, held.visit) != (token.state, token.visit)
    ):
        return
    queue_again(draft, draft.task(held.task))


def cancel(draft: Draft, name: str) -> Answer:
    """Cancel a live family; raises ChildToken, TokenNotActive."""
    token = _top(draft, name, "cancelled")
    if token.status not in LIVE_TOKEN:
        msg = f"the token '{name}' is {token.status}: it ended before"
        raise TokenNotActive(msg)
    drop_held(draft, name, "the token was cancelled")
    leave(draft, name, event=None, why="the parent was cancelled")
    if draft.token(name).held_count:
        draft.clear_held()
    end(draft, name, "cancelled", {})
    return Moved(draft.token(name))


def _top(draft: Draft, name: str, verb: str) -> Token:
    token = draft.token(name)
    if token.parent is not None:
        msg = f"'{name}' is a child token: its top token '{token.root}' can be {verb} instead"
        raise ChildToken(msg)
    return token
