"""A report of an outcome (docs/http.md, docs/ledger.md); also notes and memory writes, which come from the same routine."""

from __future__ import annotations

from collections.abc import Iterable

from stateous.engine.answers import Answer, Done, Moved
from stateous.engine.attempts import check_holder, not_held, worked_task
from stateous.engine.commands import Note, Release, Report, SetMemory
from stateous.engine.draft import Draft
from stateous.engine.events import payload_problem, reject
from stateous.engine.failures import count_failure, fail_for_good
from stateous.engine.family import Document, FlowStep, Held, Schedule, Task, Timer, Token
from stateous.engine.flows import new_flow, readable_flow
from stateous.engine.holding import hold
from stateous.engine.items import end_locks
from stateous.engine.joins import accept, fail
from stateous.engine.moves import queue_again, set_timer
from stateous.engine.plans import Ambiguous, Refused, Taken
from stateous.engine.repeats import key_of
from stateous.engine.routing import route_event
from stateous.engine.waking import go_on
from stateous.model.durations import parse_duration
from stateous.model.names import OWN_EVENTS
from stateous.model.refusals import (
    EventNotAllowed,
    InvalidContext,
    InvalidPayload,
    Refusal,
    TaskNotHeld,
)


def report(draft: Draft, command: Report) -> Answer | Refusal:
    """Apply a routine's outcome to its token.

    Raises AttemptOver, TaskNotHeld, InvalidContext and InvalidPayload, which record nothing; an event that
    cannot move the token is recorded as `event_rejected` and returned as EventNotAllowed.
    """
    task = worked_task(draft, command.task, command.attempt)
    _check_holder(task, command)
    if command.kind == "failed":
        error = command.error or "the routine failed and said nothing"
        give_up = fail_for_good if command.final else count_failure
        give_up(draft, task, error, key=key_of(command))
        return Moved(draft.token(task.token))
    token = draft.token(task.token)
    merged = _merged(draft, token, command.context)
    _check_schedules(draft, token, command.schedules)
    if command.kind == "waiting":
        return _wait(draft, task, merged, command)
    return _report_event(draft, task, merged, command)


def _wait(draft: Draft, task: Task, merged: Document, command: Report) -> Answer:
    awaited = _awaited(draft, task, command.awaiting)
    if command.context and draft.flow(task.id) is None:
        # What the routine was entered with is kept before it changes.
        draft.write_flow(new_flow(draft, task))
    _save_changes(draft, task, merged, command)
    waiting = draft.edit_task(task.id, status="waiting")
    waiting.claimed_by = None
    waiting.lease_until = None
    waiting.awaiting = command.awaiting or None
    data: Document = {"task": task.id}
    if command.awaiting:
        data["awaiting"] = list(command.awaiting)
    if len(awaited) == 1:
        data |= {"step": awaited[0].name, "kind": awaited[0].kind}
    draft.record(task.token, "task_waiting", data, key_of(command))
    go_on(draft, waiting)
    return Moved(draft.token(task.token))


def _awaited(draft: Draft, task: Task, names: Iterable[str]) -> list[FlowStep]:
    """The steps that the task is to wait for. Raises InvalidPayload for one that is not there."""
    if not names:
        return []
    readable_flow(draft, task.id)
    found: list[FlowStep] = []
    for name, step in draft.flow_steps(task.id, names).items():
        if step is None:
            msg = f"the flow of task {task.id} has no step '{name[:128]}' to wait for"
            raise InvalidPayload(msg)
        found.append(step)
    return found


def _report_event(draft: Draft, task: Task, merged: Document, command: Report) -> Answer | Refusal:
    token = draft.token(task.token)
    state = draft.rules.state(token.workflow, token.state)
    event, key = command.event, key_of(command)
    if event not in state.emits:
        reason = f"the state '{state.name}' cannot emit '{event[:128]}'"
        return reject(draft, token.token, event, EventNotAllowed(reason), key=key)
    problem = payload_problem(draft, token.workflow, event, command.payload)
    if problem is not None:
        raise InvalidPayload(problem)
    if token.status == "paused":
        _hold_outcome(draft, task, command)
        return Moved(draft.token(token.token))
    match route_event(draft, token, event, command.payload, merged):
        case Taken() as taken:
            _save_changes(draft, task, merged, command)
            accept(draft, token.token, event, command.payload, taken, key=key)
        case Refused(reason):
            return reject(draft, token.token, event, EventNotAllowed(reason), key=key)
        case Ambiguous(reason):
            _save_changes(draft, task, merged, command)
            fail(draft, token.token, reason, key=key)
    return Moved(draft.token(token.token))


