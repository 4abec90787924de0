"""Every kind of ledger entry, said as one sentence for a person."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

SENTENCES: Final[Mapping[str, str]] = {
    "started": "started with {context}[ by {parent}]",
    "event_accepted": "event {event} accepted in {state}[ with {payload}]",
    "event_rejected": "event {event} rejected: {reason}",
    "event_deferred": "event {event} held until the token is resumed[ with {payload}]",
    "event_replayed": "held event {event} is applied",
    "event_dropped": "held event {event} dropped: {reason}",
    "entered": "entered {state} (visit {visit})",
    "task_queued": "task {task} queued for {state}",
    "task_claimed": "task {task} claimed by {supervisor} (attempt {attempt})",
    "task_waiting": "task {task} [awaits the {kind} {step}|waits for someone outside: {awaiting}|waits for someone outside]",
    "task_resumed": "task {task} goes on",
    "task_done": "task {task} done",
    "task_cancelled": "task {task} cancelled",
    "task_failed": "task {task} failed: {error}",
    "task_retrying": "task {task} queued again (attempt {attempt} comes next)",
    "timer_set": "timer set: {event} is due at {due_at}",
    "timer_fired": "timer fired: {event}",
    "branch_started": "child {token} of workflow {workflow} started",
    "context_changed": "context changed: {changes}",
    "note": "task {task} notes: {text}",
    "memory_set": "memory of {state}: {memory_key} set",
    "memory_deleted": "memory of {state}: {memory_key} deleted",
    "step_done": "step {step} of task {task} done",
    "step_faulted": "step {step} of task {task} faulted: {message}",
    "response_awaited": "step {step} of task {task} awaits a response[, until {due_at}]",
    "response_received": "step {step} of task {task} received its response: {status}[ ({message})]",
    "item_acquired": "task {task} works on[ {items} items][ item {item}][ of {entity}]",
    "item_processed": "task {task} is done with[ {items} items][ item {item}][ of {entity}]",
    "item_failed": "task {task} failed with[ {items} items][ item {item}][ of {entity}][: {reason}]",
    "item_skipped": "task {task} skips[ {items} items][ item {item}][ of {entity}][: {reason}]",
    "child_awaited": "step {step} of task {task} awaits the child {token} of workflow {workflow}",
    "flow_failed": "task {task} fails for good: {error}",
    "paused": "paused",
    "resumed": "resumed",
    "completed": "completed",
    "failed": "failed: {reason}",
    "cancelled": "cancelled[: {reason}]",
}
"""The sentence of each kind. `{field}` is a field of the entry's data: a text as it is, anything else as
compact JSON. A part in brackets is there only when its fields are there and are not null; of several the first one is."""

_PART: Final = re.compile(r"\[(?P<maybe>[^\]]*)\]|\{(?P<field>\w+)\}")

UNPRINTABLE: Final = (
    r"\u0001-\u001f\u007f-\u00a0\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2\u1680\u180e"
    r"\u2000-\u200f\u2028-\u202f\u205f-\u2064\u2066-\u206f\u3000\ue000-\uf8ff\ufeff\ufff9-\ufffb"
    r"\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001"
    r"\U000e0020-\U000e007f\U000f0000-\U0010ffff"
)
"""The inside of a character class, for Python and for Postgres: controls, formats, spaces other than the
common one, and what has a meaning only in private. Spelled out, because each Python knows another Unicode:
two of them would say the same entry differently, and SQL could say it like neither. A null and half a
surrogate pair are unprintable, too, and can be in no database."""

_UNPRINTABLE: Final = re.compile(rf"[\x00\ud800-\udfff{UNPRINTABLE}]")


def entry_sentence(kind: str, data: Mapping[str, Any]) -> str:
    """One line that says what the entry records.

    A kind that is not known (a newer control plane wrote it) is said as the kind and its data.
    Control characters are written as escapes, so that no entry breaks a line or colours a terminal.
    """
    template = SENTENCES.get(kind)
    if template is None:
        return printable(f"{kind} {_said(dict(data))}")

    def part(match: re.Match[str]) -> str:
        maybe = match["maybe"]
        if maybe is None:
            return _said(data.get(match["field"]))
        for each in maybe.split("|"):
            fields = _PART.findall(each)
            if all(data.get(field) is not None for _, field in fields):
                return _PART.sub(part, each)
        return ""

    return printable(_PART.sub(part, template))


def printable(text: str) -> str:
    """The text with every character that a terminal would act on written as an escape."""
    if text.isprintable():
        return text
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def _said(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode("utf-8")


def token_sentence(token: str, state: str, visit: int, status: str) -> str:
    """A token's line for people: `ORDER-1: draft (visit 2), active`, the visit only from 2 on."""
    visited = f" (visit {visit})" if visit > 1 else ""
    return printable(f"{token}: {state}{visited}, {status}")


def step_sentence(kind: str, name: str, status: str, message: str | None) -> str:
    """A step's line for people: `response label: open (with the printer)`."""
    said = f" ({message})" if message else ""
    return printable(f"{kind} {name}: {status}{said}")
