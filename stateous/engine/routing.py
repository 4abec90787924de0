"""Which transition an event takes, and whether its target can be entered (the wire's "how an event is decided")."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from stateous.engine.draft import Draft
from stateous.engine.family import Document, Token
from stateous.engine.rules import LONGEST_ID, child_id
from stateous.model.graph import Transition
from stateous.model.guards import Scope
from stateous.model.names import END


class Taken(msgspec.Struct, frozen=True):
    """The event moves the token to `target`; `children` are what a parallel target starts."""

    target: str
    children: tuple[ChildPlan, ...] = ()


class ChildPlan(msgspec.Struct, frozen=True):
    """A child token that can be started: its id, workflow, context with defaults, and its own START."""

    token: str
    workflow: str
    context: Document
    start: Taken


class Refused(msgspec.Struct, frozen=True):
    """The event cannot move the token; `reason` is a sentence."""

    reason: str


class Ambiguous(msgspec.Struct, frozen=True):
    """Two guards hold at once: the token fails; `reason` is a sentence."""

    reason: str


Route = Taken | Refused | Ambiguous


def route_event(
    draft: Draft, token: Token, event: str, payload: Document | None, context: Document
) -> Route:
    """Decide where `event` moves the token; the guards read `context`, which may hold a report's changes."""
    candidates = draft.rules.flow(token.workflow).routes(token.state, event)
    if not candidates:
        return Refused(f"'{token.state}' has no transition on '{event}'")
    body = payload or {}
    counts = {**token.counts, event: token.counts.get(event, 0) + 1}
    branches: Sequence[Document] | None = body.get("branches") if event == "joined" else None
    scope = Scope(ctx=context, payload=body, counts=counts, branches=branches)
    chosen = choose(candidates, scope)
    match chosen:
        case Transition():
            return _plan(draft, token, chosen.target, context)
        case None:
            return Refused(f"no guard of '{token.state}' on '{event}' holds")
        case [first, second, *_]:
            return Ambiguous(
                f"'{event}' in '{token.state}' matched more than one guard: "
                f"{first.when} (to {first.target}), {second.when} (to {second.target})"
            )
        case _:  # pragma: no cover - `choose` gives at least two
            raise AssertionError(chosen)


def choose(candidates: Iterable[Transition], scope: Scope) -> Transition | list[Transition] | None:
    """The transition that is taken, None if none is, or all those whose guards hold if they are several."""
    unguarded: Transition | None = None
    holding: list[Transition] = []
    for transition in candidates:
        if transition.guard is None:
            unguarded = unguarded or transition
        elif transition.guard.holds(scope):
            holding.append(transition)
    if len(holding) > 1:
        return holding
    return holding[0] if holding else unguarded


def plan_start(draft: Draft, token: str, workflow: str, context: Document) -> Taken | Refused:
    """Decide a token's START: exactly one guard holds, else the first transition without a guard."""
    flow = draft.rules.flow(workflow)
    scope = Scope(ctx=context, payload={}, counts={"__started__": 1}, branches=None)
    match choose(flow.starts, scope):
        case Transition(target=target):
            return _plan_target(draft, token, workflow, target, 1, context)
        case None:
            return Refused("no transition from START holds for this context")
        case _:
            return Refused("more than one transition from START holds for this context")


def _plan(draft: Draft, token: Token, target: str, context: Document) -> Taken | Refused:
    visit = token.visits.get(target, 0) + 1
    return _plan_target(draft, token.token, token.workflow, target, visit, context)


def _plan_target(
    draft: Draft, token: str, workflow: str, target: str, visit: int, context: Document
) -> Taken | Refused:
    """A parallel target is checked down through nested ones: ids, contexts, each child's own START."""
    if target == END:
        return Taken(target)
    state = draft.rules.state(workflow, target)
    models = draft.rules.graph.models
    children: list[ChildPlan] = []
    for child in state.parallel:
        name = child_id(token, target, visit, child)
        if len(name) > LONGEST_ID:
            return Refused(f"the child id '{name}' has more than {LONGEST_ID} characters")
        flow = draft.rules.flow(child)
        given = {key: context[key] for key in state.inputs if key in context}
        filled = models.with_defaults(flow.context, given)
        problem = models.problem(flow.context, filled)
        if problem is not None:
            return Refused(f"the child '{child}' cannot start: {problem}")
        start = plan_start(draft, name, child, filled)
        if isinstance(start, Refused):
            return Refused(f"the child '{child}' cannot start: {start.reason}")
        children.append(ChildPlan(name, child, filled, start))
    names = [plan.token for plan in children]
    if names and not draft.is_free(names):
        return Refused(f"a child id below '{token}' is taken: {', '.join(names)}")
    if len({name.lower() for name in names}) < len(names):
        return Refused(f"two children of '{target}' would have one id: {', '.join(names)}")
    return Taken(target, tuple(children))
