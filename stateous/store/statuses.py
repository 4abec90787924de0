"""The statuses of a token, as listings ask for them."""

from __future__ import annotations

EVERY_STATUS = ("active", "paused", "completed", "failed", "cancelled")


def statuses_of(status: str | None) -> list[str]:
    """The statuses that a listing asks for: the one, or all of them for None."""
    return list(EVERY_STATUS) if status is None else [status]
