"""A token starts, or is there already (docs/http.md)."""

from __future__ import annotations

from datetime import datetime

from stateous.engine.answers import Answer, Started
from stateous.engine.commands import Start
from stateous.engine.draft import Draft
from stateous.engine.facts import Facts
from stateous.engine.family import Family
from stateous.engine.joins import start_token
from stateous.engine.moves import new_token
from stateous.engine.plans import Refused
from stateous.engine.routing import plan_start
from stateous.engine.rules import Rules
from stateous.model.names import TOKEN_ID
from stateous.model.refusals import InvalidContext, InvalidTokenId


def start(rules: Rules, facts: Facts, command: Start, now: datetime) -> tuple[Draft, Answer]:
    """Answer the token that exists, or write a new one into its first state.

    Raises InvalidTokenId and InvalidContext; a refusal records nothing.
    """
    name = command.token
    if TOKEN_ID.fullmatch(name) is None:
        msg = (
            f"{_shown(name)} is not a token id: 1 to 128 letters, digits, '.', '_' and '-', "
            "the first a letter or a digit"
        )
        raise InvalidTokenId(msg)
    existing = facts.family_of(name)
    if existing is not None:
        draft = Draft(rules, facts, existing, now)
        return draft, Started(draft.token(name), created=False)
    taken_by = facts.taken[name.lower()]
    if taken_by is not None:
        msg = f"the token id '{name}' differs only in case from '{taken_by}', which exists"
        raise InvalidTokenId(msg)
    workflow = rules.graph.workflow
    model = rules.flow(workflow).context
    context = rules.graph.models.with_defaults(model, command.context)
    problem = rules.graph.models.problem(model, context)
    if problem is not None:
        raise InvalidContext(problem)
    draft = Draft(rules, facts, Family(name), now)
    taken = plan_start(draft, name, workflow, context)
    if isinstance(taken, Refused):
        raise InvalidContext(taken.reason)
    token = new_token(draft, name, workflow, context, parent=None, ambient=command.ambient)
    start_token(draft, token, taken)
    facts.families[name] = draft.family
    return draft, Started(draft.token(name), created=True)


def _shown(text: str) -> str:
    """The text as a message may show it: bounded, and on one line."""
    return repr(text if len(text) <= 150 else text[:150] + "…")
