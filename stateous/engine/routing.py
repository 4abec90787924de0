"""Which transition an event takes, and whether its target can be entered (docs/http.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

import msgspec

from stateous.engine.draft import Draft
from stateous.engine.family import Document, Token
from stateous.engine.plans import Ambiguous, ChildPlan, Refused, Route, Taken
from stateous.model.graph import Transition
from stateous.model.guards import Scope
from stateous.model.names import END, JOINED, LONGEST_ID, MOST_CHILDREN, STARTED, child_id


def route_event(
    draft: Draft, token: Token, event: str, payload: Document | None, context: Document
) -> Route:
    """Decide where `event` moves the token; the guards read `context`, which may hold a report's changes."""
    candidates = draft.rules.flow(token.workflow).routes(token.state, event)
    if not candidates:
        return Refused(f"'{token.state}' has no transition on '{event}'")
    body = payload or {}
    counts = {**token.counts, event: token.counts.get(event, 0) + 1}
    branches: Sequence[Document] | None = body.get("branches") if event == JOINED else None
    scope = Scope(ctx=context, payload=body, counts=counts, branches=branches)
    chosen = choose(candidates, scope)
    match chosen:
        case Transition():
            return _plan(draft, token, chosen.target, context)
        case None:
            return Refused(f"no guard of '{token.state}' on '{event}' holds")
        case Several(first, second):
            return Ambiguous(
                f"'{event}' in '{token.state}' matched more than one guard: "
                f"{first.when} (to {first.target}), {second.when} (to {second.target})"
            )
        case _:
            assert_never(chosen)


class Several(msgspec.Struct, frozen=True):
    """Two transitions whose guards hold at once; there may be more."""

    first: Transition
    second: Transition


def choose(candidates: Iterable[Transition], scope: Scope) -> Transition | Several | None:
    """The transition that is taken, None if none is, Several if more than one guard holds."""
    unguarded: Transition | None = None
    holding: list[Transition] = []
    for transition in candidates:
        if transition.guard is None:
            unguarded = unguarded or transition
        elif transition.guard.holds(scope):
            holding.append(transition)
    if len(holding) > 1:
        return Several(holding[0], holding[1])
    return holding[0] if holding else unguarded


def plan_start(draft: Draft, token: str, workflow: str, context: Document) -> Taken | Refused:
    """Decide a token's START: exactly one guard holds, else the first transition without a guard."""
    children: list[str] = []
    return _if_free(draft, _start(draft, token, workflow, context, children), children)


def plan_child(draft: Draft, child: str, workflow: str, context: Document) -> Taken | Refused:
    """As `plan_start`, for a child token: it is one of those that are started at once."""
    children = [child]
    planned = _start(draft, child, workflow, context, children)
    return _if_free(draft, planned, children[1:])


def _plan(draft: Draft, token: Token, target: str, context: Document) -> Taken | Refused:
    children: list[str] = []
    visit = token.visits.get(target, 0) + 1
    planned = _target(draft, token.token, token.workflow, target, visit, context, children)
    return _if_free(draft, planned, children)


def _if_free(draft: Draft, planned: Taken | Refused, children: list[str]) -> Taken | Refused:
    """The plan, if all its children's ids are free: they are looked up together, in one round trip."""
    if isinstance(planned, Refused) or not children:
        return planned
    if len({child.lower() for child in children}) < len(children):
        return Refused(f"two child tokens would have one id: {_listed(children)}")
    if not draft.reserve(children):
        return Refused(f"the id of a child token is taken: {_listed(children)}")
    return planned


def _start(
    draft: Draft, token: str, workflow: str, context: Document, children: list[str]
) -> Taken | Refused:
    flow = draft.rules.flow(workflow)
    scope = Scope(ctx=context, payload={}, counts={STARTED: 1}, branches=None)
    match choose(flow.starts, scope):
        case Transition(target=target):
            return _target(draft, token, workflow, target, 1, context, children)
        case None:
            return Refused("no transition from START holds for this context")
        case _:
            return Refused("more than one transition from START holds for this context")


def _target(
    draft: Draft,
    token: str,
    workflow: str,
    target: str,
    visit: int,
    context: Document,
    children: list[str],
) -> Taken | Refused:
    """A parallel target is checked down through nested ones: each child's id, context and own START.

    The ids of all planned children are added to `children`. Planning ends at MOST_CHILDREN, so that a graph
    whose children multiply is refused before it fills the memory.
    """
    if target == END:
        return Taken(target)
    state = draft.rules.state(workflow, target)
    models = draft.rules.graph.models
    plans: list[ChildPlan] = []
    for child in state.parallel:
        name = child_id(token, target, visit, child)
        if len(name) > LONGEST_ID:
            return Refused(f"the child id '{name}' has more than {LONGEST_ID} characters")
        children.append(name)
        if draft.started + len(children) > MOST_CHILDREN:
            return Refused(f"'{target}' would start more than {MOST_CHILDREN} child tokens at once")
        flow = draft.rules.flow(child)
        given = {key: context[key] for key in state.inputs if key in context}
        filled = models.with_defaults(flow.context, given)
        problem = models.problem(flow.context, filled)
        if problem is not None:
            return Refused(f"the child '{child}' cannot start: {problem}")
        start = _start(draft, name, child, filled, children)
        if isinstance(start, Refused):
            return Refused(f"the child '{child}' cannot start: {start.reason}")
        plans.append(ChildPlan(name, child, filled, start))
    return Taken(target, tuple(plans))


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
