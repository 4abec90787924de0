"""Messages with an id: a repeat is answered as the first was, because the ledger remembers (docs/http.md)."""

from __future__ import annotations

from typing import Final

from stateous.engine.answers import Answer, Done, Moved
from stateous.engine.commands import Message
from stateous.engine.draft import Draft
from stateous.model.refusals import EventNotAllowed, Refusal

_BEFORE_AN_ID: Final = "\x01"
"""No idempotency key begins with it: they have no control characters."""


def key_of(message: Message) -> str | None:
    """What the ledger keeps of the message's id, in the place of an idempotency key."""
    return None if message.id is None else _BEFORE_AN_ID + message.id


def answered_before(draft: Draft, message: Message) -> Answer | Refusal | None:
    """The answer to a repeat; None for a message that is new, or whose first one wrote nothing."""
    key = key_of(message)
    if key is None:
        return None
    token = draft.task(message.task).token
    used = draft.used(token, key)
    if used is None:
        return None
    match used.kind:
        case "note" | "memory_set" | "memory_deleted":
            return Done()
        case "event_rejected":
            return EventNotAllowed(used.reason or "the event was refused before")
        case _:
            return Moved(draft.token(token))