def _check_holder(task: Task, command: Report) -> None:
    if command.supervisor is not None:
        check_holder(task, command.supervisor)
    elif command.kind == "waiting":
        msg = f"only the supervisor that holds task {task.id} can report that it waits"
        raise TaskNotHeld(msg)


def _merged(draft: Draft, token: Token, changes: Document | None) -> Document:
    if not changes:
        return token.context
    merged = {**token.context, **changes}
    problem = context_problem(draft, token, merged)
    if problem is not None:
        raise InvalidContext(problem)
    return merged


def context_problem(draft: Draft, token: Token, context: Document) -> str | None:
    """What is wrong with a token's changed context, if anything."""
    model = draft.rules.flow(token.workflow).context
    return draft.rules.graph.models.problem(model, context)


def _check_schedules(draft: Draft, token: Token, schedules: Iterable[Schedule]) -> None:
    events = draft.rules.flow(token.workflow).events
    for schedule in schedules:
        if schedule.event in OWN_EVENTS or schedule.event not in events:
            msg = (
                f"the workflow '{token.workflow}' has no event '{schedule.event[:128]}' to schedule"
            )
            raise InvalidPayload(msg)
        problem = payload_problem(draft, token.workflow, schedule.event, schedule.payload)
        if problem is not None:
            raise InvalidPayload(problem)


def _save_changes(draft: Draft, task: Task, merged: Document, command: Report) -> None:
    save_context(draft, task.token, command.context, merged)
    set_schedules(draft, task.token, command.schedules)


def save_context(draft: Draft, token: str, changes: Document | None, merged: Document) -> None:
    """Write a routine's context changes; an empty one writes nothing, equal values do."""
    if not changes:
        return
    draft.edit(token).context = merged
    draft.record(token, "context_changed", {"keys": sorted(changes), "changes": changes})


def set_schedules(draft: Draft, token: str, schedules: Iterable[Schedule]) -> None:
    """Set a routine's timers, counted from now, in the state and visit that the token is in."""
    found = draft.token(token)
    for schedule in schedules:
        set_timer(
            draft,
            Timer(
                id=draft.new_id(),
                token=token,
                state=found.state,
                visit=found.visit,
                event=schedule.event,
                payload=schedule.payload,
                kind="timer",
                status="pending",
                set_at=draft.at,
                due_at=draft.at + parse_duration(schedule.after),
            ),
        )


def _hold_outcome(draft: Draft, task: Task, command: Report) -> None:
    hold(
        draft,
        Held(
            arrival=0,
            token=task.token,
            event=command.event,
            payload=command.payload,
            task=task.id,
            state=task.state,
            visit=task.visit,
            context=command.context or None,
            schedules=command.schedules,
            key=key_of(command),
        ),
    )
    done = draft.edit_task(task.id, status="done")
    done.lease_until = None
    draft.record(task.token, "task_done", {"task": task.id})
    end_locks(draft, task)


def release(draft: Draft, command: Release) -> Answer:
    """Take back a task that its supervisor did not work on: no attempt has failed. Raises TaskNotHeld."""
    task = draft.task(command.task)
    check_holder(task, command.supervisor)
    if command.attempt not in {None, task.attempt}:
        raise not_held(task, command.supervisor)
    end_locks(draft, task)
    queue_again(draft, task)
    return Done()


def note(draft: Draft, command: Note) -> Answer:
    """Record a progress line; raises AttemptOver and TaskNotHeld."""
    task = worked_task(draft, command.task, command.attempt)
    data: Document = {"task": task.id, "text": command.text}
    draft.record(task.token, "note", data, key_of(command))
    return Done()


def set_memory(draft: Draft, command: SetMemory) -> Answer:
    """Write or delete one key of the routine's memory; raises AttemptOver and TaskNotHeld."""
    task = worked_task(draft, command.task, command.attempt)
    data: Document = {"state": task.state, "memory_key": command.key}
    if command.value is not None:
        draft.record(task.token, "memory_set", data, key_of(command))
    elif draft.memory_has(task.token, task.state, command.key):
        draft.record(task.token, "memory_deleted", data, key_of(command))
    else:
        return Done()
    draft.set_memory(task.token, task.state, command.key, command.value)
    return Done()
