"""The sentences about who serves a database."""

from __future__ import annotations

from datetime import datetime

from stateous.store.values import time_value

NOT_SERVING = "another control plane took this database"
NO_ROW = "the table control_plane of this database has lost its one row: restore it from a backup"


def serving_sentence(serving: str, since: datetime | str | None) -> str:
    """Why a database that another control plane serves cannot be opened."""
    if not serving or since is None:
        return "another control plane serves this database"
    when = time_value(since).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"another control plane serves this database: {serving} since {when}"
