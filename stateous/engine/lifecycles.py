"""The life cycles of tokens, tasks, timers, steps and items, as tables of allowed moves.

The SQL checks and the docs are tested against these tables.
"""

from __future__ import annotations

from collections.abc import Mapping

Moves = Mapping[str, frozenset[str]]

TOKEN: Moves = {
    "active": frozenset({"paused", "completed", "failed", "cancelled"}),
    "paused": frozenset({"active", "cancelled"}),
    "completed": frozenset(),
    "failed": frozenset(),
    "cancelled": frozenset(),
}

TASK: Moves = {
    # queued → failed: an answer came that fails the token when nobody waits for it any more.
    "queued": frozenset({"claimed", "failed", "cancelled"}),
    # claimed → queued is a retry; claimed → claimed cannot happen, a new attempt starts from queued.
    "claimed": frozenset({"queued", "waiting", "done", "failed", "cancelled"}),
    "waiting": frozenset({"queued", "done", "failed", "cancelled"}),
    # An outcome that was held in a pause and dropped at the resume gives its task back.
    "done": frozenset({"queued"}),
    "failed": frozenset(),
    "cancelled": frozenset(),
}

STEP: Moves = {
    # open → open cannot happen: a step that is awaited is awaited until it is answered, or too late.
    "open": frozenset({"done", "faulted"}),
    "done": frozenset(),
    # What faulted is begun afresh by the next attempt.
    "faulted": frozenset({"open", "done", "faulted"}),
}

TIMER: Moves = {
    "pending": frozenset({"fired", "cancelled"}),
    "fired": frozenset(),
    "cancelled": frozenset(),
}

ITEM: Moves = {
    "none": frozenset({"processing", "processed", "skipped"}),
    # processing → failed is an error, the end of the attempt that had the lock, or of the lock's time.
    "processing": frozenset({"processed", "failed", "skipped"}),
    "processed": frozenset({"superseded", "skipped", "expired"}),
    # The record that took its place is written with it.
    "superseded": frozenset({"processed"}),
    "failed": frozenset({"processing", "processed", "skipped", "expired"}),
    "skipped": frozenset({"expired"}),
    "expired": frozenset({"processing", "processed", "skipped"}),
}

DONE_ITEM = frozenset({"processed", "skipped"})
"""An item that exists: nobody works on it again."""

OPEN_TASK = frozenset({"queued", "claimed", "waiting"})
"""A task that is still to be ended; a token has at most one."""

WORKED_TASK = frozenset({"claimed", "waiting"})
"""A task that somebody works on, so that its outcome can be reported."""

LIVE_TOKEN = frozenset({"active", "paused"})
"""A token that has not ended."""


class IllegalMove(Exception):
    """A rule asked for a move that its life cycle does not have."""


def check_move(table: Moves, was: str, becomes: str) -> None:
    """Raise IllegalMove unless the table allows to go from `was` to `becomes`."""
    if becomes not in table[was]:
        msg = f"no move from {was} to {becomes}"
        raise IllegalMove(msg)
