"""An event is fired (docs/http.md); also what becomes of one that cannot move the token."""

from __future__ import annotations

from stateous.engine.answers import Answer, Moved
from stateous.engine.commands import Fire
from stateous.engine.draft import Draft
from stateous.engine.family import Held
from stateous.engine.holding import hold
from stateous.engine.joins import accept, fail
from stateous.engine.lifecycles import LIVE_TOKEN
from stateous.engine.plans import Ambiguous, Refused, Taken
from stateous.engine.routing import route_event
from stateous.model.names import OWN_EVENTS
from stateous.model.refusals import EventNotAllowed, InvalidPayload, Refusal, TokenNotActive


def fire(draft: Draft, command: Fire) -> Answer | Refusal:
    """Move the token, hold the event of a paused one, or refuse it.

    A 409 is recorded as `event_rejected` and returned; InvalidPayload is raised and records nothing.
    """
    token = draft.token(command.token)
    event = command.event
    if command.key is not None and draft.used(token.token, command.key) is not None:
        return Moved(token, duplicate=True)
    if token.status not in LIVE_TOKEN:
        reason = f"the token '{token.token}' is {token.status}"
        return reject(draft, token.token, event, TokenNotActive(reason))
    if event in OWN_EVENTS:
        return reject(
            draft,
            token.token,
            event,
            EventNotAllowed(f"'{event}' is an event that only Stateous itself emits"),
        )
    declared = draft.rules.flow(token.workflow).events.get(event)
    if declared is None:
        return reject(
            draft,
            token.token,
            event,
            EventNotAllowed(f"the workflow '{token.workflow}' has no event '{_short(event)}'"),
        )
    problem = payload_problem(draft, token.workflow, event, command.payload)
    if problem is not None:
        raise InvalidPayload(problem)
    if token.status == "paused":
        hold(
            draft,
            Held(
                arrival=0,
                token=token.token,
                event=event,
                payload=command.payload,
                key=command.key,
            ),
        )
        return Moved(draft.token(token.token))
    match route_event(draft, token, event, command.payload, token.context):
        case Taken() as taken:
            accept(draft, token.token, event, command.payload, taken, key=command.key)
        case Refused(reason):
            return reject(draft, token.token, event, EventNotAllowed(reason))
        case Ambiguous(reason):
            fail(draft, token.token, reason)
    return Moved(draft.token(token.token))


def reject(
    draft: Draft, token: str, event: str, refusal: Refusal, *, key: str | None = None
) -> Refusal:
    """Record that the event was refused, and why. `key` is that of a message: an event's own is not used up."""
    draft.record(token, "event_rejected", {"event": event, "reason": refusal.sentence}, key)
    return refusal


def payload_problem(
    draft: Draft, workflow: str, event: str, payload: dict[str, object] | None
) -> str | None:
    """What is wrong with an event's payload, if anything; the event is declared."""
    model = draft.rules.flow(workflow).events[event].payload
    if model is None:
        return f"the event '{event}' takes no payload" if payload else None
    problem = draft.rules.graph.models.problem(model, payload or {})
    return None if problem is None else f"the payload of '{event}': {problem}"


def _short(text: str) -> str:
    return text if len(text) <= 128 else text[:128] + "…"
