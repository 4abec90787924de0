"""How one token moves: it leaves a state, enters the next, or ends.

What a move sets going in the family (children to start, a join to look at) becomes a step of the draft, which
`joins` takes: rules use the moves of `joins`, which settle the family, and not those of this file.
Source: docs/ledger.md. Every kind of entry is recorded here, in `joins`, or in the file of its command.
"""

from __future__ import annotations

from stateous.engine.draft import Draft
from stateous.engine.family import Ambient, Document, Occurrence, Task, Timer, Token
from stateous.engine.items import end_locks
from stateous.engine.lifecycles import LIVE_TOKEN, WORKED_TASK
from stateous.engine.plans import BeginChild, ChildEnded, Taken
from stateous.model.names import END, START, STARTED, TIMEOUT, child_id


def move(
    draft: Draft,
    token: str,
    event: str,
    payload: Document | None,
    taken: Taken,
    *,
    key: str | None = None,
) -> None:
    """Move the token: record the event, leave the state, then enter the target or complete."""
    edited = draft.edit(token)
    draft.record(
        token, "event_accepted", {"event": event, "payload": payload, "state": edited.state}, key
    )
    edited.counts = {**edited.counts, event: edited.counts.get(event, 0) + 1}
    leave(draft, token, event=event, why=f"the parent left '{edited.state}' on '{event}'")
    _arrive(draft, token, Occurrence(event, payload), taken)


def _arrive(draft: Draft, token: str, occurrence: Occurrence, taken: Taken) -> None:
    # What ends the token did not bring it to the state that it keeps: a join tells what brought it there.
    if taken.target == END:
        end(draft, token, "completed", {})
    else:
        draft.edit(token).entered_by = occurrence
        _enter(draft, token, taken)


def begin(draft: Draft, token: Token, taken: Taken) -> None:
    """A new token, written at START and moved into its first state."""
    draft.add_token(token)
    data: Document = {"context": token.context}
    if token.parent is not None:
        data["parent"] = token.parent
    draft.record(token.token, "started", data)
    occurrence = Occurrence(STARTED)
    draft.record(
        token.token,
        "event_accepted",
        {"event": occurrence.name, "payload": None, "state": START},
    )
    edited = draft.edit(token.token)
    edited.counts = {occurrence.name: 1}
    edited.entered_by = occurrence
    _arrive(draft, token.token, occurrence, taken)


def new_token(
    draft: Draft,
    token: str,
    workflow: str,
    context: Document,
    parent: Token | None,
    *,
    ambient: Ambient | None = None,
) -> Token:
    """A token at START that nobody has seen yet; without an ambient map of its own it has that of its parent."""
    if ambient is None and parent is not None:
        ambient = parent.ambient
    return Token(
        token=token,
        root=token if parent is None else parent.root,
        parent=None if parent is None else parent.token,
        workflow=workflow,
        state=START,
        status="active",
        visit=0,
        seq=0,
        context=context,
        counts={},
        visits={},
        entered_by=None,
        task=None,
        children_open=0,
        held_count=0,
        created_at=draft.at,
        entered_at=draft.at,
        changed_at=draft.at,
        ambient=ambient,
    )


def _enter(draft: Draft, token: str, taken: Taken) -> None:
    edited = draft.edit(token)
    state = draft.rules.state(edited.workflow, taken.target)
    visit = edited.visits.get(state.name, 0) + 1
    edited.state = state.name
    edited.visit = visit
    edited.visits = {**edited.visits, state.name: visit}
    edited.entered_at = draft.at
    edited.children_open = len(taken.children)
    draft.record(token, "entered", {"state": state.name, "visit": visit})
    if not state.parallel:
        _queue_task(draft, edited)
    if state.timeout is not None:
        set_timer(
            draft,
            Timer(
                id=draft.new_id(),
                token=token,
                state=state.name,
                visit=visit,
                event=TIMEOUT,
                payload=None,
                kind="timeout",
                status="pending",
                set_at=draft.at,
                due_at=draft.at + state.timeout,
            ),
        )
    draft.steps.extend(
        BeginChild(token, state.name, visit, child) for child in reversed(taken.children)
    )


