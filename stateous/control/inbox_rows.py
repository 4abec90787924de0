"""A row of the inbox becomes a command: what a program wrote is checked as a request is (docs/sql.md)."""

from __future__ import annotations

from typing import Any

from stateous.engine.commands import Fire, FromInbox, Start, Unreadable
from stateous.model.refusals import (
    BadRequest,
    InvalidContext,
    InvalidPayload,
    Refusal,
)
from stateous.model.wire import fields
from stateous.model.wire.body import LARGEST_BODY, read_field
from stateous.model.wire.query import checked_key
from stateous.store.store import InboxRow


def command_of(row: InboxRow) -> FromInbox:
    """What the row asks for, or the refusal that it gets: no row is without a command."""
    try:
        asked = _asked(row)
    except Refusal as refusal:
        asked = Unreadable(row.token, refusal.code, refusal.sentence)
    return FromInbox(row.row, asked)


def _asked(row: InboxRow) -> Start | Fire:
    if row.size > LARGEST_BODY:
        raise BadRequest(f"the row has {row.size} bytes, and at most {LARGEST_BODY} are taken")
    if row.kind == "start":
        context = _document(row, "context", InvalidContext)
        fields.check_token_id(row.token)
        return Start(row.token, context or {})
    payload = _document(row, "payload", InvalidPayload)
    key = None if row.key is None else checked_key(row.key, "the key")
    return Fire(row.token, row.event or "", payload, key)


def _document(row: InboxRow, name: str, refusal: type[Refusal]) -> dict[str, Any] | None:
    if row.document is None:
        return None
    body = read_field(row.document.encode(), name)
    found = fields.document(body, name, refusal)
    body.refuse_nul(found, f"'{name}'", refusal)
    return found
