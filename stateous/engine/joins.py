"""Moves that settle their family: children start, and their ends meet the join of their parent, or its routine.

Rules: docs/ledger.md. A child's end and the join that it meets are one decision. The steps are taken
one after the other, the last one first, as if each move called the next: but children can end as they start
and so move their parents again and again, which must neither exhaust the stack nor go on for ever.
"""

from __future__ import annotations

from typing import assert_never

from stateous.engine import moves
from stateous.engine.child_ends import end_awaited, is_awaited
from stateous.engine.draft import Draft
from stateous.engine.family import Document, Token
from stateous.engine.plans import Ambiguous, BeginChild, ChildEnded, Refused, Taken
from stateous.engine.routing import route_event
from stateous.engine.rules import MOST_JOINS
from stateous.model.names import JOINED, child_id


def start_token(draft: Draft, token: Token, taken: Taken) -> None:
    """A new token, written at START and moved into its first state."""
    moves.begin(draft, token, taken)
    settle(draft)


def accept(
    draft: Draft,
    token: str,
    event: str,
    payload: Document | None,
    taken: Taken,
    *,
    key: str | None = None,
) -> None:
    """Move the token: record the event, leave the state, then enter the target or complete."""
    moves.move(draft, token, event, payload, taken, key=key)
    settle(draft)


def fail(draft: Draft, token: str, reason: str, *, key: str | None = None) -> None:
    """Fail the token: leave, with every open task cancelled, then end."""
    moves.fail_token(draft, token, reason, key=key)
    settle(draft)


def settle(draft: Draft) -> None:
    """Take the steps that moves have set going, until the family is at rest."""
    joined = 0
    while draft.steps:
        step = draft.steps.pop()
        match step:
            case BeginChild():
                _begin_child(draft, step)
            case ChildEnded(child=child) if is_awaited(draft, child):
                end_awaited(draft, step)
            case ChildEnded(child=child):
                joined += _check_join(draft, child, may_go_on=joined < MOST_JOINS)
            case _:
                assert_never(step)


def _begin_child(draft: Draft, step: BeginChild) -> None:
    parent = draft.token(step.parent)
    if parent.status != "active" or (parent.state, parent.visit) != (step.state, step.visit):
        # A sibling that ended as it started met the join: the parent is gone from here.
        return
    plan = step.plan
    data: Document = {"workflow": plan.workflow, "token": plan.token}
    draft.record(parent.token, "branch_started", data)
    child = moves.new_token(draft, plan.token, plan.workflow, plan.context, parent)
    moves.begin(draft, child, plan.start)


def _check_join(draft: Draft, child: str, *, may_go_on: bool) -> bool:
    """Route `joined` on the parent if this end meets its join; whether that entered a parallel state."""
    ended = draft.token(child)
    assert ended.parent is not None  # noqa: S101 - only children come here
    parent = draft.token(ended.parent)
    of_this_visit = child_id(parent.token, parent.state, parent.visit, ended.workflow)
    if parent.status != "active" or child != of_this_visit:
        return False
    parent = draft.edit(parent.token)
    parent.children_open -= 1
    branches = [ended]
    if draft.rules.state(parent.workflow, parent.state).join == "all":
        if parent.children_open > 0:
            return False
        branches = draft.tokens(moves.children_of(draft, parent))
    payload: Document = {"branches": [_branch(token) for token in branches]}
    match route_event(draft, parent, JOINED, payload, parent.context):
        case Taken(children=children) if children and not may_go_on:
            reason = (
                f"joins were met {MOST_JOINS} times at once, by children that ended as they started"
            )
            moves.fail_token(
                draft, parent.token, f"'{parent.state}' does not come to rest: {reason}"
            )
        case Taken(children=children) as taken:
            moves.move(draft, parent.token, JOINED, payload, taken)
            return bool(children)
        case Refused(reason):
            reason = f"the join of '{parent.state}' cannot move the token: {reason}"
            moves.fail_token(draft, parent.token, reason)
        case Ambiguous(reason):
            moves.fail_token(draft, parent.token, reason)
    return False


def _branch(child: Token) -> Document:
    brought = child.entered_by
    return {
        "workflow": child.workflow,
        "token": child.token,
        "status": child.status,
        "final": child.state,
        "payload": None if brought is None else brought.payload,
    }
