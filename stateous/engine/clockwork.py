"""Leases that end and timers that fire (docs/ledger.md): what the clock finds is looked at again before it is decided."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from stateous.engine import items, responses
from stateous.engine.answers import Answer, Done
from stateous.engine.commands import EndLease, EndLocks, FireTimer
from stateous.engine.draft import Draft
from stateous.engine.events import reject
from stateous.engine.failures import count_failure
from stateous.engine.flows import DEADLINE
from stateous.engine.joins import accept, fail
from stateous.engine.plans import Ambiguous, Refused, Taken
from stateous.engine.routing import route_event
from stateous.model.durations import say_duration
from stateous.model.refusals import EventNotAllowed, InvalidArgument

LATEST: Final = datetime(9000, 1, 1, tzinfo=UTC)
"""As far as a clock can be moved: what is set then and due later is still a time."""


def advanced(now: datetime, by: timedelta) -> datetime:
    """The time of a manual clock that is moved on by this, 0 or more. Raises InvalidArgument."""
    if by > LATEST - now:
        msg = f"a clock can be moved to the year {LATEST.year} at most"
        raise InvalidArgument(msg)
    return now + by


def end_lease(draft: Draft, command: EndLease, now: datetime) -> Answer:
    """End a lease that is over as a failed attempt; a lease that was renewed meanwhile stays."""
    task = draft.task(command.task)
    if task.status == "claimed" and task.lease_until is not None and task.lease_until < now:
        silence = say_duration(draft.rules.lease_for)
        count_failure(
            draft, task, f"{task.claimed_by} stopped answering: no heartbeat for {silence}"
        )
    return Done()


def end_over_locks(draft: Draft, command: EndLocks) -> Answer:
    """End the locks of a task's items whose time is over; those that were renewed meanwhile stay."""
    items.end_over_locks(draft, draft.task(command.task))
    return Done()


def fire_timer(draft: Draft, command: FireTimer, now: datetime) -> Answer:
    """Fire a timer that is due, if its token is active and still in the timer's state and visit."""
    token = draft.token(command.token)
    timer = draft.timer(command.timer)
    if (
        timer is None
        or timer.status != "pending"
        or token.status != "active"
        or timer.due_at > now
        or (timer.state, timer.visit) != (token.state, token.visit)
    ):
        return Done()
    if timer.kind == DEADLINE:
        responses.miss(draft, timer)
        return Done()
    draft.edit_timer(timer, status="fired")
    draft.record(token.token, "timer_fired", {"event": timer.event})
    match route_event(draft, draft.token(token.token), timer.event, timer.payload, token.context):
        case Taken() as taken:
            accept(draft, token.token, timer.event, timer.payload, taken)
        case Ambiguous(reason):
            fail(draft, token.token, reason)
        case Refused(reason) if timer.kind == "timeout":
            fail(draft, token.token, f"'{token.state}' timed out: {reason}")
        case Refused(reason):
            reject(draft, token.token, timer.event, EventNotAllowed(reason))
    return Done()