def _queue_task(draft: Draft, token: Token) -> None:
    task = Task(
        id=draft.new_id(),
        token=token.token,
        queue=draft.rules.graph.queue(token.workflow, token.state),
        state=token.state,
        visit=token.visit,
        status="queued",
        attempt=0,
        failures=0,
        claimed_by=None,
        lease_until=None,
        queued_at=draft.at,
    )
    draft.add_task(task)
    draft.record(token.token, "task_queued", {"task": task.id, "state": token.state})


def queue_again(draft: Draft, task: Task) -> None:
    """Put a task back into its queue, with its number, attempt and failures."""
    queued = draft.edit_task(task.id, status="queued")
    queued.claimed_by = None
    queued.lease_until = None
    queued.queued_at = draft.at
    draft.record(task.token, "task_queued", {"task": task.id, "state": task.state})


def set_timer(draft: Draft, timer: Timer) -> None:
    """Set a timer, and record it."""
    draft.add_timer(timer)
    draft.record(timer.token, "timer_set", {"event": timer.event, "due_at": timer.due_at})


def leave(draft: Draft, token: str, *, event: str | None, why: str) -> None:
    """Leave the state: its task ends, its timers are cancelled, its live children too.

    `event` is None when the token ends by itself; then an open task is cancelled whatever was emitted.
    `why` is the reason that the children are cancelled with.
    """
    found = draft.token(token)
    if found.state == START:
        return
    state = draft.rules.state(found.workflow, found.state)
    task = draft.open_task(found)
    if task is not None:
        done = event is not None and event in state.emits and task.status in WORKED_TASK
        ended = draft.edit_task(task.id, status="done" if done else "cancelled")
        ended.lease_until = None
        draft.record(token, "task_done" if done else "task_cancelled", {"task": task.id})
        end_locks(draft, task)
    for timer in draft.pending_timers(token):
        draft.edit_timer(timer, status="cancelled")
    if found.children_open:
        children = live_children(draft, found)
        draft.read_locks(filter(None, map(draft.open_task, children)))
        for child in children:
            _cancel_child(draft, child.token, why)
        edited = draft.edit(token)
        edited.children_open = 0
        edited.child = edited.child_task = None


def children_of(draft: Draft, token: Token) -> list[str]:
    """The ids of the children of the token's visit, in the order of `parallel`, then the one that its routine awaits."""
    state = draft.rules.state(token.workflow, token.state)
    names = [child_id(token.token, token.state, token.visit, child) for child in state.parallel]
    return names if token.child is None else [*names, token.child]


def live_children(draft: Draft, token: Token) -> list[Token]:
    """The live children of the token's visit, in the order of `children_of`."""
    if not token.children_open:
        return []
    return [t for t in draft.tokens(children_of(draft, token)) if t.status in LIVE_TOKEN]


def _cancel_child(draft: Draft, token: str, why: str) -> None:
    drop_held(draft, token, why)
    state = draft.token(token).state
    leave(draft, token, event=None, why=f"the parent left '{state}': it was cancelled")
    draft.record(token, "cancelled", {"reason": why})
    _close(draft, token, "cancelled")


def drop_held(draft: Draft, token: str, why: str) -> None:
    """Record, for a paused token that is cancelled, that what was held for it is dropped."""
    if draft.token(token).status != "paused":
        return
    for held in draft.held():
        if held.token == token:
            draft.record(token, "event_dropped", {"event": held.event, "reason": why})


def fail_token(draft: Draft, token: str, reason: str, *, key: str | None = None) -> None:
    """Fail the token: leave, with every open task cancelled, then end."""
    leave(draft, token, event=None, why="the parent failed")
    end(draft, token, "failed", {"reason": reason}, key=key)


def end(draft: Draft, token: str, status: str, data: Document, *, key: str | None = None) -> None:
    """End a token that has left its state; if it is a child, what that means for its parent is a step to come."""
    draft.record(token, status, data, key)
    _close(draft, token, status)
    if draft.token(token).parent is not None:
        draft.steps.append(ChildEnded(token, data.get("reason")))


def _close(draft: Draft, token: str, status: str) -> None:
    draft.set_status(token, status)
    draft.wipe_memory(token)
